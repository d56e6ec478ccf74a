"""Repeats: a program's lesson and the entry that states the same are shown once."""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final

from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.lifecycle.rewriting import is_open_rewrite
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

_MAX_HASHED: Final = 8_192  # texts of entries; some 2 MB

_words = lru_cache(_MAX_HASHED)(text_hash)  # entries seldom change, and each recall compares them all


def entries_saying(lessons: Collection[Pattern], rows: Sequence[KnowledgeRow]) -> dict[str, KnowledgeRow]:
    """Return by lesson id the entry among `rows` that states it: the lesson joined it, or has equal words.

    An open rewrite has left its entry's text, so that both are shown until its author has judged them.
    """
    if not rows:
        return {}
    by_key = {row.key: row for row in rows}
    joined = {
        lesson.id: by_key[lesson.knowledge_key]
        for lesson in lessons
        if lesson.knowledge_key in by_key and not is_open_rewrite(lesson)
    }
    rest = [lesson for lesson in lessons if lesson.id not in joined]
    by_words = {_words(row.pattern): row for row in reversed(rows)} if rest else {}
    equal = {lesson.id: by_words[lesson.words] for lesson in rest if lesson.words in by_words}
    return joined | equal


def stand_ins(lessons: Sequence[Pattern], rows: Sequence[KnowledgeRow]) -> dict[int, int]:
    """Return by the place of a lesson in the pool of `lessons`, then `rows`, the place of the entry that states it."""
    entries = entries_saying(lessons, rows)
    if not entries:
        return {}
    place_of = {row.key: place for place, row in enumerate(rows, len(lessons))}
    return {place: place_of[entries[lesson.id].key] for place, lesson in enumerate(lessons) if lesson.id in entries}


def own_keys(program: Program, rows: Sequence[KnowledgeRow]) -> frozenset[str]:
    """Return the keys of the entries that state a lesson of the program, or that one of its earlier lessons is in."""
    name = same_program(program.program_id)
    contributed = {row.key for row in rows if name in map(same_program, row.contributors)}
    return frozenset(contributed | {row.key for row in entries_saying(program.patterns.values(), rows).values()})
