"""The lessons of other programs: put on the shelf beside the snapshot, and read from it and from
the programs that changed since.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anyio import to_thread

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.shelf import NO_SHELF, Shelf, ShelfWrites
from fleet_memory.repositories.snapshots import READ_WITHIN_S, VersionedEntry
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.retrieval.others import (
    WordsAbout,
    keys_of_others,
    lessons_of,
    may_be_shown,
    strongest,
    words_about,
)
from fleet_memory.rules.text.keys import is_key_of
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import OthersLesson
from fleet_memory.schemas.programs import Program


class Others(NamedTuple):
    """The lessons of a fleet that other programs may be shown, and the words about candidates by
    key.
    """

    lessons: Sequence[OthersLesson] = ()
    words: Mapping[str, WordsAbout] = {}


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
    return Others([*remaining, *newest], shelf.words)


async def find_other(fleet: Fleet, key: str) -> tuple[str, str] | None:
    """Return the program and the pattern id of the lesson that agents name by a key, the oldest of
    equal words; None for none.

    The lesson's entry may have another key: a word about the key is about that entry. Billed as
    `read_others`, and the snapshot.
    """
    snapshot = await fleet.knowledge.snapshots.read()
    others = await read_others(fleet)
    near = [each for each in others.lessons if is_key_of(key, each.domain, each.pattern)]
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
    programs = await _changed(fleet, old, entries)

    def lessons() -> list[OthersLesson]:
        read = {program.program_id for program in programs}
        stayed = [lesson for lesson in old.lessons if lesson.program_id not in read]
        new = [lesson for program in programs for lesson in lessons_of(program, now)]
        return strongest([each for each in (*stayed, *new) if may_be_shown(each, now)], now)

    words = {**old.words, **{entry.key: words_about(entry) for entry in entries}}
    said = {key: about for key, about in words.items() if about is not None}
    strongest_now = await to_thread.run_sync(lessons)
    return knowledge.shelves.replacing(Shelf(now, tuple(strongest_now), said))


async def _changed(fleet: Fleet, old: Shelf, entries: Sequence[Entry]) -> list[Program]:
    """Return the programs whose lessons on the shelf may not be as they are."""
    if old is NO_SHELF or old.at is None:
        return [versioned.program for versioned in await fleet.programs.all()]
    keys = {entry.key for entry in entries}
    names = {line.program_id for entry in entries for line in entry.provenance} | {
        lesson.program_id
        for lesson in old.lessons
        if lesson.knowledge_key in keys or lesson.embedder != fleet.embedder.name
    }
    changed = {
        versioned.program.program_id: versioned.program
        for versioned in await fleet.programs.changed_since(old.at - CLOCK_SKEW)
    }
    others = await fleet.programs.read_many(*sorted(names - changed.keys()))
    return [*changed.values(), *(versioned.program for versioned in others)]
