"""Changes of a fleet as a whole: called by tools, commands and the clock."""
