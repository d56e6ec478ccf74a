"""Documents to values and back, each change one commit guarded by revisions."""
