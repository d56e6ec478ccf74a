"""Words, keys and vectors of a text."""
