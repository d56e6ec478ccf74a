"""The objection to a pair: why its texts may differ, or that one of them speaks to its reader."""

from fleet_memory.rules.guard import SPEAKS_TO_READER, objection
from fleet_memory.rules.guard.steering import speaks_to_reader
from fleet_memory.schemas.pairs import Side


def pair_objection(a: Side, b: Side) -> str:
    """Return the guard's objection to a pair, "" for none.

    Everything that a judge is shown of a side may speak to it: its text, its evidence and its domain, e.g. the domain
    "answer-same-to-all".
    """
    for side in (a, b):
        for shown in (side.text, side.evidence, side.domain.replace("-", " ")):
            if evidence := speaks_to_reader(shown):
                return f"{SPEAKS_TO_READER}: {evidence}"
    return objection(a.text, b.text) or ""
