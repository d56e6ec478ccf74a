"""What an agent reads at boot: which entries come first, and what fits into its budget."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.health.program import fading, shown_fading
from fleet_memory.rules.knowledge.status import status
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.schemas.answers.boot import BootAnswer, BootNote, KnowledgeChanges, ProgramAnswer
from fleet_memory.schemas.answers.health import FadingPattern
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Note, Program
from fleet_memory.schemas.value import Value
from fleet_memory.views.lessons import shown_knowledge, shown_pattern

Depth: TypeAlias = Literal["essential", "standard", "full"]


class Share(NamedTuple):
    """How much a depth shows: most entries, most own patterns, and tokens unless the caller sets them."""

    entries: int
    patterns: int
    tokens: int


SHARES: Final[dict[Depth, Share]] = {
    "essential": Share(10, 3, 1_000),
    "standard": Share(40, 10, 2_500),  # under the 10,000 characters that clients show of a start hook
    "full": Share(100_000, 1_000, 25_000),
}

# Who is served first, and what is kept for each of the room, however much the others have. They add up to 1.
_KEPT: Final = {
    "constitution": 1 / 16,
    "program": 3 / 16,
    "notes": 1 / 16,
    "fadingSoon": 1 / 16,
    "knowledge": 6 / 16,
    "patterns": 3 / 16,
    "changes": 1 / 16,
}


class Parts(NamedTuple):
    """What boot may show, the most important of each first."""

    constitution: Sequence[KnowledgeAnswer]
    knowledge: Sequence[KnowledgeAnswer]
    patterns: Sequence[PatternAnswer]
    program: ProgramAnswer
    notes: Sequence[BootNote]
    fading: Sequence[FadingPattern]
    changes: KnowledgeChanges


class Reading(NamedTuple):
    """What an agent may read, ordered for it; `entries` are rules too."""

    entries: Sequence[KnowledgeRow]
    own: Sequence[Pattern]
    changes: KnowledgeChanges
    depth: Depth


def own_lessons(program: Program, now: datetime) -> list[Pattern]:
    """Return a program's living lessons that boot does not already show as knowledge."""
    return [p for p in program.patterns.values() if not is_stale(p, now, program.decay) and p.knowledge_key is None]


def first_for(
    rows: Sequence[KnowledgeRow], relevance: Sequence[float], domains: set[str], now: datetime
) -> list[KnowledgeRow]:
    """Return entries best first for one agent: by relevance to its task, then its domains, trust, breadth and key.

    `relevance[i]` is that of row i, 0 for none.
    """

    def rank(position: int) -> tuple[object, ...]:
        row = rows[position]
        fresh = status(row.last_confirmed, row.contradicted_by, now) == "fresh"
        breadth = len(row.contributors)
        return (-relevance[position], row.domain not in domains, not fresh, -row.confidence, -breadth, row.key)

    return [rows[position] for position in sorted(range(len(rows)), key=rank)]


def first_own(patterns: Sequence[Pattern], relevance: Sequence[float], now: datetime) -> list[Pattern]:
    """Return own lessons best first: by relevance to the task, then the strongest. `relevance[i]` is that of i."""

    def rank(position: int) -> tuple[float, float, str]:
        pattern = patterns[position]
        return (-relevance[position], -strength(pattern, now), pattern.id)

    return [patterns[position] for position in sorted(range(len(patterns)), key=rank)]


def shown_notes(notes: Mapping[str, Note]) -> list[BootNote]:
    """Return a program's notes: the pinned ones first, then the newest."""
    newest = sorted(notes.values(), key=lambda note: (note.at, len(note.id), note.id), reverse=True)
    ordered = sorted(newest, key=lambda note: not note.pinned)
    return [BootNote(id=note.id, text=note.text, pinned=True if note.pinned else None) for note in ordered]


def parts_of(program: Program, reading: Reading, now: datetime) -> tuple[Parts, Mapping[str, int]]:
    """Return what a depth shows of an agent's reading, and how much there is of what it does not show all of."""
    share, full = SHARES[reading.depth], reading.depth == "full"
    rules = [row for row in reading.entries if row.tier == "constitutional"]
    learnt = [row for row in reading.entries if row.tier != "constitutional"]
    soon = [(days, pattern) for days, pattern in fading(program, now) if pattern.knowledge_key is None]
    parts = Parts(
        [shown_knowledge(row, now, contributors=full) for row in rules],
        [shown_knowledge(row, now, contributors=full) for row in learnt[: share.entries]],
        [shown_pattern(pattern, now, program) for pattern in reading.own[: share.patterns]],
        ProgramAnswer(context_summary=program.context_summary, config=program.config, baselines=program.baselines),
        shown_notes(program.notes),
        shown_fading(soon),
        reading.changes,
    )
    return parts, {"knowledge": len(learnt), "patterns": len(reading.own), "fadingSoon": len(soon)}


class _State(NamedTuple):
    """One part of a program's state: the field that it is in, and its name there."""

    field: Literal["context_summary", "config", "baselines"]
    name: str
    value: LooseValue


class _Change(NamedTuple):
    """One line of the changes: the list that it is in, and the entry's key."""

    field: Literal["retired", "updated", "added"]
    key: str


_Item: TypeAlias = Value | _State | _Change


def filled(frame: BootAnswer, parts: Parts, total: Mapping[str, int], max_tokens: int) -> BootAnswer:
    """Fill the frame until the budget ends, and say what was left out; a larger budget never shows less of anything.

    `total` counts what there is where `parts` do not hold all of it.
    """
    state, changes = _state(parts.program), _changes(parts.changes)
    items = _items(parts, state, changes)
    counts = {**{name: len(there) for name, there in items.items()}, **total}
    # Measured with every count that it may have to confess, so that confessing never breaks the budget.
    bare = replace(frame, protocol="", notes=(), fading_soon=(), omitted=counts | {"protocol": 1})
    room = max_tokens * 4 - size(bare.wire()) - size(frame.protocol)
    sections = [Section([_size(item) for item in items[name]], share) for name, share in _KEPT.items()]
    fit = dict(zip(_KEPT, shared(max(0, room), sections), strict=True))
    missing = {name: count - fit[name] for name, count in counts.items()} | {"protocol": int(room < 0)}
    return replace(
        frame,
        protocol=frame.protocol if room >= 0 else "",
        constitution=tuple(parts.constitution[: fit["constitution"]]),
        knowledge=tuple(parts.knowledge[: fit["knowledge"]]),
        program=_program(state[: fit["program"]]),
        notes=tuple(parts.notes[: fit["notes"]]) or None,
        patterns=tuple(parts.patterns[: fit["patterns"]]),
        fading_soon=tuple(parts.fading[: fit["fadingSoon"]]) or None,
        changes=_changed(changes[: fit["changes"]]),
        omitted={name: count for name, count in missing.items() if count},
    )


def _items(parts: Parts, state: Sequence[_State], changes: Sequence[_Change]) -> dict[str, Sequence[_Item]]:
    return {
        "constitution": parts.constitution,
        "program": state,
        "notes": parts.notes,
        "fadingSoon": parts.fading,
        "knowledge": parts.knowledge,
        "patterns": parts.patterns,
        "changes": changes,
    }


def _state(program: ProgramAnswer) -> list[_State]:
    """Return the parts of a program's state: the handoff before the rest, the smallest first, so that most fit."""
    rest = [_State("config", *part) for part in program.config.items()]
    rest += [_State("baselines", *part) for part in program.baselines.items()]
    handoff = [_State("context_summary", *part) for part in program.context_summary.items()]
    return [part for parts in (handoff, rest) for part in sorted(parts, key=lambda part: (_size(part), part[:2]))]


def _size(item: _Item) -> int:
    """Return the bytes that an item takes in the answer, at most: with the sign that parts it from the next."""
    if isinstance(item, _State):
        return size({item.name: item.value})
    return size(item.key if isinstance(item, _Change) else item.wire()) + 1


def _program(parts: Sequence[_State]) -> ProgramAnswer:
    """Return the program's state with these of its parts alone."""

    def members(field: Literal["context_summary", "config", "baselines"]) -> dict[str, LooseValue]:
        return {part.name: part.value for part in parts if part.field == field}

    return ProgramAnswer(
        context_summary=members("context_summary"), config=members("config"), baselines=members("baselines")
    )


def _changes(changes: KnowledgeChanges) -> list[_Change]:
    """Return the lines of the changes, what must no longer be relied on first."""
    return [
        *(_Change("retired", key) for key in changes.retired),
        *(_Change("updated", key) for key in changes.updated),
        *(_Change("added", key) for key in changes.added),
    ]


def _changed(lines: Sequence[_Change]) -> KnowledgeChanges:
    """Return the changes with these of their lines alone."""

    def keys(field: Literal["retired", "updated", "added"]) -> tuple[str, ...]:
        return tuple(line.key for line in lines if line.field == field)

    return KnowledgeChanges(added=keys("added"), updated=keys("updated"), retired=keys("retired"))
