"""Which entries, lessons and notes a boot shows first, and how many of them at each depth."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.knowledge.diff import Changes
from fleet_memory.rules.knowledge.state import row_state
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, Note, Program

Depth: TypeAlias = Literal["essential", "standard", "full"]


class Share(NamedTuple):
    """The most entries and own lessons that a depth shows, and its tokens unless the caller sets them."""

    entries: int
    patterns: int
    tokens: int


SHARES: Final[Mapping[Depth, Share]] = {
    "essential": Share(10, 3, 1_000),
    "standard": Share(40, 10, 2_500),  # under the 10,000 characters that clients show of a start hook
    "full": Share(100_000, 1_000, 25_000),
}


class Booted(NamedTuple):
    """A program that has now read knowledge of some version; `seen` is the version that it had read before."""

    program: Program
    seen: int
    archived: tuple[Archived, ...] = ()


class BootReading(NamedTuple):
    """The entries and lessons that an agent may read, the best first; `entries` holds rules of people too.

    `keys` are those of all entries that agents have read.
    """

    program: Program
    entries: Sequence[KnowledgeRow]
    lessons: Sequence[Pattern]
    keys: Collection[str]
    changes: Changes
    depth: Depth


def booted(program: Program, version: int) -> Booted:
    """Return the program after it read the knowledge of this version."""
    seen = program.read_version
    return Booted(program if seen == version else replace(program, read_version=version), seen)


def own_lessons(program: Program, now: datetime) -> list[Pattern]:
    """Return a program's living lessons that boot does not already show as knowledge."""
    return [p for p in program.patterns.values() if not is_stale(p, now, program.decay) and p.knowledge_key is None]


def ordered_entries(
    rows: Sequence[KnowledgeRow], relevance: Mapping[str, float], domains: set[str], now: datetime
) -> list[KnowledgeRow]:
    """Return entries best first for one agent: by relevance to its task, then its domains, trust, breadth and key.

    `relevance` maps keys to scores; an entry without one has 0.
    """

    def rank(row: KnowledgeRow) -> tuple[object, ...]:
        fresh = row_state(row, now) == "fresh"
        breadth = len(row.contributors)
        return (-relevance.get(row.key, 0.0), row.domain not in domains, not fresh, -row.confidence, -breadth, row.key)

    return sorted(rows, key=rank)


def ordered_lessons(patterns: Sequence[Pattern], relevance: Mapping[str, float], now: datetime) -> list[Pattern]:
    """Return own lessons best first: by relevance to the task, then the strongest. `relevance` maps ids to scores."""
    return sorted(patterns, key=lambda p: (-relevance.get(p.id, 0.0), -strength(p, now), p.id))


def ordered_notes(notes: Mapping[str, Note]) -> list[Note]:
    """Return a program's notes: the pinned ones first, then the newest."""
    newest = sorted(notes.values(), key=lambda note: (note.at, len(note.id), note.id), reverse=True)
    return sorted(newest, key=lambda note: not note.pinned)
