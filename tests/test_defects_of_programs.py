"""One program's memory: a lesson stored again lives on, a full one works, and a lost answer changes
nothing twice.
"""

from contextlib import suppress
from datetime import datetime
from pathlib import Path

import pytest

from fleet_memory.errors import OutcomeUnknownError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.stores import Store, Write
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.state import (
    forget_memory,
)
from tests.fleets import NOW, at, learn, on
from tests.living import Machine
from tests.shared import published_keys
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def recalled(machine: Machine) -> list[str]:
    answer = await machine.call("basher", "recall_memory", programId="basher", scope="own")
    return [pattern["pattern"] for pattern in answer["patterns"]]


@pytest.mark.parametrize(
    "text", ["Run the linter before pushing", "Entirely new text, learnt today"]
)
async def test_a_lesson_that_is_stored_again_on_its_last_day_lives_on(
    machine: Machine, text: str
) -> None:
    await machine.store_lesson("basher", "Run the linter before pushing", id="x")
    machine.later(days=90)
    await machine.store_lesson("basher", text, id="x", evidence="saw it again today at work")
    machine.later(days=80)
    assert await recalled(machine) == [text]
    await machine.store_lesson("iso", text)
    (entry,) = (await machine.consolidate())["promoted"]
    assert (entry["pattern"], entry["contributors"]) == (text, ["basher", "iso"])


async def test_a_program_that_was_stored_again_every_fortnight_is_never_forgotten(
    machine: Machine,
) -> None:
    statuses: list[str] = []
    for _ in range(8):
        statuses.append(
            (await machine.store_lesson("basher", "Run the linter before pushing", evidence=""))[
                "status"
            ]
        )
        machine.later(days=13)
    assert statuses == ["created", *["reinforced"] * 7]
    assert await recalled(machine) == ["Run the linter before pushing"]


class LosesAnswers(ForwardingStore):
    """A store that applies every commit, and loses the answers of the first `count`."""

    def __init__(self, store: Store, count: int) -> None:
        super().__init__(store)
        self.left = count

    async def commit(self, *writes: Write) -> datetime:
        at_ = await super().commit(*writes)
        if self.left:
            self.left -= 1
            raise OutcomeUnknownError(
                "Firestore did not confirm the last write, which may have been applied."
            )
        return at_


@pytest.fixture
async def silent(fleet: Fleet) -> Fleet:
    """A fleet in which basher has a lesson, on a store that loses the next answer."""
    fleet = at(fleet, NOW)
    await learn(fleet, "basher", "A lesson")
    return on(fleet, LosesAnswers(fleet.knowledge.store, 1))


async def test_a_lesson_that_is_forgotten_without_an_answer_is_not_missed(silent: Fleet) -> None:
    gone = await forget_memory(silent, "basher", "mine", "no")
    archived = await silent.programs.archive.of_program("basher")
    assert [document.ref.id for document in archived] == [gone.archive_id]
    assert (await silent.programs.read("basher")).patterns == {}


@pytest.mark.parametrize("lost", range(1, 7))
async def test_after_a_run_whose_answers_are_lost_the_next_one_publishes_at_once(
    fleet: Fleet, lost: int
) -> None:
    fleet = at(fleet, NOW)
    for program in ("basher", "iso"):
        await learn(fleet, program, "A lesson")
    with suppress(OutcomeUnknownError):
        await pattern_consolidate(on(fleet, LosesAnswers(fleet.knowledge.store, lost)), no_progress)
    again = await pattern_consolidate(fleet, no_progress)
    assert (again.proposals.note, again.waiting) == (None, 0)
    assert await published_keys(fleet) == ["pattern/tasks/lesson"]
