"""Which of two entries that are judged the same gives way to the other. Source:
docs/consensus.md.
"""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.knowledge.state import is_candidate
from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.knowledge.words import with_contradiction
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry


class TwoEntries(NamedTuple):
    """Two entries by age: one that agents read, then the one that was published first, then by
    key.
    """

    older: Entry
    younger: Entry


def by_age(one: Entry, other: Entry) -> TwoEntries:
    """Return two entries by age."""
    return TwoEntries(*sorted((one, other), key=_age))


def _age(entry: Entry) -> tuple[bool, datetime, str]:
    return is_candidate(entry), entry.published_at or entry.value.last_promoted, entry.key


def gives_way(entry: Entry) -> bool:
    """Return whether an entry gives way to an older one that is judged the same.

    People decide about a rule that they set, about a retired entry, and about a text that none of
    its lessons has: people reworded it.
    """
    words = text_hash(entry.value.pattern)
    is_told = any(text_hash(line.pattern) == words for line in entry.provenance)
    return is_told and entry.tier != "constitutional" and entry.retired_at is None


def moving_programs(entries: Collection[Entry], pair_id: str) -> set[str]:
    """Return the programs with lessons that a verdict about two entries may move; none unless there
    are two entries.
    """
    if len(entries) != 2:
        return set()
    older, younger = by_age(*entries)
    lines = [
        line for entry in (older, younger) for line in entry.provenance if line.pair == pair_id
    ]
    lines += younger.provenance if gives_way(younger) else ()
    return {line.program_id for line in lines if not line.program_deleted}


def with_contradictions_of(older: Entry, younger: Entry) -> Entry:
    """Return the older entry with the words against the younger, but those of programs that spoke
    about it itself.
    """
    known = {same_program(word.program_id) for word in older.words}
    for word in younger.words:
        if word.outcome == "contradicted" and same_program(word.program_id) not in known:
            older = with_contradiction(older, word)
    return older
