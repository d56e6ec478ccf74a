"""A consolidation among other writers: it overwrites nobody, and without its lease it writes nothing."""

from datetime import timedelta

import pytest
from fleet_memory.jobs.consolidation import ConsolidationReport
from fleet_memory.jobs.consolidation.promotions import named_programs
from fleet_memory.jobs.consolidation.runs import consolidate, rehearse_consolidation
from fleet_memory.jobs.consolidation.scene import RunScope

from fleet_memory.errors import LeaseLostError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.fenced_writer import CONSOLIDATION_LEASE
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.tools.reinforce_memory import reinforce_memory
from tests.fleets import NOW, at, documents, interrupted, learn, lease_to_another, writing

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
ROTATE = "Rotate the log files once a day"
KEY = knowledge_key("tasks", CLAIM)
AFTER_ITS_END = timedelta(hours=1)
LATER = NOW + timedelta(seconds=1)


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def run(fleet: Fleet, *, domain: str | None = None, rebuild: bool = False) -> ConsolidationReport:
    return await consolidate(fleet, RunScope(2, fleet.now(), domain, rebuild=rebuild), no_progress)


def promoted(report: ConsolidationReport) -> list[str]:
    return [entry.key for entry, _ in report.promoted]


async def published(fleet: Fleet) -> dict[str, tuple[str, ...]]:
    return {row.key: row.contributors for row in (await fleet.knowledge.snapshots.read()).rows}


async def both_learn(fleet: Fleet, text: str = CLAIM, **where: str) -> None:
    for program in ("basher", "sark"):
        await learn(fleet, program, text, **where)


async def known(fleet: Fleet) -> None:
    await both_learn(fleet)
    assert promoted(await run(fleet)) == [KEY]


async def test_a_run_that_loses_its_lease_before_it_promotes_writes_nothing(fleet: Fleet) -> None:
    await both_learn(fleet)
    before = await documents(fleet)
    overtaken = interrupted(fleet, writing("gsp"), lambda: lease_to_another(fleet, CONSOLIDATION_LEASE, AFTER_ITS_END))
    with pytest.raises(LeaseLostError, match="taken over"):
        await run(overtaken)
    assert await documents(fleet) == before


async def test_a_run_that_loses_its_lease_before_it_publishes_leaves_that_to_its_successor(fleet: Fleet) -> None:
    await both_learn(fleet)
    overtaken = interrupted(
        fleet, writing("snapshots"), lambda: lease_to_another(fleet, CONSOLIDATION_LEASE, AFTER_ITS_END)
    )
    with pytest.raises(LeaseLostError, match="taken over"):
        await run(overtaken)
    assert await published(fleet) == {}
    assert promoted(await run(at(fleet, NOW + 2 * AFTER_ITS_END))) == []
    assert await published(fleet) == {KEY: ("basher", "sark")}


async def test_a_lesson_that_is_reworded_while_it_is_promoted_waits_for_the_next_run(fleet: Fleet) -> None:
    await both_learn(fleet)
    meanwhile = interrupted(fleet, writing("gsp"), lambda: learn(fleet, "sark", ROTATE))
    assert promoted(await run(meanwhile)) == []
    assert await published(fleet) == {}
    assert (await run(fleet)).waiting == 2


async def test_what_a_contributor_learns_while_it_is_promoted_is_kept_and_compared_next_time(fleet: Fleet) -> None:
    await both_learn(fleet)
    await learn(fleet, "iso", ROTATE)
    meanwhile = interrupted(fleet, writing("gsp"), lambda: learn(fleet, "sark", ROTATE, id_="second"))
    assert promoted(await run(meanwhile)) == [KEY]
    assert sorted((await fleet.programs.read("sark")).patterns) == ["mine", "second"]
    assert [entry.value.contributors for entry, _ in (await run(fleet)).promoted] == [("iso", "sark")]


async def test_what_is_learnt_while_a_run_ends_is_compared_next_time(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    meanwhile = interrupted(fleet, writing("waiting"), lambda: learn(fleet, "basher", ROTATE, id_="second"))
    await run(meanwhile)
    await learn(fleet, "sark", ROTATE)
    assert [entry.value.contributors for entry, _ in (await run(fleet)).promoted] == [("basher", "sark")]


async def test_an_entry_that_retires_while_a_lesson_meets_it_gets_no_vote(fleet: Fleet) -> None:
    await known(fleet)
    await learn(fleet, "iso", CLAIM)

    async def two_contradict() -> None:
        for critic in ("clu", "ram"):
            await reinforce_memory(fleet, critic, KEY, outcome="contradicted", evidence="It failed")

    report = await run(interrupted(fleet, writing("gsp"), two_contradict))
    assert (report.updated, report.waiting) == ({}, 1)
    assert (await fleet.knowledge.found(KEY)).value.contributors == ("basher", "sark")


async def test_a_lesson_that_is_reworded_while_it_meets_an_entry_is_no_vote(fleet: Fleet) -> None:
    await known(fleet)
    await learn(fleet, "iso", CLAIM)
    report = await run(interrupted(fleet, writing("gsp"), lambda: learn(fleet, "iso", ROTATE)))
    assert report.updated == {}
    assert (await run(fleet)).waiting == 1


async def test_an_entry_that_is_confirmed_while_a_lesson_meets_it_has_both(fleet: Fleet) -> None:
    await known(fleet)
    await learn(fleet, "iso", CLAIM)
    report = await run(interrupted(fleet, writing("gsp"), lambda: reinforce_memory(fleet, "clu", KEY)))
    entry = report.updated[KEY][0]
    assert (entry.value.contributors, entry.confirmations) == (("basher", "iso", "sark"), 1)


async def test_an_entry_that_moves_while_it_is_published_is_published_as_it_is(fleet: Fleet) -> None:
    await both_learn(fleet)
    await run(interrupted(fleet, writing("snapshots"), lambda: reinforce_memory(at(fleet, LATER), "clu", KEY)))
    (row,) = (await fleet.knowledge.snapshots.read()).rows
    assert row.last_confirmed == (await fleet.knowledge.found(KEY)).last_confirmed == LATER


async def test_a_run_of_one_domain_promotes_there_and_leaves_the_rest_to_the_next(fleet: Fleet) -> None:
    await both_learn(fleet)
    await both_learn(fleet, ROTATE, id_="second", domain="logs")
    assert promoted(await run(fleet, domain="logs")) == [knowledge_key("logs", ROTATE)]
    assert promoted(await run(fleet)) == [KEY]


async def test_a_run_of_one_domain_gives_no_votes_elsewhere(fleet: Fleet) -> None:
    await known(fleet)
    await learn(fleet, "iso", CLAIM)
    assert (await run(fleet, domain="logs")).updated == {}
    assert list((await run(fleet)).updated) == [KEY]


async def test_a_rehearsal_says_what_a_run_would_do_and_writes_nothing(fleet: Fleet) -> None:
    await known(fleet)
    await learn(fleet, "iso", CLAIM)
    await both_learn(fleet, ROTATE, id_="second", domain="logs")
    before = await documents(fleet)
    rehearsed = await rehearse_consolidation(fleet, RunScope(2, NOW), no_progress)
    assert await documents(fleet) == before
    report = await run(fleet)
    assert (promoted(rehearsed), list(rehearsed.updated)) == (promoted(report), list(report.updated))
    assert promoted(report) == [knowledge_key("logs", ROTATE)]


async def test_two_entries_whose_texts_make_one_key_have_keys_of_their_own(fleet: Fleet) -> None:
    one, other = "Check the status before claiming", "Check a status before claiming"
    assert knowledge_key("tasks", one) == knowledge_key("tasks", other)
    await both_learn(fleet, one)
    await both_learn(fleet, other, id_="second")
    first, second = sorted(promoted(await run(fleet)))
    assert first == knowledge_key("tasks", one)
    assert second.startswith(f"{first}-")
    assert sorted(await published(fleet)) == [first, second]


def test_a_message_names_three_programs_and_counts_the_others() -> None:
    assert named_programs(["iso"]) == "program iso"
    assert named_programs(["clu", "iso", "sark"]) == "programs clu, iso, sark"
    assert named_programs([f"p{number}" for number in range(20)]) == "programs p0, p1, p2 and 17 more"
