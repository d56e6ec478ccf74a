"""The answer of a boot: its sections, filled as far as the budget goes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.health import fading
from fleet_memory.rules.retrieval.boot import SHARES, BootReading, is_of_project, ordered_notes
from fleet_memory.rules.retrieval.budget import Section, shared, size
from fleet_memory.schemas.answers.boot import (
    BootAnswer,
    BootNote,
    FadingPattern,
    KnowledgeChanges,
    ProgramAnswer,
)
from fleet_memory.schemas.answers.knowledge import KnowledgeAnswer
from fleet_memory.schemas.answers.memory import PatternAnswer
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.policy import DEFAULT_THRESHOLD
from fleet_memory.views.boot_sections import SECTIONS
from fleet_memory.views.knowledge import knowledge_answer
from fleet_memory.views.lessons import pattern_answer
from fleet_memory.views.protocol import protocol_of


def boot_answer(
    frame: BootAnswer, reading: BootReading, max_tokens: int, now: datetime
) -> BootAnswer:
    """Return the boot of an agent: `frame`, the answer without its sections, filled until the
    budget ends.
    """
    share, program = SHARES[reading.depth], reading.program
    evidence: dict[str, str] = {}
    for (
        lesson_id,
        row,
    ) in reading.entry_of.items():  # of several lessons in an entry the first that has some
        evidence[row.key] = evidence.get(row.key) or program.patterns[lesson_id].evidence

    def entry_answers(rows: Iterable[KnowledgeRow]) -> tuple[KnowledgeAnswer, ...]:
        answers = (_entry_answer(row, reading, now) for row in rows)
        return tuple(
            replace(answer, evidence=evidence.get(answer.key) or None) for answer in answers
        )

    rules = [row for row in reading.entries if row.tier == "constitutional"]
    learnt = [row for row in reading.entries if row.tier != "constitutional"]
    soon = [
        (days, pattern)
        for days, pattern in fading(program, now)
        if pattern.id not in reading.entry_of and is_of_project(pattern, reading.project_id)
    ]
    added, updated, retired = (tuple(row.key for row in rows) for rows in reading.changes)
    fresh = frame.freshness
    everything = replace(
        frame,
        freshness=fresh if fresh.pending else replace(fresh, consolidated_at=None),
        constitution=entry_answers(rules),
        knowledge=entry_answers(learnt[: share.entries]),
        domains=tuple(reading.domains[: share.domains]),
        program=ProgramAnswer(
            context_summary=program.context_summary,
            config=program.config,
            baselines=program.baselines,
        ),
        notes=tuple(
            BootNote(id=note.id, text=note.text, pinned=note.pinned or None)
            for note in ordered_notes(program.notes)
        ),
        patterns=tuple(
            _lesson_answer(lesson, reading, now) for lesson in reading.lessons[: share.patterns]
        ),
        fading_soon=FadingPattern.first(soon),
        changes=KnowledgeChanges(added=added, updated=updated, retired=retired),
    )
    total = {"knowledge": len(learnt), "patterns": len(reading.lessons), "fadingSoon": len(soon)}
    return fitted(everything, total, max_tokens)


def fitted(everything: BootAnswer, total: Mapping[str, int], max_tokens: int) -> BootAnswer:
    """Return as much of an answer as its budget allows, and in `omitted` how much that leaves out.

    A larger budget never shows less of anything, for the same pairs to judge. `total` counts
    sections that are incomplete even in `everything`.
    """
    sizes = {section.name: section.sizes(everything) for section in SECTIONS}
    counts = {**{name: len(items) for name, items in sizes.items()}, **total}
    # Measured with every count that it may have to confess, so that confessing never breaks the
    # budget.
    longest = protocol_of(replace(everything, omitted=counts))
    bare = replace(_first(everything, dict.fromkeys(sizes, 0)), omitted=counts | {"protocol": 1})
    room = max_tokens * 4 - size(bare.wire()) - size(longest)
    parts = [Section(sizes[section.name], section.share) for section in SECTIONS]
    fit = dict(zip(sizes, shared(max(0, room), parts), strict=True))
    missing = {name: count - fit[name] for name, count in counts.items()} | {
        "protocol": int(room < 0)
    }
    shown = replace(
        _first(everything, fit), omitted={name: count for name, count in missing.items() if count}
    )
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
            added=changes.added or None,
            updated=changes.updated or None,
            retired=changes.retired or None,
        ),
    )


def _entry_answer(row: KnowledgeRow, reading: BootReading, now: datetime) -> KnowledgeAnswer:
    """Return an entry as a boot shows it: below full depth its text, its key, a doubt if there is
    one, and its breadth.

    The number of its contributors is absent when it is no more than publishes by default.
    """
    full = reading.depth == "full"
    answer = knowledge_answer(row, now, contributors=full, own=row.key in reading.own_keys)
    if full:
        return answer
    breadth = answer.contributor_count if len(row.contributors) > DEFAULT_THRESHOLD else None
    return replace(
        answer, confidence=None, contributor_count=breadth, evidence_count=None, last_confirmed=None
    )


def _lesson_answer(lesson: Pattern, reading: BootReading, now: datetime) -> PatternAnswer:
    """Return an own lesson as a boot shows it: below full depth without the figures that the clock
    moves.
    """
    answer = pattern_answer(lesson, now, reading.program, reading.keys)
    return (
        answer
        if reading.depth == "full"
        else replace(answer, strength=None, age_days=None, reinforcements=None)
    )
