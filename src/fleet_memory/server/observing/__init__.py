"""What an operator sees of a server: its log, its metrics, its traces. None of them has a text of a
call.
"""
