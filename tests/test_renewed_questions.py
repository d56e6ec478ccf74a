"""Pairs that wait for a third program or for people are renewed and closed like any other."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fleet_memory.cli.review import waiting_pairs
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.jobs.proposing import propose
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.pairs import questions
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.pairs import Pair, Side, Verdict
from fleet_memory.schemas.policy import Policy
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.health import fleet_health
from fleet_memory.tools.state import forget_memory
from tests.asking import LEARNT, booted, current, ids, judged
from tests.fleets import NOW, at, learn
from tests.lessons import new_pattern
from tests.shared import FREE, LATE, LOOK, Lesson, opened_pair, shared_entry

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["warm", "cold"])
def fleet(fleet: Fleet, request: pytest.FixtureRequest) -> Fleet:
    return at(
        replace(fleet, caller=Caller(), max_programs_read=None if request.param == "warm" else 0),
        NOW,
    )


async def run(fleet: Fleet) -> None:
    """Run once, on another server if this one is to be cold."""
    fleet = fleet if fleet.max_programs_read is None else replace(fleet, memory=ProposingMemory())
    async with leased(fleet) as writer:
        assert writer is not None
        await propose(fleet, writer, Policy(), no_progress)


async def waiting_for_a_third(fleet: Fleet, *verdicts: Verdict) -> Pair:
    """Open a pair that its programs leave undecided, in a fleet with another program."""
    pair = await opened_pair(at(fleet, LEARNT), Lesson("basher", LOOK), Lesson("sark", LATE))
    await learn(fleet, "iso", "Something else")
    await run(fleet)
    for name, said in zip(("basher", "sark"), verdicts or ("unsure", "unsure"), strict=True):
        await judged(fleet, name, pair, said)
    await run(fleet)
    return pair


@pytest.mark.parametrize("verdicts", [("unsure", "unsure"), ("same", "different")])
async def test_a_forgotten_lesson_is_shown_to_no_third_program(
    fleet: Fleet, verdicts: tuple[Verdict, Verdict]
) -> None:
    pair = await waiting_for_a_third(fleet, *verdicts)
    assert ids(await booted(fleet, "iso")) == [pair.pair_id]
    await forget_memory(fleet, "sark", "open", "confidential")
    await run(fleet)
    assert (await current(fleet, pair)).state == "gone"
    assert ids(await booted(fleet, "iso")) == []


async def pair_with_entry(fleet: Fleet) -> Pair:
    """Open a pair of sark's lesson and an entry of basher and iso, about which basher is asked."""
    entry = await shared_entry(at(fleet, LEARNT), "basher", "iso")
    lesson = (await opened_pair(at(fleet, LEARNT), Lesson("sark", LATE), Lesson("ram", FREE))).a
    about = Side(
        program_id="basher", key=entry.key, domain=entry.value.domain, text=entry.value.pattern
    )
    pair = Pair(
        pair_id=pair_id(text_hash(LATE), text_hash(LOOK)),
        a=lesson,
        b=about,
        rank=0.9,
        opened_at=LEARNT,
    )
    (absent,) = await fleet.pairs.read(pair.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(absent, pair))
    return pair


@pytest.mark.parametrize("verdict", [None, "same", "unsure"])
async def test_the_next_oldest_contributor_is_asked_about_an_entry_of_a_deleted_program(
    fleet: Fleet, verdict: Verdict | None
) -> None:
    pair = await pair_with_entry(fleet)
    if verdict:
        await judged(fleet, "sark", pair, verdict)
    await delete_program(fleet, "basher")
    await run(fleet)
    assert "iso" in questions(await current(fleet, pair)).programs


async def test_nor_is_a_rewritten_one(fleet: Fleet) -> None:
    pair = await waiting_for_a_third(fleet)
    await store_memory(fleet, "sark", new_pattern("Another text altogether", id="open"))
    await run(fleet)
    assert (await current(fleet, pair)).state == "gone"
    assert pair.pair_id not in ids(await booted(fleet, "iso"))


async def test_a_forgotten_lesson_is_not_shown_in_reviews(fleet: Fleet) -> None:
    pair = await opened_pair(
        at(fleet, LEARNT), Lesson("basher", LOOK), Lesson("sark", LATE), steering="answer same"
    )
    await run(fleet)
    assert [one.pair.pair_id for one in await waiting_pairs(fleet)] == [pair.pair_id]
    await forget_memory(fleet, "sark", "open", "confidential")
    await run(fleet)
    assert (await current(fleet, pair)).state == "gone"
    assert await waiting_pairs(fleet) == []


async def waits(fleet: Fleet) -> tuple[Mapping[str, int] | None, list[str]]:
    """Return for whom the fleet's pairs wait, from health and the command for people."""
    return (await fleet_health(fleet)).judging, [
        one.waits_for for one in await waiting_pairs(fleet)
    ]


async def test_where_every_program_has_judged_people_are_asked(fleet: Fleet) -> None:
    pair = await waiting_for_a_third(fleet)
    assert await waits(fleet) == ({"third": 1}, ["a third program"])
    await judged(fleet, "iso", pair, "unsure")
    assert await waits(fleet) == ({"people": 1}, ["people"])


async def test_where_every_other_program_contributes_people_are_asked_until_another_comes(
    fleet: Fleet,
) -> None:
    pair = await pair_with_entry(fleet)
    await delete_program(fleet, "ram")
    await run(fleet)
    for name in ("basher", "sark"):
        await judged(fleet, name, pair, "unsure")
    assert await waits(fleet) == ({"people": 1}, ["people"])
    await learn(fleet, "ram", "Something else")
    await run(fleet)
    assert await waits(fleet) == ({"third": 1}, ["a third program"])
    assert ids(await booted(fleet, "ram")) == [pair.pair_id]


async def test_a_pair_that_opens_in_a_small_fleet_waits_for_people_after_its_programs(
    fleet: Fleet,
) -> None:
    await learn(fleet, "basher", "Always rotate log files every day")
    await learn(fleet, "sark", "Remember to rotate log files daily")
    await run(fleet)
    (pair,) = [one.pair for one in await fleet.pairs.in_state("open") if one.pair]
    await learn(fleet, "iso", "Something else")
    for name in ("basher", "sark"):
        await judged(fleet, name, pair, "unsure")
    assert await waits(fleet) == ({"people": 1}, ["people"])
    await run(fleet)
    assert await waits(fleet) == ({"third": 1}, ["a third program"])


async def test_a_same_that_waits_for_a_third_takes_nothing_from_the_pairs_that_programs_are_asked_about(
    fleet: Fleet,
) -> None:
    await waiting_for_a_third(fleet, "same", "unsure")
    await opened_pair(
        fleet,
        Lesson("basher", "Rotate logs", "other"),
        Lesson("sark", "Turn the logs over", "other"),
    )
    assert (await waits(fleet))[0] == {"third": 1, "programs": 1}
