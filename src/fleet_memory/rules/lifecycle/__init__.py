"""The life of a lesson: stored, reinforced, faded, forgotten; with its program's notes and
state.
"""
