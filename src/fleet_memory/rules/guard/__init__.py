"""A veto on calling two lessons the same: figures, names, polarity and order that contradict each other.

A cosine puts "never force-push" beside "always force-push", above every true rewording; this reads what it cannot see.
It never says that two texts are the same. English only. How often it is right: benchmarks/quality.py.
"""

from collections.abc import Callable, Sequence
from typing import Final

from fleet_memory.rules.guard.identifiers import other_identifier, other_name
from fleet_memory.rules.guard.polarity import denied, opposite
from fleet_memory.rules.guard.quantities import other_number
from fleet_memory.rules.guard.sequence import other_order
from fleet_memory.rules.guard.steering import speaks_to_reader

SPEAKS_TO_READER: Final = "speaks to its reader"  # how such an objection starts: only people judge the pair

_DETECTORS: Final[Sequence[tuple[str, Callable[[str, str], str | None]]]] = (
    ("other number", other_number),
    ("other identifier", other_identifier),
    ("other name", other_name),
    ("opposite polarity", denied),
)


def objection(a: str, b: str) -> str | None:
    """Return why the two texts cannot be one lesson, as a phrase that names the evidence; None when nothing speaks up.

    Whether it objects does not depend on which text comes first. About 100 microseconds a pair.
    """
    if evidence := speaks_to_reader(a) or speaks_to_reader(b):
        return f"{SPEAKS_TO_READER}: {evidence}"
    for reason, detector in _DETECTORS:
        if evidence := detector(a, b):
            return f"{reason}: {evidence}"
    polarity, order = opposite(a, b), other_order(a, b)
    if polarity and order:  # "lint before the tests" and "never lint after the tests" agree
        return None
    if polarity:
        return f"opposite polarity: {polarity}"
    return f"other order: {order}" if order else None
