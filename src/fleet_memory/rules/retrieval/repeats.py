"""Repeats: a program's lesson and the entry that states the same are shown once."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from fleet_memory.rules.entries import same_program
from fleet_memory.rules.lifecycle.rewriting import is_open_rewrite
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

_MAX_HASHED: Final = 8_192  # texts of entries; some 2 MB

_MAX_SNAPSHOTS: Final = 2  # whose places are kept, some 300 bytes an entry

_words = lru_cache(_MAX_HASHED)(
    text_hash
)  # entries seldom change, and each recall compares them all


class _Places(NamedTuple):
    """The places of entries in a sequence: by key, and by the words of their texts, the first of
    equal ones.
    """

    by_key: Mapping[str, int]
    by_words: Mapping[str, int]


class _Readable:
    """The entries of a snapshot, equal to themselves alone: comparing texts would take as long as
    their places.
    """

    def __init__(self, rows: tuple[KnowledgeRow, ...]) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Readable) and self.rows is other.rows

    def __hash__(self) -> int:
        return id(self.rows)


def entries_saying(
    lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]
) -> dict[str, KnowledgeRow]:
    """Return by lesson id the entry among `rows` that states it: the lesson joined it, or has equal
    words.

    An open rewrite has left its entry's text, so that both are shown until its author has judged
    them. The places of the rows of a tuple are kept: it is a snapshot's, which many calls read.
    """
    return {lesson_id: rows[place] for lesson_id, place in _places_saying(lessons, rows).items()}


def stand_ins(lessons: Sequence[Pattern], rows: Sequence[KnowledgeRow]) -> dict[int, int]:
    """Return by the place of a lesson in the pool of `lessons`, then `rows`, the place of the entry
    that states it.
    """
    saying = _places_saying(lessons, rows)
    return {
        place: len(lessons) + saying[lesson.id]
        for place, lesson in enumerate(lessons)
        if lesson.id in saying
    }


def _places_saying(lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]) -> dict[str, int]:
    """Return by lesson id the place of the row that states it, of lessons that joined an entry
    first.
    """
    if not rows:
        return {}
    by_key, by_words = _kept_places(_Readable(rows)) if isinstance(rows, tuple) else _places(rows)
    joined = {
        lesson.id: by_key[lesson.knowledge_key]
        for lesson in lessons
        if lesson.knowledge_key is not None
        and lesson.knowledge_key in by_key
        and not is_open_rewrite(lesson)
    }
    equal = {
        lesson.id: by_words[lesson.words]
        for lesson in lessons
        if lesson.words in by_words and lesson.id not in joined
    }
    return joined | equal


def _places(rows: Sequence[KnowledgeRow]) -> _Places:
    by_words = {_words(rows[place].pattern): place for place in reversed(range(len(rows)))}
    return _Places({row.key: place for place, row in enumerate(rows)}, by_words)


@lru_cache(_MAX_SNAPSHOTS)
def _kept_places(readable: _Readable) -> _Places:
    return _places(readable.rows)


def own_keys(program: Program, rows: Sequence[KnowledgeRow]) -> frozenset[str]:
    """Return the keys of the entries that state a lesson of the program, or that one of its earlier
    lessons is in.
    """
    name = same_program(program.program_id)
    contributed = {row.key for row in rows if name in map(same_program, row.contributors)}
    return frozenset(
        contributed | {row.key for row in entries_saying(program.patterns.values(), rows).values()}
    )
