"""Streamable HTTP: the app, its identity, its limits. Only `serve --http` imports it."""
