"""What a purge erases, and each kind of value without it."""
