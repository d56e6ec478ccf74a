"""Reading the movement files which the depots send at the end of the week."""
import csv
from datetime import datetime


def read(path):
    """Rows of a movement or pick-up file; `at` is `at_utc` as a datetime."""
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    for r in rows:
        r["at"] = datetime.strptime(r.pop("at_utc"), "%Y-%m-%d %H:%M")
    return rows


def dispatches(rows):
    """Only the rows that left a depot."""
    return [r for r in rows if r.get("kind") == "out"]


def by_depot(rows):
    out = {}
    for r in rows:
        out.setdefault(r["depot"], []).append(r)
    return out
