"""Entries of shared knowledge: made, confirmed, contradicted, aged, compared."""
