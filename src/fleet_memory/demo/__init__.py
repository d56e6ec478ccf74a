"""Demos: files of tool calls and the player of them, and the reader's own sentences."""
