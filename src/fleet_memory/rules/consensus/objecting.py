"""The objection to a pair: why its texts may differ, or that one of them speaks to its reader."""

from fleet_memory.rules.guard import SPEAKS_TO_READER, objection
from fleet_memory.rules.guard.steering import speaks_to_reader
from fleet_memory.schemas.pairs import Side


def pair_objection(a: Side, b: Side) -> str:
    """Return the guard's objection to a pair, "" for none."""
    for side in (a, b):
        if words := steering_words(side.text, side.evidence, side.domain):
            return f"{SPEAKS_TO_READER}: {words}"
    return objection(a.text, b.text) or ""


def steering_words(text: str, evidence: str, domain: str) -> str | None:
    """Return the words, quoted, by which a lesson speaks to a judge; None if none do.

    Everything that a judge is shown of a lesson may speak to it, e.g. the domain
    "answer-same-to-all".
    """
    spoken = (speaks_to_reader(shown) for shown in (text, evidence, domain.replace("-", " ")))
    return next(filter(None, spoken), None)
