"""Lessons with the words of another program's lesson that was judged the same as an entry: the
verdict covers them.
"""

from dataclasses import replace
from datetime import datetime

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.proposing.pairing import side_of
from fleet_memory.jobs.proposing.reading import FleetView
from fleet_memory.repositories.proposing_memory import KnownLesson, ProposingMemory
from fleet_memory.rules.text.keys import pair_id
from fleet_memory.schemas.pairs import Pair


async def judged_words(fleet: Fleet, memory: ProposingMemory, view: FleetView) -> list[Pair]:
    """Return the pairs judged the same, about each lesson to be considered that is in no entry and
    has such words.

    Billed 1 read for each hash of words and entry.
    """
    pairs: list[Pair] = []
    for lesson, keys in await to_thread.run_sync(_judged_lessons, memory, view, fleet.now()):
        pairs += await _pairs_of(fleet, view, lesson, keys)
    return pairs


def _judged_lessons(
    memory: ProposingMemory, view: FleetView, now: datetime
) -> list[tuple[KnownLesson, list[str]]]:
    """Return the lessons to be considered that are in no entry, each with the entries of lessons of
    its words.
    """
    living = memory.living(now)
    members: dict[str, set[str]] = {}
    for lesson in living:
        if lesson.knowledge_key in view.entries:
            members.setdefault(lesson.comparable.words, set()).add(str(lesson.knowledge_key))
    return [
        (lesson, sorted(members[lesson.comparable.words]))
        for lesson in living
        if lesson.comparable.words in members
        and lesson.knowledge_key is None
        and lesson.comparable.lesson_id in view.pending.get(lesson.comparable.program_id, ())
    ]


async def _pairs_of(
    fleet: Fleet, view: FleetView, lesson: KnownLesson, keys: list[str]
) -> list[Pair]:
    words = lesson.comparable.words
    entries = [view.entries[key] for key in keys if view.entries[key].comparable.words != words]
    ids = [pair_id(words, entry.comparable.words) for entry in entries]
    known = await fleet.pairs.read(*ids) if ids else []
    return [
        replace(versioned.pair, a=side_of(lesson), b=side_of(entry))
        for versioned, entry in zip(known, entries, strict=True)
        if versioned.pair is not None and versioned.pair.state == "same"
    ][:1]
