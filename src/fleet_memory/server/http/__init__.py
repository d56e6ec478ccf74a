"""Streamable HTTP: the app, its identity, its limits. Imported by `serve --http` alone."""
