"""Answers of the tools, by subject."""
