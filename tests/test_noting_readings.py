"""A program's first and last reading of shared knowledge are stored before the answer leaves."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.prompting import lessons_for_prompt
from fleet_memory.schemas.programs import Caller, Role
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.knowledge import gsp_diff, gsp_read, gsp_search
from tests.fleets import NOW, at, documents, learn
from tests.lessons import days
from tests.shared import KEY, LOOK, shared_entry

pytestmark = pytest.mark.anyio

Read = Callable[[Fleet], Awaitable[object]]
READINGS: dict[str, Read] = {
    "boot": lambda fleet: gsp_bootstrap(fleet, "ram"),
    "recall": lambda fleet: recall_memory(fleet, "ram", query="task"),
    "recall without a question": lambda fleet: recall_memory(fleet, "ram", scope="shared"),
    "search": lambda fleet: gsp_search(fleet, "task"),
    "diff": lambda fleet: gsp_diff(fleet, 0),
    "entry": lambda fleet: gsp_read(fleet, KEY),
    "prompt": lambda fleet: lessons_for_prompt(
        fleet, "ram", f"{LOOK}, and tell the others whether the task is free"
    ),
}


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


async def read_times(fleet: Fleet) -> tuple[datetime | None, datetime | None]:
    program = await fleet.programs.read("ram")
    return program.read_first, program.read_last


@pytest.mark.parametrize("name", READINGS)
async def test_knowledge_that_a_program_reads_is_noted_with_the_time_of_its_version(
    fleet: Fleet, name: str
) -> None:
    await shared_entry(fleet, "basher", "iso")
    reader = replace(at(fleet, NOW + days(1)), caller=Caller("ram"))
    await READINGS[name](reader)
    written = (await fleet.knowledge.snapshots.read()).version_at
    assert written is not None
    assert await read_times(fleet) == (written, written)
    before = await documents(fleet)
    await READINGS[name](reader)
    assert await documents(fleet) == before


async def test_a_later_version_moves_the_last_time_alone(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    await recall_memory(fleet, "ram", query="task")
    later = at(fleet, NOW + days(3))
    await retire_entry(later, KEY, "we have a queue")
    await gsp_bootstrap(later, "ram")
    assert await read_times(fleet) == (NOW, NOW + days(3))


@pytest.mark.parametrize("role", ["auditor", "judge"])
async def test_a_caller_without_a_memory_of_its_own_notes_nothing(fleet: Fleet, role: Role) -> None:
    await shared_entry(fleet, "basher", "iso")
    caller = Caller("ram", role=role)
    await recall_memory(replace(fleet, caller=caller), "ram", query="task", scope="shared")
    assert await read_times(fleet) == (None, None)


async def test_a_recall_that_shows_no_knowledge_notes_nothing(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    await learn(fleet, "ram", "Rotate the logs")
    await recall_memory(fleet, "ram", query="task", scope="own")
    await recall_memory(fleet, "ram", query="task", domain="logs")
    assert await read_times(fleet) == (None, None)
