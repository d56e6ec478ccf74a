"""Sessions that end at the same time lose nothing, and one whose server is killed is whole or
absent.
"""

import random
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from agents import Agent, agent, opened
from fleets import NOW, consolidate, fleet_on, learn
from kills import KILLS, MAX_KILLS, kill_after, serving
from mcp import Client, MCPError
from settling import settled

from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.stores import Query, Store
from fleet_memory.tools.session import (
    SessionAnswer,
    SessionNote,
    SessionReport,
    commit_session,
)
from fleet_memory.tools.state import ContextSummary, get_program_state, update_program_state
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

PROCESSES = 10
NOTES_EACH = 6
COUNTS_EACH = 3
KEY = "pattern/domain-shared/lesson-shared"
LATER = NOW + timedelta(hours=1)  # the lease of a killed server has expired by then


class Meeting:
    """All sessions wait here for the last one."""

    def __init__(self) -> None:
        self.missing, self.begun = PROCESSES, anyio.Event()

    async def wait(self) -> None:
        self.missing -= 1
        if self.missing == 0:
            self.begun.set()
        await self.begun.wait()


async def counted(one: Agent, meeting: Meeting | None) -> int:
    """Add 1 to a figure that all sessions share, by version; return how often another was faster.

    In a meeting every session has read one version before the first writes.
    """
    lost = 0
    while True:
        state = await one.call("get_program_state", programId="basher")
        if meeting and not lost:
            await meeting.wait()
        count = state.get("baselines", {}).get("count", 0)
        change = {"baselines": {"count": count + 1}, "expectedVersion": state["version"]}
        result = await one.client.call_tool(
            "update_program_state", {"programId": "basher", **change}
        )
        if not result.is_error:
            return lost
        said = "".join(block.text for block in result.content if block.type == "text")
        assert said.startswith("conflict: basher's state is at version ")
        assert said.endswith("(retryable)")
        lost += 1


async def test_ten_servers_edit_one_programs_notes_and_state_at_once_and_nothing_is_lost(
    store_address: str,
) -> None:
    lost: list[int] = []
    meeting = Meeting()

    async def session(number: int) -> None:
        async with agent(store_address, now=NOW.isoformat(), embedder="lexical") as one:
            made = []
            for count in range(NOTES_EACH):
                done = await one.call("write_note", programId="basher", text=f"{number}-{count}")
                made.append(done["noteId"])
                if count < COUNTS_EACH:
                    lost.append(await counted(one, meeting if count == 0 else None))
            await one.call(
                "write_note",
                programId="basher",
                noteId=made[0],
                text=f"{number}-edited",
                pinned=True,
            )
            await one.call("write_note", programId="basher", noteId=made[1], remove=True)
            await one.call(
                "update_program_state",
                programId="basher",
                config={f"process-{number}": {"done": True}},
            )
            lesson = {
                "pattern": f"Lesson {number}",
                "domain": "d",
                "confidence": 0.5,
                "evidence": "",
            }
            handoff = {"handoffNotes": f"from {number}"}
            await one.call(
                "commit_session",
                programId="basher",
                requestId=f"s{number}",
                patterns=[lesson | {"id": f"l{number}"}],
                notes=[{"text": f"{number}-left"}],
                contextSummary=handoff,
            )

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as together:
            for number in range(PROCESSES):
                together.start_soon(session, number)
    async with opened(store_address) as store:
        fleet = fleet_on(store)
        program = await fleet.programs.read("basher")
        history = (await get_program_state(fleet, "basher", history=50)).history or ()
        archive = await fleet.programs.archive.of_program("basher")
    names = [str(count) for count in range(2, NOTES_EACH)] + ["edited", "left"]
    assert sorted(note.text for note in program.notes.values()) == sorted(
        f"{number}-{name}" for number in range(PROCESSES) for name in names
    )
    assert (program.notes_made, len(archive)) == (PROCESSES * (NOTES_EACH + 1), PROCESSES)
    assert program.baselines == {"count": PROCESSES * COUNTS_EACH}
    assert program.config == {f"process-{number}": {"done": True} for number in range(PROCESSES)}
    assert program.state_version == PROCESSES * (COUNTS_EACH + 2)
    assert sorted(program.patterns) == sorted(f"l{number}" for number in range(PROCESSES))
    handed = sorted(str(past.context_summary.handoff_notes) for past in history)
    assert handed == [f"from {number}" for number in range(PROCESSES)]
    assert sum(lost) >= PROCESSES - 1  # of one version, one wins


def session_of(round_: str) -> dict[str, Any]:
    lesson = {"domain": "d", "confidence": 0.5, "evidence": ""}
    return {
        "programId": round_,  # of its own, so that no cap is met
        "requestId": f"s{round_}",
        "patterns": [
            lesson | {"id": f"{round_}-{n}", "pattern": f"Lesson {n} of {round_}"} for n in range(3)
        ],
        "reinforcements": [
            {"patternId": KEY, "evidence": f"round {round_}"},
            {"patternId": "unknown"},
        ],
        "contextSummary": {"handoffNotes": f"round {round_}"},
        "notes": [{"text": f"round {round_}"}],
    }


async def confirmations(store: Store) -> int:
    """Count the words that confirmed the entry that every session speaks about."""
    (known,) = await fleet_on(store).knowledge.all()
    return known.entry.confirmations if known.entry else 0


async def parts_of(store: Store, round_: str, before: int) -> Counter[str]:
    """Count the effects of a session on an entry that had so many confirmations before."""
    fleet = fleet_on(store)
    program = await fleet.programs.read(round_)
    history = (await get_program_state(fleet, round_, history=50)).history or ()
    return Counter(
        {
            "patterns": sum(id_.startswith(f"{round_}-") for id_ in program.patterns),
            "notes": sum(note.text == f"round {round_}" for note in program.notes.values()),
            "handoffs": sum(
                past.context_summary.handoff_notes == f"round {round_}" for past in history
            ),
            "words": await confirmations(store) - before,
            "requests": sum(request.startswith("session/") for request in program.request_ids),
        }
    )


WHOLE = Counter({"patterns": 3, "notes": 1, "handoffs": 1, "words": 1, "requests": 1})
ABSENT = Counter(dict.fromkeys(WHOLE, 0))


async def left_by_a_server(
    address: str, round_: str, pid: Path, killed_after_s: float | None
) -> float:
    """Commit a session in a server, which is killed meanwhile; return how long it took. Raises
    MCPError if it died.
    """
    settings = {
        "FLEET_MEMORY_STORE": address,
        "FLEET_MEMORY_EMBEDDER": "lexical",
        "FLEET_MEMORY_TOOLSETS": "all",
    }
    command = serving({**settings, "FLEET_MEMORY_NOW": NOW.isoformat()}, pid)
    async with Client(command) as client, anyio.create_task_group() as group:
        await client.call_tool(
            "memory_health", {"programId": "iso"}
        )  # everything is loaded and open
        if killed_after_s is not None:
            group.start_soon(kill_after, pid, killed_after_s)
        began = time.perf_counter()
        await Agent(client).call("commit_session", **session_of(round_))
        ended = time.perf_counter()
    return ended - began


@pytest.mark.kills
async def test_a_session_whose_server_is_killed_is_whole_or_absent_and_repeating_it_makes_it_whole(
    store_address: str, tmp_path: Path
) -> None:
    chance = random.Random(25)  # noqa: S311 - chooses when to kill
    left: list[bool] = []
    async with opened(store_address) as store:
        fleet = fleet_on(store, LATER)
        await learn(fleet, "sark", "shared")
        await learn(fleet, "iso", "shared")
        await consolidate(fleet)
        with anyio.fail_after(HANG_S):
            aim_s = await left_by_a_server(store_address, "first", tmp_path / "first", None)
            while len(left) < KILLS or (len(set(left)) < 2 and len(left) < MAX_KILLS):
                round_ = f"r{len(left)}x{chance.randrange(10**6)}"
                before = await confirmations(store)
                was_answered = True
                try:
                    await left_by_a_server(
                        store_address, round_, tmp_path / round_, chance.uniform(0.5, 1.5) * aim_s
                    )
                except* MCPError:
                    was_answered = False
                parts = await settled(partial(parts_of, store, round_, before))
                assert parts == WHOLE or (parts == ABSENT and not was_answered), (
                    "a session is half committed, or lost"
                )
                left.append(parts == WHOLE)
                aim_s *= 0.6 if parts == WHOLE else 1.4  # towards the commit, wherever it is
                sent = session_of(round_)
                answers = [await repeated(store, sent) for _ in range(2)]
                assert [answer.repeated for answer in answers] == [left[-1] or None, True]
                assert [answer.failed for answer in answers] == [1, 1]
                assert await parts_of(store, round_, before) == WHOLE
    assert {True, False} == set(left), "all the kills came before the commit, or after it"


async def repeated(store: Store, sent: dict[str, Any]) -> SessionAnswer:
    return await commit_session(
        fleet_on(store, LATER),
        sent["programId"],
        tuple(NewPattern.model_validate(one) for one in sent["patterns"]),
        tuple(SessionReport.model_validate(one) for one in sent["reinforcements"]),
        context_summary=ContextSummary.model_validate(sent["contextSummary"]),
        notes=tuple(SessionNote.model_validate(one) for one in sent["notes"]),
        request_id=sent["requestId"],
    )


async def test_sessions_of_many_programs_that_speak_of_one_entry_are_all_heard(
    open_store: Callable[[], Store],
) -> None:
    store = open_store()
    await learn(fleet_on(store), "sark", "shared")
    await learn(fleet_on(store), "iso", "shared")
    await consolidate(fleet_on(store))

    async def leave(name: str) -> None:
        word = SessionReport.model_validate({"patternId": KEY, "evidence": name})
        await commit_session(fleet_on(open_store()), name, reinforcements=(word,))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for number in range(PROCESSES):
                tasks.start_soon(leave, f"program-{number}")
    (held,) = await fleet_on(store).knowledge.read_versioned(KEY)
    assert held.entry
    assert (held.entry.confirmations, held.entry.version) == (PROCESSES, PROCESSES + 1)
    assert sorted((word.program_id, word.evidence) for word in held.entry.words) == [
        (f"program-{number}", f"program-{number}") for number in range(PROCESSES)
    ]


async def test_handoffs_that_share_a_commit_each_leave_a_copy_and_fifty_are_kept(
    store: Store,
) -> None:
    fleet = fleet_on(store)

    async def hand_over(number: int) -> None:
        await update_program_state(
            fleet, "basher", ContextSummary.model_validate({"handoffNotes": str(number)})
        )

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(hand_over, number)
    history = (await get_program_state(fleet, "basher", history=50)).history or ()
    assert [past.version for past in history] == list(range(60, 10, -1))
    assert len({past.context_summary.handoff_notes for past in history}) == 50
    assert await store.total(Query("fleets/default/history")) == 50
