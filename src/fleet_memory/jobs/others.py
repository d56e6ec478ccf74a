"""The lessons of other programs: put on the shelf beside the snapshot, and read from it and from
the programs that changed since.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import NamedTuple

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.shelf import MAX_CHANGED_READ, Shelf, ShelfWrites
from fleet_memory.repositories.snapshots import READ_WITHIN_S, VersionedEntry
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.retrieval.others import (
    MAX_SHELF,
    WordsAbout,
    keys_of_others,
    lessons_of,
    strongest,
    words_about,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import OthersLesson
from fleet_memory.schemas.programs import Program


class Others(NamedTuple):
    """The lessons of a fleet that other programs may be shown, and the words about candidates by
    key. `is_behind`: more programs changed since the shelf was made than were read.
    """

    lessons: Sequence[OthersLesson] = ()
    words: Mapping[str, WordsAbout] = {}
    is_behind: bool = False


async def read_others(fleet: Fleet) -> Others:
    """Return the lessons on the shelf beside the snapshot that was read last, and those of up to 20
    programs that changed since; none under `sharing: knowledge`.

    Billed 1 read for each of these programs, and 1 for each shard of a new shelf.
    """
    if await fleet.sharing() == "knowledge":
        return Others()
    shelf = await retry_conflicts(fleet.knowledge.shelves.read, None, READ_WITHIN_S)
    changed = await fleet.knowledge.shelves.changed(fleet.now())
    remaining = [lesson for lesson in shelf.lessons if lesson.program_id not in changed]
    newest = [lesson for lessons in changed.values() for lesson in lessons]
    is_behind = len(changed) >= MAX_CHANGED_READ
    return Others([*remaining, *newest], shelf.words, is_behind)


async def still_told(fleet: Fleet, lessons: Sequence[OthersLesson]) -> set[tuple[str, str]]:
    """Return the programs and ids of those lessons that their programs have in these words and do
    not doubt. Billed 1 read for each program.
    """
    names = {lesson.program_id for lesson in lessons}
    found = await fleet.programs.read_versioned(*sorted(names))
    now = {
        (lesson.program_id, lesson.id, lesson.words)
        for versioned in found
        for lesson in lessons_of(versioned.program, fleet.now())
    }
    told = ((lesson.program_id, lesson.id, lesson.words) for lesson in lessons)
    return {each[:2] for each in told if each in now}


async def find_other(fleet: Fleet, key: str) -> tuple[str, str] | None:
    """Return the program and the pattern id of the lesson that agents name by a key, the oldest of
    equal words; None for none.

    The lesson's entry may have another key: a word about the key is about that entry. Billed as
    `read_others`, and the snapshot.
    """
    snapshot = await fleet.knowledge.snapshots.read()
    others = await read_others(fleet)
    near = [each for each in others.lessons if key.startswith(each.plain_key)]
    return next(
        (place for place, own in keys_of_others(near, snapshot).items() if own == key), None
    )


async def shelving(fleet: Fleet, behind: Sequence[VersionedEntry]) -> ShelfWrites:
    """Return the writes that bring the shelf up to date with the programs that changed since, and
    with entries that the snapshot is behind; those that remove it under `sharing: knowledge`.

    Billed the policy, 1 read and 1 for each shard; 1 for each program that changed or has a lesson
    in one of the entries, of all programs where there was no shelf.
    """
    knowledge, now = fleet.knowledge, fleet.now()
    await knowledge.snapshots.head()
    if await fleet.sharing() == "knowledge":
        return knowledge.shelves.replacing(None)
    old = await knowledge.shelves.read()
    entries = [versioned.entry for versioned in behind if versioned.entry is not None]
    read, new = set[str](), list[OthersLesson]()

    def take(programs: Sequence[Program]) -> list[OthersLesson]:
        read.update(program.program_id for program in programs)
        lessons = [*new, *(lesson for program in programs for lesson in lessons_of(program, now))]
        return lessons if len(lessons) < 2 * MAX_SHELF else strongest(lessons, now)

    async for programs in _changed(fleet, old, entries):
        new = await to_thread.run_sync(take, programs)

    def shelved() -> tuple[OthersLesson, ...]:
        stayed = [lesson for lesson in old.lessons if lesson.program_id not in read]
        return tuple(strongest([*stayed, *new], now, old.lessons))

    words = {**old.words, **{entry.key: words_about(entry) for entry in entries}}
    said = {key: about for key, about in words.items() if about is not None}
    return knowledge.shelves.replacing(Shelf(now, await to_thread.run_sync(shelved), said))


async def _changed(
    fleet: Fleet, old: Shelf, entries: Sequence[Entry]
) -> AsyncIterator[Sequence[Program]]:
    """Yield the programs whose lessons on the shelf may not be as they are."""
    programs = fleet.programs
    changed = await programs.changed_since(old.at - CLOCK_SKEW) if old.at else None
    if changed is None:
        async for block in programs.in_blocks():
            yield [versioned.program for versioned in block.programs]
        return
    keys = {entry.key for entry in entries}
    names = {line.program_id for entry in entries for line in entry.provenance} | {
        lesson.program_id
        for lesson in old.lessons
        if not keys.isdisjoint(lesson.knowledge_keys) or lesson.embedder != fleet.embedder.name
    }
    names -= {versioned.program.program_id for versioned in changed}
    yield [each.program for each in (*changed, *await programs.read_versioned(*sorted(names)))]
