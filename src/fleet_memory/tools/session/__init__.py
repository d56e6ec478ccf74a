"""The toolset `session`: what ends a session, in one call."""
