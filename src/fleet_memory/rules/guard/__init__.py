"""A veto on calling two lessons the same: figures, names, polarity and order that contradict each other.

A cosine puts "never force-push" beside "always force-push", above every true rewording; this reads what it cannot see.
It never says that two texts are the same. English only. How often it is right: benchmarks/quality.py.
"""

from typing import Final

from fleet_memory.rules.guard.identifiers import other_identifier, other_name
from fleet_memory.rules.guard.polarity import opposite
from fleet_memory.rules.guard.quantities import other_number
from fleet_memory.rules.guard.sequence import other_order

SPEAKS_TO_READER: Final = "speaks to its reader"  # how an objection begins that leaves a pair to people


def objection(a: str, b: str) -> str | None:
    """Return why the two texts cannot be one lesson, as a phrase that names the evidence; None when nothing speaks up.

    Whether it objects does not depend on which text comes first. About 100 microseconds a pair.
    """
    if evidence := other_number(a, b):
        return f"other number: {evidence}"
    if evidence := other_identifier(a, b):
        return f"other identifier: {evidence}"
    if evidence := other_name(a, b):
        return f"other name: {evidence}"
    polarity, order = opposite(a, b), other_order(a, b)
    if polarity and order:  # "lint before the tests" and "never lint after the tests" agree
        return None
    if polarity:
        return f"opposite polarity: {polarity}"
    return f"other order: {order}" if order else None
