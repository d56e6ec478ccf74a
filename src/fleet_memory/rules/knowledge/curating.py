"""People's decisions about an entry: retire it, reinstate it, reword it, or apply the present
policy to it.
"""

from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.knowledge.entries import under_policy
from fleet_memory.rules.knowledge.votes import votes
from fleet_memory.rules.knowledge.wordings import with_bounded_vectors
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.policy import Policy


def retired_by_people(entry: Entry, now: datetime) -> Entry:
    """Return the entry out of use; the same object when it is retired already."""
    return entry if entry.retired_at is not None else replace(entry, retired_at=now)


def reinstated(entry: Entry, now: datetime) -> Entry:
    """Return a retired entry back in use, confirmed now, without any contradiction; one in use is
    the same object.
    """
    if entry.retired_at is None:
        return entry
    return replace(entry, retired_at=None, last_confirmed=now, words=_without_contradictions(entry))


def reworded(entry: Entry, text: str, vector: str = "", embedder: str = "") -> Entry:
    """Return the entry with another text; the same object when it has that text.

    It keeps its key and its contributions. Contradictions were about the text before, so they go.
    `vector` is that of the new text, "" for one to be made later. The text before stays a wording
    of its contributors, with its vector.
    """
    if text == entry.value.pattern:
        return entry
    lines = tuple(
        replace(line, vector=entry.vector, embedder=entry.embedder)
        if line.pattern == entry.value.pattern
        else line
        for line in entry.provenance
    )
    after = replace(
        entry,
        provenance=lines,
        value=replace(entry.value, pattern=text),
        words=_without_contradictions(entry),
        vector=vector,
        embedder=embedder,
    )
    return with_bounded_vectors(after)


def taken_back(entry: Entry, policy: Policy) -> Entry:
    """Return a published entry under a policy that its votes are too few for: a candidate again;
    else the same object.

    Retired entries and rules that people set stay as they are.
    """
    if entry.tier == "constitutional" or entry.published_at is None or entry.retired_at is not None:
        return entry
    after = under_policy(entry, policy)
    return after if _suffices(entry) and not _suffices(after) else entry


def _suffices(entry: Entry) -> bool:
    return votes(entry) >= entry.threshold


def _without_contradictions(entry: Entry) -> tuple[Word, ...]:
    return tuple(word for word in entry.words if word.outcome == "confirmed")
