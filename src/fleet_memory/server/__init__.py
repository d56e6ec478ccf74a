"""Assembly: the one place that picks engines, and the transports."""
