"""A full program keeps working: promoted lessons make room, because their entries keep their
contributions.
"""

from dataclasses import replace

import pytest

from fleet_memory.errors import CapacityExceededError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.limits import MAX_PROGRAM_BYTES
from fleet_memory.repositories.program_codec import document_size
from fleet_memory.repositories.room import with_room
from fleet_memory.rules.lifecycle.room import MADE_ROOM, without_weakest_promoted
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.programs import Archived, Program
from tests.lessons import START, days, pattern, program

NOW = START + days(1)
STRONG = pattern(id="strong", confidence=0.9, knowledge_key="pattern/ci/strong")
WEAK = pattern(id="weak", confidence=0.2, knowledge_key="pattern/ci/weak")
OWN = pattern(id="own", confidence=0.1)
ECHO = pattern(id="echo", confidence=0.1, knowledge_key="pattern/ci/weak", echo=True)


def filled(**fields: object) -> Program:
    """Return a program whose 900 promoted lessons nearly fill its document, the first the
    weakest.
    """
    return program(
        *(
            pattern(
                f"Lesson {number}",
                id=f"p{number:03}",
                confidence=0.1 + number / 1000,
                evidence="e" * 715,
                knowledge_key=f"pattern/ci/{number}",
            )
            for number in range(900)
        ),
        **fields,
    )


def with_lesson(before: Program, evidence: str) -> Program:
    new = pattern("New", id="new", evidence=evidence, last_reinforced=NOW)
    return replace(before, patterns={**before.patterns, "new": new})


def test_the_weakest_promoted_lesson_leaves_and_no_other() -> None:
    before = program(STRONG, WEAK, OWN, ECHO)
    change = without_weakest_promoted(before, before, 1, NOW)
    assert list(change.program.patterns) == ["strong", "own", "echo"]
    line = Archived(program_id="basher", pattern=WEAK, reason="cap", at=NOW, why=MADE_ROOM)
    assert change.archived == (line,)


def test_as_many_leave_as_make_the_room_and_not_those_that_the_change_is_about() -> None:
    before = program(STRONG, WEAK, OWN)
    assert list(without_weakest_promoted(before, before, 10_000, NOW).program.patterns) == ["own"]
    confirmed = replace(
        before, patterns={**before.patterns, "weak": replace(WEAK, confirmations=1)}
    )
    assert list(without_weakest_promoted(before, confirmed, 10_000, NOW).program.patterns) == [
        "weak",
        "own",
    ]
    nobody = program(OWN)
    assert without_weakest_promoted(nobody, nobody, 1, NOW) == ProgramChange(nobody)


@pytest.mark.anyio
async def test_a_full_program_stores_another_lesson_and_names_those_that_left(fleet: Fleet) -> None:
    full = filled()
    assert MAX_PROGRAM_BYTES - 20_000 < document_size(full) < MAX_PROGRAM_BYTES
    await fleet.programs.update("basher", lambda _: ProgramChange(full), NOW)
    after = await fleet.programs.update(
        "basher", lambda now: ProgramChange(with_lesson(now, "e" * 60_000)), NOW
    )
    gone = [line.pattern.id for line in after.archived]
    assert gone == [f"p{number:03}" for number in range(len(gone))]
    assert 30 < len(gone) < 100
    stored = await fleet.programs.read("basher")
    assert set(stored.patterns) == {*full.patterns, "new"} - {*gone}
    assert set(stored.pending) == {*stored.patterns, *gone}
    assert document_size(stored) <= MAX_PROGRAM_BYTES
    assert len(await fleet.programs.archive.of_program("basher")) == len(gone)


def test_a_program_that_has_nothing_to_spare_is_refused() -> None:
    before = program(OWN)
    with pytest.raises(CapacityExceededError, match="basher's memory is full"):
        with_room(before, with_lesson(before, "e" * MAX_PROGRAM_BYTES), NOW)


def test_a_program_that_fits_is_stamped_and_nothing_leaves() -> None:
    before = program(OWN, STRONG)
    assert with_room(before, before, NOW) == ProgramChange(before)
    change = with_room(before, with_lesson(before, ""), NOW)
    assert (change.program.changes, change.program.pending, change.archived) == (1, ("new",), ())
