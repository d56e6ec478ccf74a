"""The lessons of a domain side by side with their vectors, and the compact form in which shards keep them."""

import json
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.waiting import first_stale
from fleet_memory.schemas.waiting import DomainState, Learnt, Ruling

Numbers: TypeAlias = NDArray[np.int8]


class Lessons(NamedTuple):
    """Lessons and their vectors: n of both, int8 rows, zeros where there is no vector."""

    learnt: Sequence[Learnt]
    numbers: Numbers


class Shard(NamedTuple):
    """Lessons as a document keeps them: a JSON list, and their vectors in one base64 text."""

    rows: str
    vectors: str


_KEPT: Final = len(Learnt._fields) - 1  # `wordings` are an entry's, and shards hold none
NO_LESSONS: Final = Lessons([], np.empty((0, 1), np.int8))


def numbers_of(vectors: Iterable[tuple[str, str]], embedder: str) -> Numbers:
    """Return (base64 vector, its embedder) pairs as n×d int8, zeros for vectors of another embedder or length."""
    rows = [
        np.frombuffer(b64decode(vector), np.int8) if vector and name == embedder else None for vector, name in vectors
    ]
    width = next((len(row) for row in rows if row is not None), 1)
    found = np.zeros((len(rows), width), np.int8)
    for at, row in enumerate(rows):
        if row is not None and len(row) == width:
            found[at] = row
    return found


def stacked(parts: Sequence[Numbers]) -> Numbers:
    """Return rows one below the other; parts without any vector (one column of zeros) take the width of the others."""
    width = max((part.shape[1] for part in parts if len(part)), default=1)
    return np.concatenate([_widened(part, width) for part in parts if len(part)] or [np.empty((0, width), np.int8)])


def merged_lessons(old: Lessons, refreshed: Collection[str], fresh: Lessons, now: datetime) -> Lessons:
    """Return a domain's lessons: the fresh, and of the old those that are not stale and of no refreshed program."""
    instant = now.timestamp()
    kept = [at for at, one in enumerate(old.learnt) if one.program_id not in refreshed and one.stale_at >= instant]
    everyone = [*(old.learnt[at] for at in kept), *fresh.learnt]
    numbers = stacked([old.numbers[np.asarray(kept, dtype=int)], fresh.numbers])
    order = sorted(range(len(everyone)), key=lambda at: everyone[at].place)
    return Lessons([everyone[at] for at in order], numbers[np.asarray(order, dtype=int)])


def settled(lessons: Lessons, marks: Mapping[tuple[str, str], str]) -> Lessons:
    """Return lessons after some, named by program id and pattern id, went into the entry of a key."""
    if not marks:
        return lessons

    learnt = [one._replace(knowledge_key=marks[one.place]) if one.place in marks else one for one in lessons.learnt]
    return Lessons(learnt, lessons.numbers)


def state(lessons: Lessons, parts: int) -> DomainState:
    """Return what the index says of a domain that is kept in `parts` shards."""
    return DomainState(
        parts=parts,
        count=len(lessons.learnt),
        waiting=sum(not one.settled for one in lessons.learnt),
        stale_from=first_stale(lessons.learnt),
    )


def encoded(lessons: Lessons, max_bytes: int) -> list[Shard]:
    """Return the shards of a domain, each of at most `max_bytes` if it holds two lessons; one even for no lesson."""
    rows = json.dumps([one[:_KEPT] for one in lessons.learnt], separators=(",", ":"), ensure_ascii=False)
    vectors = b64encode(lessons.numbers.tobytes()).decode()
    if len(rows.encode()) + len(vectors) <= max_bytes or len(lessons.learnt) < 2:
        return [Shard(rows, vectors)]
    half = len(lessons.learnt) // 2
    parts = slice(half), slice(half, None)
    return [shard for part in parts for shard in encoded(_part(lessons, part), max_bytes)]


def _part(lessons: Lessons, rows: slice) -> Lessons:
    return Lessons(lessons.learnt[rows], lessons.numbers[rows])


def decoded(shards: Iterable[Shard]) -> Lessons:
    """Return the lessons that `encoded` made these shards of."""
    learnt: list[Learnt] = []
    numbers: list[Numbers] = []
    for shard in shards:
        rows = [_row(row) for row in json.loads(shard.rows)]
        flat = np.frombuffer(b64decode(shard.vectors), np.int8)
        learnt += rows
        numbers.append(flat.reshape(len(rows), -1) if rows else NO_LESSONS.numbers)
    return Lessons(learnt, stacked(numbers))


def _row(row: list[Any]) -> Learnt:  # Any: what json.loads returns; `encoded` wrote it
    one = Learnt(*row)
    return (
        one._replace(verdicts={other: Ruling(*said) for other, said in one.verdicts.items()}) if one.verdicts else one
    )


def _widened(part: Numbers, width: int) -> Numbers:
    return part if part.shape[1] == width else np.zeros((len(part), width), np.int8)
