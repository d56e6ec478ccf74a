"""A program's and a fleet's memory as numbers."""
