"""A program's lessons that repeat an earlier one of its own."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from fleet_memory.rules.guard import objection
from fleet_memory.rules.text.vectors import unpacked
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.similarity import Profile

_NONE: Final = -1.0  # below every cosine


class Scale(NamedTuple):
    """How to compare: vectors of this embedder, by its profile."""

    embedder: str
    profile: Profile


class Repeat(NamedTuple):
    """A lesson and the earlier one that it repeats, by their ids."""

    id: str
    of: str


def repeats(patterns: Iterable[Pattern], scale: Scale) -> list[Repeat]:
    """Return the lessons that repeat an earlier one: in equal words, or alike to the nearest without an objection.

    Lessons of different projects are never compared. Looking at the nearest alone bounds the work of the guard.
    """
    ordered = sorted(patterns, key=lambda pattern: (pattern.stored_at, pattern.id))
    nearest = _nearest(ordered, scale)
    first: dict[tuple[str | None, str], str] = {}
    found: list[Repeat] = []
    for pattern in ordered:
        words = (pattern.project_id, pattern.words or pattern.id)
        near = nearest.get(pattern.id)
        if words in first:
            found.append(Repeat(pattern.id, first[words]))
        elif near is not None and objection(near.pattern, pattern.pattern) is None:
            found.append(Repeat(pattern.id, near.id))
        first.setdefault(words, pattern.id)
    return found


def _nearest(ordered: Sequence[Pattern], scale: Scale) -> Mapping[str, Pattern]:
    """Return, for each lesson that has one, the nearest earlier lesson of its project that is alike."""
    comparable = [pattern for pattern in ordered if pattern.vector and pattern.embedder == scale.embedder]
    if len(comparable) < 2:
        return {}
    vectors = unpacked([pattern.vector for pattern in comparable])
    projects = np.array([pattern.project_id or "" for pattern in comparable])
    cosines = np.where(projects[:, None] == projects, vectors @ vectors.T, _NONE)
    cosines[np.triu_indices(len(comparable))] = _NONE  # only earlier ones
    best = cosines.argmax(axis=1)
    return {
        pattern.id: comparable[best[at]]
        for at, pattern in enumerate(comparable)
        if cosines[at, best[at]] >= scale.profile.alike
    }
