"""A run leaves the sums of a fleet's programs, and the health of a large fleet is answered from
them.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from fleet_memory.fleet import Caller, Fleet
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.schemas.answers.health import FleetHealthAnswer
from fleet_memory.schemas.health import Forecast, PatternCounts
from fleet_memory.stores import Json, Write
from fleet_memory.tools.commit_session import commit_session
from fleet_memory.tools.fleet_health import health_of_fleet
from fleet_memory.tools.forget_memory import forget_memory
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.reinforce_memory import reinforce_memory
from tests.fleets import NOW, at, documents, learn
from tests.test_proposing_run import rehearsed, run

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
QUESTION = "Which port does the proxy use?"
LATER = NOW + timedelta(minutes=15)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(replace(fleet, caller=Caller()), NOW)


async def from_sums(fleet: Fleet) -> FleetHealthAnswer:
    """Return the fleet's health as that of a fleet too large to be read."""
    return await health_of_fleet(fleet, 10_000, max_programs=0)


async def read_now(fleet: Fleet) -> FleetHealthAnswer:
    return await health_of_fleet(fleet, 10_000)


async def stored_sums(fleet: Fleet) -> dict[str, Json] | None:
    (document,) = await fleet.sums.store.get(fleet.sums.paths.sums)
    return document.fields if document else None


async def written_at(fleet: Fleet) -> datetime | None:
    sums = await fleet.sums.read()
    return sums.at if sums else None


def same_but_as_of(from_sums: FleetHealthAnswer, live: FleetHealthAnswer, as_of: datetime) -> None:
    assert live.as_of is None
    assert from_sums == replace(live, as_of=as_of)


async def test_after_a_run_the_sums_answer_as_a_live_reading_does(fleet: Fleet) -> None:
    for name in ("basher", "iso", "sark"):
        await learn(at(fleet, NOW - timedelta(days=85)), name, f"Own lesson of {name}", id_="own")
    await learn(fleet, "basher", CLAIM)
    await learn(fleet, "iso", CLAIM)
    await commit_session(fleet, "sark", missing=(QUESTION,))
    await commit_session(fleet, "iso", missing=(QUESTION, "And the database?"))
    await run(fleet)
    same_but_as_of(await from_sums(fleet), await read_now(fleet), NOW)
    await gsp_bootstrap(fleet, "sark")
    await learn(at(fleet, LATER), "sark", CLAIM)
    await forget_memory(at(fleet, LATER), "basher", "own", "gone")
    await run(at(fleet, LATER))
    same_but_as_of(await from_sums(at(fleet, LATER)), await read_now(at(fleet, LATER)), LATER)
    stale = at(fleet, NOW + timedelta(days=6))
    await run(stale)  # reads no program: nothing has changed but the time
    same_but_as_of(await from_sums(stale), await read_now(stale), stale.now())
    assert (await from_sums(stale)).patterns == PatternCounts(
        total=5, active=3, stale=2, promoted=2, archived=1
    )


async def test_a_run_of_nothing_new_leaves_the_sums_until_the_next_day(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    await run(fleet)
    before = await stored_sums(fleet)
    await run(at(fleet, LATER))
    assert await stored_sums(fleet) == before
    tomorrow = NOW + timedelta(days=1)
    await run(at(fleet, tomorrow))
    assert await written_at(fleet) == tomorrow


async def test_a_server_writes_the_sums_again_where_another_one_has_written_some_since(
    fleet: Fleet,
) -> None:
    other = replace(fleet, memory=ProposingMemory())
    await learn(fleet, "basher", CLAIM)
    await run(fleet)
    await run(at(other, LATER))
    assert await written_at(fleet) == LATER
    again = LATER + timedelta(minutes=15)
    await run(at(fleet, again))
    assert await written_at(fleet) == again


async def test_a_change_that_no_run_waits_for_is_counted_within_a_day(fleet: Fleet) -> None:
    for name in ("basher", "iso"):
        await learn(at(fleet, NOW - timedelta(days=89)), name, f"Own lesson of {name}")
    await run(fleet)
    await reinforce_memory(at(fleet, LATER), "basher", "mine")
    await commit_session(at(fleet, LATER), "iso", missing=(QUESTION,))
    tomorrow = at(fleet, NOW + timedelta(days=1, hours=1))
    await run(tomorrow)
    same_but_as_of(await from_sums(tomorrow), await read_now(tomorrow), tomorrow.now())


async def test_old_sums_start_with_their_age_and_forecast_nothing_that_no_run_has_counted(
    fleet: Fleet,
) -> None:
    await learn(fleet, "basher", CLAIM)
    await run(fleet)
    for days, line in ((2, ()), (2.5, ("Counted 2 days ago: run fleet-memory maintain daily.",))):
        answer = await from_sums(at(fleet, NOW + timedelta(days=days)))
        assert answer.advice[:1] == line
        assert answer.forecast is None
    answer = await from_sums(at(fleet, NOW + timedelta(days=65)))
    assert answer.advice[0] == "Counted 65 days ago: run fleet-memory maintain daily."
    assert answer.forecast == (Forecast(days=7, stale=None, verify=0),)
    assert answer.wire()["forecast"] == [{"days": 7, "verify": 0}]


async def test_a_dry_run_leaves_no_sums(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    await rehearsed(fleet)
    assert await stored_sums(fleet) is None
    await run(fleet)
    assert await written_at(fleet) == NOW


async def test_a_large_fleet_that_no_run_has_counted_is_answered_with_the_command_to_run(
    fleet: Fleet,
) -> None:
    for name in ("basher", "iso"):
        await learn(fleet, name, f"Own lesson of {name}")
    answer = await from_sums(fleet)
    assert answer.advice == (
        "No run has counted the lessons of these 2 programs yet: run fleet-memory maintain.",
    )
    assert (answer.programs, answer.freshness.pending) == (2, 2)
    absent = (
        answer.as_of,
        answer.verdict,
        answer.patterns,
        answer.rates,
        answer.verdicts,
        answer.unwell,
    )
    assert absent == (None,) * 6


@pytest.mark.parametrize("fields", [None, {"text": "no JSON"}], ids=["deleted", "damaged"])
async def test_sums_that_are_gone_or_cannot_be_read_come_back_with_the_next_server_s_run(
    fleet: Fleet, fields: dict[str, Json] | None
) -> None:
    await learn(fleet, "basher", CLAIM)
    await run(fleet)
    before = await documents(fleet)
    await fleet.sums.store.commit(Write(fleet.sums.paths.sums, fields))
    assert (await from_sums(fleet)).verdict is None
    await run(replace(fleet, memory=ProposingMemory()))
    same_but_as_of(await from_sums(fleet), await read_now(fleet), NOW)
    assert len(await documents(fleet)) == len(before)


async def test_no_name_or_question_of_a_deleted_program_stays_in_the_sums(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    await learn(at(fleet, NOW - timedelta(days=100)), "iso", "Rotate the log files")
    await commit_session(fleet, "iso", missing=(QUESTION,))
    await run(fleet)
    assert QUESTION in str(await stored_sums(fleet))
    await delete_program(fleet, "iso")
    assert await stored_sums(fleet) is None
    await run(fleet)
    same_but_as_of(await from_sums(fleet), await read_now(fleet), NOW)
