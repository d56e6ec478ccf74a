"""The toolset `session`: leave a session."""
