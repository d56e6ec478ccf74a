"""Ranking by a question, and fitting into a budget."""
