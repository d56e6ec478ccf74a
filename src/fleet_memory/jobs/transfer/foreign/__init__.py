"""Memories of other programs, read from their own files: a module each, and the storing of their
texts as lessons.
"""
