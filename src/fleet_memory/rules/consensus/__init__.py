"""Which lessons of several programs are the same."""
