"""Moving house: a fleet's memory as a file, and memory from elsewhere put into a fleet."""
