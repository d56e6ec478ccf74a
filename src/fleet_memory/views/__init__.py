"""Turns domain values into the answers of tools."""
