"""What an operator sees of a server: log and metrics, without any text of a call."""
