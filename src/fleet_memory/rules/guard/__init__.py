"""Objections to calling two lessons the same, and to texts that speak to their reader.

A cosine puts "always force-push" near "never force-push", and "use yarn" near "use pnpm", above
every true rewording. These rules find differences that it cannot see. An objection never decides:
it is shown to the judges and asks for another one. English, but for texts that steer. How often it
is right: benchmarks/quality.py.
"""

from collections.abc import Callable, Sequence
from typing import Final

from fleet_memory.rules.guard.identifiers import other_identifier, other_name
from fleet_memory.rules.guard.polarity import denied, opposite
from fleet_memory.rules.guard.quantities import other_number
from fleet_memory.rules.guard.sequence import other_order
from fleet_memory.rules.guard.slots import other_thing
from fleet_memory.rules.guard.steering import speaks_to_reader

SPEAKS_TO_READER: Final = (
    "speaks to its reader"  # how such an objection starts: only people judge the pair
)

_DETECTORS: Final[Sequence[tuple[str, Callable[[str, str], str | None]]]] = (
    ("other number", other_number),
    ("other identifier", other_identifier),
    ("other name", other_name),
    ("opposite polarity", denied),
)


def objection(a: str, b: str) -> str | None:
    """Return why the two texts may not be one lesson, as a phrase that names the evidence; None
    when nothing speaks up.

    Whether it objects does not depend on which text comes first. About 300 microseconds a pair.
    """
    if evidence := speaks_to_reader(a) or speaks_to_reader(b):
        return f"{SPEAKS_TO_READER}: {evidence}"
    for reason, detector in _DETECTORS:
        if evidence := detector(a, b):
            return f"{reason}: {evidence}"
    polarity, order = opposite(a, b), other_order(a, b)
    if polarity and order:  # "lint before the tests" and "never lint after the tests" agree
        return None
    for reason, evidence in (("opposite polarity", polarity), ("other order", order)):
        if evidence:
            return f"{reason}: {evidence}"
    return f"another thing: {things}" if (things := other_thing(a, b)) else None
