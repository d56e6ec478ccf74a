"""Every tool that writes does so once when the answer of its commit is lost, and its caller sees an
ordinary answer.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.programs import Program
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.session import SessionReport, commit_session
from fleet_memory.tools.state import forget_memory, update_program_state, write_note
from tests.fleets import NOW, at, learn
from tests.test_entry_documents import KEY, entry
from tests.test_lost_answers import losing

pytestmark = pytest.mark.anyio

Call = Callable[[Fleet], Awaitable[object]]

CALLS: dict[str, Call] = {
    "a store": lambda fleet: learn(fleet, "basher", "Another lesson", id_="other"),
    "a contradiction": lambda fleet: reinforce_memory(
        fleet, "basher", "mine", outcome="contradicted", evidence="no"
    ),
    "a word about an entry": lambda fleet: reinforce_memory(
        fleet, "basher", KEY, outcome="confirmed", evidence="yes"
    ),
    "a note": lambda fleet: write_note(fleet, "basher", "Remember the milk"),
    "an edited note": lambda fleet: write_note(fleet, "basher", note_id="n1", text="Port 2"),
    "a removed note": lambda fleet: write_note(fleet, "basher", note_id="n1", remove=True),
    "a state": lambda fleet: update_program_state(
        fleet, "basher", config={"x": 1}, expected_version=0
    ),
    "a forgotten lesson": lambda fleet: forget_memory(fleet, "basher", "mine", "no longer true"),
    "a session": lambda fleet: commit_session(
        fleet,
        "basher",
        reinforcements=(
            SessionReport.model_validate(
                {"patternId": KEY, "outcome": "contradicted", "evidence": "no"}
            ),
        ),
    ),
}


async def prepare(fleet: Fleet) -> None:
    """Store a lesson and a note of basher, and an entry of others."""
    await learn(fleet, "basher", "Check the status")
    await write_note(fleet, "basher", "Port 1")
    known = entry(KEY, "iso", "sark")
    await fleet.knowledge.store.commit(
        *fleet.knowledge.writes(ABSENT_ENTRY, known, by="x", why="", now=NOW)
    )


async def memory(fleet: Fleet) -> tuple[Program, Entry, int]:
    """Return the program, the entry without its lines' random ids, and the number of these."""
    program, known = await fleet.programs.read("basher"), await fleet.knowledge.found(KEY)
    return program, replace(known, ledger=()), len(known.ledger)


@pytest.mark.parametrize("fate", ["applied", "dropped", "late"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_lost_answer_leaves_the_same_documents_as_a_steady_store(
    fleet: Fleet, name: str, fate: str
) -> None:
    fleet = at(fleet, NOW)
    steady = Fleet.on(fleet.programs.store, "steady", fleet.embedder, fleet.now, fleet.caller)
    for each in (fleet, steady):
        await prepare(each)
    before = await memory(fleet)
    unsteady, _ = losing(fleet, fate)
    await CALLS[name](unsteady)
    await CALLS[name](steady)
    assert await memory(fleet) == await memory(steady) != before
