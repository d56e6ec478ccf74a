"""Decoded programs: a lesson that is stored as before is the same object, and a program never an
earlier one.
"""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import (
    MAX_DECODED,
    absent_program,
    changed_fields,
    pattern_key,
    versioned_program,
)
from fleet_memory.rules.lifecycle.admission import with_pattern
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.lifecycle.state import new_note, with_note
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Json
from tests.fleets import learn
from tests.lessons import START, days, pattern, program

pytestmark = pytest.mark.anyio

FIRST = pattern(id="first")
SECOND = pattern("Release the lease", id="second", stored_at=START + days(1))


def document(whole: Program, revision: str = "1") -> Document:
    fields = changed_fields(absent_program(whole.program_id), whole)
    present: dict[str, Json] = {name: value for name, value in fields.items() if value is not None}
    return Document(FleetPaths("f1").program(whole.program_id), present, revision)


def same_objects(one: Iterable[Pattern], other: Iterable[Pattern]) -> list[bool]:
    return [a is b for a, b in zip(one, other, strict=True)]


async def store(fleet: Fleet, *lessons: Pattern) -> None:
    def change(before: Program) -> ProgramChange:
        for lesson in lessons:
            before = with_pattern(before, lesson)
        return ProgramChange(before)

    await fleet.programs.update("basher", change, START)


async def test_an_unchanged_document_is_the_same_program_and_a_changed_one_has_the_same_lessons_otherwise(
    fleet: Fleet,
) -> None:
    await store(fleet, FIRST, SECOND)
    known = await fleet.programs.read("basher")
    assert await fleet.programs.read("basher") is known
    other = Fleet.on(fleet.programs.store, "default", fleet.embedder, fleet.now)
    await store(other, replace(SECOND, confidence=0.9), pattern(id="third"))
    after = await fleet.programs.read("basher")
    assert after == await other.programs.read("basher")
    assert after.patterns["first"] is known.patterns["first"]
    assert after.patterns["second"].confidence == 0.9


def test_a_lesson_keeps_the_text_that_it_was_stored_as() -> None:
    newer = FIRST.compact().replace('"id":', '"later":1,"id":')
    found = document(program(FIRST))
    found = found._replace(fields=found.fields | {"patterns": {pattern_key("first"): newer}})
    (read,) = versioned_program(found).program.patterns.values()
    assert (read, read.stored_text, read.stored_bytes) == (FIRST, newer, len(newer))


async def test_the_next_read_after_a_commit_has_the_lessons_that_were_committed(
    fleet: Fleet,
) -> None:
    await store(fleet, FIRST)
    known = await fleet.programs.read("basher")
    await store(fleet, SECOND)
    read = await fleet.programs.read("basher")
    assert same_objects(read.patterns.values(), [known.patterns["first"], SECOND]) == [True, True]
    note = new_note(read, "Port 1", START, pinned=False)
    await fleet.programs.update("basher", lambda before: with_note(before, note, START), START)
    after = await fleet.programs.read("basher")
    assert after.notes[note.id] is note
    assert same_objects(after.patterns.values(), read.patterns.values()) == [True, True]


async def test_the_programs_that_were_read_last_stay_decoded(fleet: Fleet) -> None:
    names = [f"p{number}" for number in range(MAX_DECODED + 1)]
    for name in names:
        await learn(fleet, name, "Claim a task first")
    first = [await fleet.programs.read(name) for name in names]
    assert await fleet.programs.read(names[-1]) is first[-1]
    assert await fleet.programs.read(names[0]) is not first[0]
