"""What surrounds a lesson's text: its domain and what its author saw. A question meets both in one vector."""

from typing import Final, NamedTuple

from fleet_memory.rules.text.vectors import Vectors, packed

CONTEXT_SHARE: Final = 0.4  # of the context in the vector; Source: docs/decisions/evidence-in-vectors.md
MAX_CONTEXT_EVIDENCE_CHARS: Final = 80  # of the evidence: more finds no more and costs its time. Source: the same


class LessonVectors(NamedTuple):
    """A lesson's packed vectors: that of its text, which lessons are compared by, and the one that questions meet.

    `search_vector` is "" for a lesson without evidence, which is found by its text.
    """

    vector: str = ""
    search_vector: str = ""


def context_text(domain: str, evidence: str) -> str:
    """Return the text of a lesson's context; "" without evidence.

    E.g. `context_text("deploy", "Two runs wrote one file") == "deploy: Two runs wrote one file"`.
    """
    seen = evidence[:MAX_CONTEXT_EVIDENCE_CHARS].strip()
    return f"{domain}: {seen}" if seen else ""


def search_vector(text: Vectors, context: Vectors) -> str:
    """Return the packed mix of the vectors of a lesson's text and context, each of length 1."""
    return packed((1 - CONTEXT_SHARE) * text + CONTEXT_SHARE * context)
