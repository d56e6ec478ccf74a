"""The toolset `core`: store, recall, reinforce, judge, boot."""
