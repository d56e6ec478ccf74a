"""Puts the server into other programs' configuration, and takes it out again, for `fleet-memory
install`.
"""
