"""A program's lessons that repeat an earlier one of its own."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from fleet_memory.rules.guard import objection
from fleet_memory.rules.lifecycle.decay import stale_after
from fleet_memory.rules.text.vectors import int8_matrix, unit_rows
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.similarity import Profile


class Scale(NamedTuple):
    """How to compare: vectors of this embedder, by its profile."""

    embedder: str
    profile: Profile


class Repeat(NamedTuple):
    """A lesson and the earlier one that it repeats, by their ids."""

    id: str
    of: str


class RepeatSpan(NamedTuple):
    """A time in which a lesson repeats an earlier one: after `begin` until `end`, in seconds since
    1970.
    """

    begin: float
    end: float


def repeats(patterns: Iterable[Pattern], scale: Scale) -> list[Repeat]:
    """Return the lessons that repeat an earlier one: in equal words, or alike to the nearest
    without an objection.

    Lessons of different projects are never compared. Looking at the nearest alone bounds the work
    of the guard.
    """
    ordered = _by_age(patterns)
    alike = _alike(ordered, scale)
    first: dict[tuple[str | None, str], str] = {}
    repeats: list[Repeat] = []
    for pattern in ordered:
        words = _words(pattern)
        near = next(iter(alike.get(pattern.id, ())), None)
        if words in first:
            repeats.append(Repeat(pattern.id, first[words]))
        elif near is not None and objection(near.pattern, pattern.pattern) is None:
            repeats.append(Repeat(pattern.id, near.id))
        first.setdefault(words, pattern.id)
    return repeats


def repeat_spans(program: Program, scale: Scale) -> list[RepeatSpan]:
    """Return when lessons of a program repeat others: at each time `repeats` of those that are not
    stale then.

    The spans of one lesson do not overlap. A lesson turns stale, and a further one is the nearest
    from then on.
    """
    ordered = _by_age(program.active.values())
    alike = _alike(ordered, scale)
    stale = {pattern.id: stale_after(pattern, program.decay) for pattern in ordered}
    last: dict[tuple[str | None, str], float] = {}
    spans: list[RepeatSpan] = []
    for pattern in ordered:
        words, end = _words(pattern), stale[pattern.id]
        begin = last.get(words, -inf)
        if begin > -inf:
            spans.append(RepeatSpan(-inf, min(begin, end)))
        for near in alike.get(pattern.id, ()):
            if begin < min(stale[near.id], end):
                if objection(near.pattern, pattern.pattern) is None:
                    spans.append(RepeatSpan(begin, min(stale[near.id], end)))
                begin = stale[near.id]
        last[words] = max(last.get(words, -inf), end)
    return spans


def _by_age(patterns: Iterable[Pattern]) -> list[Pattern]:
    return sorted(patterns, key=lambda pattern: (pattern.stored_s, pattern.id))


def _words(pattern: Pattern) -> tuple[str | None, str]:
    return pattern.project_id, pattern.words or pattern.id


def _alike(ordered: Sequence[Pattern], scale: Scale) -> Mapping[str, Sequence[Pattern]]:
    """Return, for each lesson that has one, the earlier lessons of its project that are alike, the
    nearest first.
    """
    embedded = [
        pattern
        for pattern in ordered
        if pattern.vector_bytes and pattern.embedder == scale.embedder
    ]
    # An endpoint may change its model behind one name: those of the newest lesson count.
    comparable = [
        pattern
        for pattern in embedded
        if len(pattern.vector_bytes) == len(embedded[-1].vector_bytes)
    ]
    if len(comparable) < 2:
        return {}
    vectors = unit_rows(int8_matrix([pattern.vector_bytes for pattern in comparable]))
    cosines = np.tril(vectors @ vectors.T, -1)  # with earlier ones
    near: dict[str, list[tuple[float, int]]] = {}
    for at, earlier in np.argwhere(cosines >= scale.profile.alike).tolist():
        if comparable[earlier].project_id == comparable[at].project_id:
            near.setdefault(comparable[at].id, []).append((-cosines[at, earlier], earlier))
    return {
        id_: [comparable[earlier] for _, earlier in sorted(ranked)] for id_, ranked in near.items()
    }
