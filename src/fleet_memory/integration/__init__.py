"""Puts the server into other programs' configuration, and takes it out again: what `fleet-memory install` does."""
