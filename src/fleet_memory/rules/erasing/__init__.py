"""The targets of a purge, and each kind of value without them."""
