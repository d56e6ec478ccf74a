"""What people decide about an entry: retire it, reinstate it, reword it, or hold it to the present policy."""

from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.knowledge.votes import votes
from fleet_memory.schemas.knowledge import Entry, Word
from fleet_memory.schemas.policy import Policy


def retired_by_people(entry: Entry, now: datetime) -> Entry:
    """Return the entry out of use; the same object when it is retired already."""
    return entry if entry.retired_at is not None else replace(entry, retired_at=now)


def reinstated(entry: Entry, now: datetime) -> Entry:
    """Return a retired entry back in use, confirmed now, without any contradiction; one in use is the same object."""
    if entry.retired_at is None:
        return entry
    return replace(entry, retired_at=None, last_confirmed=now, words=_without_contradictions(entry))


def reworded(entry: Entry, text: str, vector: str = "", embedder: str = "") -> Entry:
    """Return the entry with another text; the same object when it has that text.

    It keeps its key and its contributions. Contradictions were about the text before, so they go. `vector` is that of
    the new text, "" for one to be made later.
    """
    if text == entry.value.pattern:
        return entry
    return replace(
        entry,
        value=replace(entry.value, pattern=text),
        words=_without_contradictions(entry),
        vector=vector,
        embedder=embedder,
    )


def under_policy(entry: Entry, policy: Policy) -> Entry:
    """Return a published entry with the thresholds of a policy that decides otherwise about it; else the same object.

    It is a candidate from then on if its votes are too few for the policy. One that is a candidate again, and has
    enough, returns. Retired entries and rules that people set stay as they are.
    """
    if entry.tier == "constitutional" or entry.published_at is None or entry.retired_at is not None:
        return entry
    after = replace(entry, threshold=policy.threshold, origins=policy.origins)
    return after if _suffices(after) != _suffices(entry) else entry


def _suffices(entry: Entry) -> bool:
    return votes(entry) >= entry.threshold


def _without_contradictions(entry: Entry) -> tuple[Word, ...]:
    return tuple(word for word in entry.words if word.outcome == "confirmed")
