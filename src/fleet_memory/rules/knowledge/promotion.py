"""From lessons to knowledge: who counts as independent, and what an entry says."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryValue
from fleet_memory.schemas.patterns import Pattern

MAX_PROVENANCE: Final = 50  # contributions kept with their texts; every contributor's id is kept


class Waiting(NamedTuple):
    """An unpromoted lesson and the program that learnt it."""

    program_id: str
    pattern: Pattern


def independent_origins(lessons: Iterable[tuple[str, str | None]]) -> int:
    """Count independent origins of (program id, session id) pairs.

    A program is one origin; programs that share a session are one, and so on through chains of sessions.
    """
    origins: list[set[str]] = []
    for program_id, session_id in lessons:
        names = {f"program {program_id}"} | ({f"session {session_id}"} if session_id else set())
        touched = [origin for origin in origins if origin & names]
        origins = [origin for origin in origins if not origin & names]
        origins.append(names.union(*touched))
    return len(origins)


def is_echo(pattern: Pattern, since: int) -> bool:
    """Whether the lesson was first stored after its program had booted with an entry of version `since`."""
    return 0 < since <= pattern.knowledge_seen


def is_independent(entry: Entry, lesson: Waiting) -> bool:
    """Whether a lesson is one more vote for an entry: from an origin that has none yet, and no echo.

    Rules set by people (tier `constitutional`) need no votes.
    """
    if lesson.program_id in entry.value.contributors or is_echo(lesson.pattern, entry.since):
        return False
    if entry.tier == "constitutional":
        return False
    before = [(line.program_id, line.session_id) for line in entry.provenance]
    return independent_origins([*before, (lesson.program_id, lesson.pattern.session_id)]) > independent_origins(before)


def entry_of(lessons: Sequence[Waiting], text: int, similarities: Sequence[float], *, now: datetime) -> Entry:
    """Return the entry that a group of lessons becomes; `lessons[text]` gives the words and the domain.

    `similarities[i]` is the cosine of lesson i to those words.
    """
    chosen = lessons[text].pattern
    ordered = sorted(zip(lessons, similarities, strict=True), key=lambda pair: pair[0].program_id)
    contributions = tuple(contribution(lesson, similarity) for lesson, similarity in ordered)
    return Entry(
        key=knowledge_key(chosen.domain, chosen.pattern),
        value=EntryValue(
            pattern=chosen.pattern,
            domain=chosen.domain,
            confidence=_median(lesson.pattern.confidence for lesson in lessons),
            contributors=tuple(sorted({lesson.program_id for lesson in lessons})),
            evidence_count=len(lessons),
            first_discovered=min(lesson.pattern.discovered_at for lesson in lessons),
            last_promoted=now,
        ),
        description=_description(len(lessons)),
        provenance=contributions[:MAX_PROVENANCE],
        last_confirmed=max(lesson.pattern.last_reinforced for lesson in lessons),
        vector=chosen.vector,
        embedder=chosen.embedder,
    )


def attached(entry: Entry, lesson: Waiting, similarity: float, *, now: datetime) -> Entry:
    """Return the entry with one more independent contributor; a program that already is one only confirms."""
    confirmed = max(entry.last_confirmed, lesson.pattern.last_reinforced)
    if lesson.program_id in entry.value.contributors:
        return replace(entry, last_confirmed=confirmed, version=entry.version + 1, unpublished=True)
    provenance = (*entry.provenance, contribution(lesson, similarity))
    return replace(
        entry,
        value=replace(
            entry.value,
            confidence=_median(line.confidence for line in provenance),
            contributors=tuple(sorted({*entry.value.contributors, lesson.program_id})),
            evidence_count=entry.value.evidence_count + 1,
            first_discovered=min(entry.value.first_discovered, lesson.pattern.discovered_at),
            last_promoted=now,
        ),
        description=_description(entry.value.evidence_count + 1),
        provenance=provenance[:MAX_PROVENANCE],
        last_confirmed=confirmed,
        version=entry.version + 1,
        unpublished=True,
    )


def returned(retired: Entry, fresh: Entry) -> Entry:
    """Return a retired entry that new independent evidence brings back, with the new contributions before the old."""
    return replace(
        fresh,
        key=retired.key,
        description=_description(retired.value.evidence_count + fresh.value.evidence_count),
        version=retired.version + 1,
        since=retired.since,
        value=replace(
            fresh.value,
            contributors=tuple(sorted({*retired.value.contributors, *fresh.value.contributors})),
            evidence_count=retired.value.evidence_count + fresh.value.evidence_count,
            first_discovered=min(retired.value.first_discovered, fresh.value.first_discovered),
        ),
        provenance=(*fresh.provenance, *retired.provenance)[:MAX_PROVENANCE],
    )


def contribution(lesson: Waiting, similarity: float) -> Contribution:
    """Return what an entry keeps of a lesson."""
    pattern = lesson.pattern
    return Contribution(
        program_id=lesson.program_id,
        pattern_id=pattern.id,
        pattern=pattern.pattern,
        confidence=pattern.confidence,
        evidence=pattern.evidence,
        discovered_at=pattern.discovered_at,
        session_id=pattern.session_id,
        similarity=round(min(1.0, similarity), 3),
    )


def _median(confidences: Iterable[float]) -> float:
    return round(median(confidences), 4)


def _description(count: int) -> str:
    return f"Auto-promoted from {count} independent agent discoveries"
