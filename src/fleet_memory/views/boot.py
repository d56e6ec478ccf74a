"""The answer of a boot: its sections, filled as far as the budget goes."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, Literal, NamedTuple

from fleet_memory.rules.health.program import fading
from fleet_memory.rules.retrieval.boot import SHARES, BootReading, Depth, is_of_project, ordered_notes
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.answers.boot import BootAnswer, BootFreshness, BootNote, KnowledgeChanges, ProgramAnswer
from fleet_memory.schemas.answers.health import FadingPattern
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.fields import LooseValue
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.value import Value
from fleet_memory.views.health import fading_answer
from fleet_memory.views.knowledge import knowledge_answer
from fleet_memory.views.lessons import pattern_answer
from fleet_memory.views.protocol import DOUBTS, protocol_of


def boot_answer(frame: BootAnswer, reading: BootReading, max_tokens: int, now: datetime) -> BootAnswer:
    """Return the boot of an agent: `frame`, the answer without its sections, filled until the budget ends."""
    share, program = SHARES[reading.depth], reading.program
    own_keys = {pattern.knowledge_key for pattern in program.patterns.values()}

    def entry_answers(rows: Iterable[KnowledgeRow]) -> tuple[KnowledgeAnswer, ...]:
        return tuple(_entry_answer(row, now, reading.depth, own=row.key in own_keys) for row in rows)

    rules = [row for row in reading.entries if row.tier == "constitutional"]
    learnt = [row for row in reading.entries if row.tier != "constitutional"]
    soon = [(days, pattern) for days, pattern in fading(program, now) if pattern.knowledge_key not in reading.readable]
    here = [(days, pattern) for days, pattern in soon if is_of_project(pattern, reading.project_id)]
    added, updated, retired = (tuple(row.key for row in rows) for rows in reading.changes)
    everything = replace(
        frame,
        constitution=entry_answers(rules),
        knowledge=entry_answers(learnt[: share.entries]),
        domains=tuple(reading.domains[: share.domains]),
        program=ProgramAnswer(
            context_summary=program.context_summary, config=program.config, baselines=program.baselines
        ),
        notes=tuple(
            BootNote(id=note.id, text=note.text, pinned=note.pinned or None) for note in ordered_notes(program.notes)
        ),
        patterns=tuple(_lesson_answer(lesson, reading, now) for lesson in reading.lessons[: share.patterns]),
        fading_soon=fading_answer(here),
        changes=KnowledgeChanges(added=added, updated=updated, retired=retired),
    )
    total = {
        "knowledge": len(learnt),
        "patterns": len(reading.lessons) + reading.elsewhere,
        "fadingSoon": len(soon),
    }
    return fitted(everything, total, max_tokens)


def boot_freshness(fresh: Freshness) -> BootFreshness:
    """Return a freshness without what its grade implies."""
    behind = fresh.grade != "up_to_date"
    return BootFreshness(
        grade=fresh.grade,
        is_stale=fresh.is_stale or None,
        pending=fresh.pending or None,
        to_judge=fresh.to_judge or None,
        consolidated_at=fresh.consolidated_at if behind else None,
        reason=fresh.reason if behind else None,
    )


class BootSection(NamedTuple):
    """A part of a boot that is shown as far as the budget goes.

    `name` is the wire's. `share` of the room is kept for it, however much the others have. `sizes` gives the bytes of
    each of its items, the most important first; `first` the answer with so many of them. `title` and `lines` are those
    of a boot as text.
    """

    name: str
    share: float
    sizes: Callable[[BootAnswer], Sequence[int]]
    first: Callable[[BootAnswer, int], BootAnswer]
    title: str
    lines: Callable[[BootAnswer], Iterable[str]]


def fitted(everything: BootAnswer, total: Mapping[str, int], max_tokens: int) -> BootAnswer:
    """Return as much of an answer as its budget allows, and in `omitted` how much that leaves out.

    A larger budget never shows less of anything. `total` counts a section of which even `everything` has not all.
    """
    sizes = {section.name: section.sizes(everything) for section in SECTIONS}
    counts = {**{name: len(items) for name, items in sizes.items()}, **total}
    # Measured with every count that it may have to confess, so that confessing never breaks the budget.
    longest = protocol_of(replace(everything, omitted=counts))
    bare = replace(_first(everything, dict.fromkeys(sizes, 0)), omitted=counts | {"protocol": 1})
    room = max_tokens * 4 - size(bare.wire()) - size(longest)
    parts = [Section(sizes[section.name], section.share) for section in SECTIONS]
    fit = dict(zip(sizes, shared(max(0, room), parts), strict=True))
    missing = {name: count - fit[name] for name, count in counts.items()} | {"protocol": int(room < 0)}
    shown = replace(_first(everything, fit), omitted={name: count for name, count in missing.items() if count})
    return _without_empty(replace(shown, protocol="" if room < 0 else protocol_of(shown)))


def _first(everything: BootAnswer, counts: Mapping[str, int]) -> BootAnswer:
    """Return a boot with so many items of each section."""
    boot = everything
    for section in SECTIONS:
        boot = section.first(boot, counts[section.name])
    return boot


def _without_empty(boot: BootAnswer) -> BootAnswer:
    """Return a boot without the empty ones of its parts that need not be there."""
    program, changes = boot.program, boot.changes
    return replace(
        boot,
        program=ProgramAnswer(
            context_summary=program.context_summary or None,
            config=program.config or None,
            baselines=program.baselines or None,
        ),
        notes=boot.notes or None,
        fading_soon=boot.fading_soon or None,
        changes=KnowledgeChanges(
            added=changes.added or None, updated=changes.updated or None, retired=changes.retired or None
        ),
    )


def _sizes(items: Iterable[Value]) -> list[int]:
    """Return the bytes that each item takes in the answer, at most: with the sign that parts it from the next."""
    return [size(item.wire()) + 1 for item in items]


def _entry_answer(row: KnowledgeRow, now: datetime, depth: Depth, *, own: bool) -> KnowledgeAnswer:
    """Return an entry as a boot shows it: below full depth its text, its key, and a doubt if there is one."""
    if depth == "full":
        return knowledge_answer(row, now, contributors=True, own=own)
    lean = knowledge_answer(row, now, own=own)
    return replace(lean, confidence=None, contributor_count=None, evidence_count=None, last_confirmed=None)


def _lesson_answer(lesson: Pattern, reading: BootReading, now: datetime) -> PatternAnswer:
    """Return an own lesson as a boot shows it: below full depth without the figures that the clock moves."""
    answer = pattern_answer(lesson, now, reading.program, reading.keys)
    return answer if reading.depth == "full" else replace(answer, strength=None, age_days=None, reinforcements=None)


def _entry_lines(rows: Iterable[KnowledgeAnswer]) -> Iterable[str]:
    for row in rows:
        learnt = f"{counted(row.contributor_count, 'agent')}, {row.confidence:.2f}; " if row.contributor_count else ""
        doubt = f"{DOUBTS[row.status]}; " if row.status else ""
        yield f"{row.pattern} ({doubt}{learnt}{row.key})"


def _fading_lines(patterns: Iterable[FadingPattern]) -> Iterable[str]:
    for pattern in patterns:
        yield f"{pattern.pattern} ({counted(int(pattern.stale_in_days), 'day')} left; {pattern.id})"


class _State(NamedTuple):
    """One part of a program's state: the field that it is in, and its name there."""

    field: Literal["context_summary", "config", "baselines"]
    name: str
    value: LooseValue

    @property
    def size(self) -> int:
        """The bytes that it takes in the answer."""
        return size({self.name: self.value})


def _state(program: ProgramAnswer) -> list[_State]:
    """Return the parts of a program's state: the handoff before the rest, the smallest first, so that most fit."""
    rest = [_State("config", *part) for part in (program.config or {}).items()]
    rest += [_State("baselines", *part) for part in (program.baselines or {}).items()]
    handoff = [_State("context_summary", *part) for part in (program.context_summary or {}).items()]
    return [part for parts in (handoff, rest) for part in sorted(parts, key=lambda part: (part.size, part[:2]))]


def _first_state(program: ProgramAnswer, count: int) -> ProgramAnswer:
    """Return a program's state with the first parts alone."""
    parts = _state(program)[:count]

    def members(field: Literal["context_summary", "config", "baselines"]) -> dict[str, LooseValue]:
        return {part.name: part.value for part in parts if part.field == field}

    return ProgramAnswer(
        context_summary=members("context_summary"), config=members("config"), baselines=members("baselines")
    )


def _state_lines(program: ProgramAnswer) -> Iterable[str]:
    for name, value in program.wire().items():
        yield f"{name}: {json.dumps(value, ensure_ascii=False, separators=(',', ':'))}"


def _first_changes(changes: KnowledgeChanges, count: int) -> KnowledgeChanges:
    """Return the first changes alone: retired entries before new ones."""
    retired, updated, added = (changes.retired or (), changes.updated or (), changes.added or ())
    after_retired = max(0, count - len(retired))
    return KnowledgeChanges(
        retired=retired[:count],
        updated=updated[:after_retired],
        added=added[: max(0, after_retired - len(updated))],
    )


def _change_sizes(changes: KnowledgeChanges) -> list[int]:
    keys = (*(changes.retired or ()), *(changes.updated or ()), *(changes.added or ()))
    return [size(key) + 1 for key in keys]


def _change_lines(changes: KnowledgeChanges) -> Iterable[str]:
    every = {"added": changes.added, "updated": changes.updated, "retired": changes.retired}
    return (f"{name}: {', '.join(keys)}" for name, keys in every.items() if keys)


# Who is served first comes first. The shares add up to 1.
SECTIONS: Final = (
    BootSection(
        "constitution",
        1 / 16,
        sizes=lambda boot: _sizes(boot.constitution),
        first=lambda boot, count: replace(boot, constitution=boot.constitution[:count]),
        title="Rules of the house",
        lines=lambda boot: _entry_lines(boot.constitution),
    ),
    BootSection(
        "program",
        3 / 16,
        sizes=lambda boot: [part.size for part in _state(boot.program)],
        first=lambda boot, count: replace(boot, program=_first_state(boot.program, count)),
        title="Where you stopped",
        lines=lambda boot: _state_lines(boot.program),
    ),
    BootSection(
        "notes",
        1 / 16,
        sizes=lambda boot: _sizes(boot.notes or ()),
        first=lambda boot, count: replace(boot, notes=(boot.notes or ())[:count]),
        title="Your notes",
        lines=lambda boot: (note.text for note in boot.notes or ()),
    ),
    BootSection(
        "fadingSoon",
        1 / 16,
        sizes=lambda boot: _sizes(boot.fading_soon or ()),
        first=lambda boot, count: replace(boot, fading_soon=(boot.fading_soon or ())[:count]),
        title="Fading: reinforce what still holds",
        lines=lambda boot: _fading_lines(boot.fading_soon or ()),
    ),
    BootSection(
        "knowledge",
        6 / 16,
        sizes=lambda boot: _sizes(boot.knowledge),
        first=lambda boot, count: replace(boot, knowledge=boot.knowledge[:count]),
        title="What the fleet knows",
        lines=lambda boot: _entry_lines(boot.knowledge),
    ),
    BootSection(
        "domains",
        1 / 32,
        sizes=lambda boot: [size(name) + 1 for name in boot.domains],
        first=lambda boot, count: replace(boot, domains=boot.domains[:count]),
        title="Domains of the fleet: use these names",
        lines=lambda boot: [", ".join(boot.domains)] if boot.domains else [],
    ),
    BootSection(
        "patterns",
        3 / 16,
        sizes=lambda boot: _sizes(boot.patterns),
        first=lambda boot, count: replace(boot, patterns=boot.patterns[:count]),
        title="Your own lessons",
        lines=lambda boot: (f"{p.pattern} ({p.domain}; {p.id})" for p in boot.patterns),
    ),
    BootSection(
        "changes",
        1 / 32,
        sizes=lambda boot: _change_sizes(boot.changes),
        first=lambda boot, count: replace(boot, changes=_first_changes(boot.changes, count)),
        title="News since your last session",
        lines=lambda boot: _change_lines(boot.changes),
    ),
)
