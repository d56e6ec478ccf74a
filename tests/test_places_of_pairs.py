"""Programs are asked about few pairs at a time: the pairs that found no place follow as soon as one
is free.
"""

from dataclasses import replace
from typing import Literal

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.proposing import propose
from fleet_memory.jobs.publishing import leased
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.pairs import takes_a_place
from fleet_memory.schemas.pairs import NewVerdict, Pair, PairState, Verdict
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Caller
from fleet_memory.tools.state import forget_memory
from tests.fleets import NOW, at, interrupted, learn, show, writing
from tests.lessons import days

pytestmark = pytest.mark.anyio

TOPICS = [
    "rotate log files",
    "seed random numbers",
    "freeze database schemas",
    "warm image caches",
    "quote shell arguments",
    "close network sockets",
    "sort import statements",
    "mirror package registries",
    "expire session cookies",
    "shard integration suites",
    "sign release tarballs",
    "measure garbage pauses",
    "throttle webhook deliveries",
    "escape template markup",
]


@pytest.fixture(params=["warm", "cold"])
def fleet(fleet: Fleet, request: pytest.FixtureRequest) -> Fleet:
    return at(
        replace(fleet, caller=Caller(), max_programs_read=None if request.param == "warm" else 0),
        NOW,
    )


async def run(fleet: Fleet) -> int:
    """Run once, on another server if this one is to be cold; return how many pairs were opened."""
    fleet = fleet if fleet.max_programs_read is None else replace(fleet, memory=ProposingMemory())
    async with leased(fleet) as writer:
        assert writer is not None
        return (await propose(fleet, writer, Policy(), no_progress)).opened


async def agreements(fleet: Fleet) -> None:
    for number, topic in enumerate(TOPICS):
        await learn(fleet, "basher", f"Always {topic} every day", id_=f"one-{number}")
        await learn(fleet, "sark", f"Remember to {topic} daily", id_=f"one-{number}")


async def open_pairs(fleet: Fleet, program: str = "") -> list[Pair]:
    found = [one for one in await fleet.pairs.all() if one.state == "open"]
    return [
        pair for pair in found if not program or program in (pair.a.program_id, pair.b.program_id)
    ]


async def agreed_topics(fleet: Fleet, state: PairState) -> set[str]:
    """Return the topics of the pairs in this state whose two texts are about one."""
    pairs = [one for one in await fleet.pairs.all() if one.state == state]
    return {
        topic for topic in TOPICS for pair in pairs if topic in pair.a.text and topic in pair.b.text
    }


async def say(fleet: Fleet, pair: Pair, verdict: Verdict, program: str) -> None:
    sent = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})
    await show(fleet, program, pair)
    (judged,) = await judge(fleet, Judge(program), [sent])
    assert not hasattr(judged, "error"), judged


@pytest.mark.parametrize("verdict", ["same", "different"])
async def test_pairs_beyond_the_limit_of_a_program_follow_when_others_close(
    fleet: Fleet, verdict: Literal["same", "different"]
) -> None:
    await agreements(fleet)
    assert await run(fleet) == 12
    for pair in await open_pairs(fleet):
        await say(fleet, pair, verdict, "basher")
        await say(fleet, pair, verdict, "sark")
    assert await agreed_topics(fleet, "open") == set()
    await run(fleet)
    assert await agreed_topics(fleet, "open") | await agreed_topics(fleet, verdict) == set(TOPICS)


async def test_the_next_best_partner_follows_one_that_is_forgotten(fleet: Fleet) -> None:
    await learn(fleet, "sark", "Rotate log files daily")
    for program, topic in zip(("alan", "basher", "clu", "dumont", "iso"), TOPICS[1:], strict=False):
        await learn(fleet, program, f"Rotate log files daily, {topic}")
    await run(fleet)
    asked = await open_pairs(fleet, "sark")
    assert len(asked) == 3
    for pair in asked:
        other = next(side for side in (pair.a, pair.b) if side.program_id != "sark")
        await forget_memory(fleet, other.program_id, other.pattern_id, "It was wrong")
    await run(fleet)
    assert len(await open_pairs(fleet, "sark")) == 2


async def test_pairs_that_ask_nobody_more_are_left_alone(fleet: Fleet) -> None:
    await agreements(fleet)
    await run(fleet)
    first, second, *_ = await open_pairs(fleet)
    for side in (one for one in (first.a, first.b) if one.program_id == "basher"):
        await forget_memory(fleet, "basher", side.pattern_id, "It was wrong")
    for program in ("basher", "sark"):
        await say(fleet, second, "different", program)
    for _ in range(2):
        await run(fleet)
    assert not {first.pair_id, second.pair_id} & {pair.pair_id for pair in await open_pairs(fleet)}
    waiting = await fleet.pairs.waiting()
    assert first.pair_id not in {pair.pair_id for pair in waiting if takes_a_place(pair)}


async def test_a_program_that_never_returns_blocks_its_partners_for_14_days(fleet: Fleet) -> None:
    await agreements(fleet)
    await run(fleet)
    asked = await open_pairs(fleet)
    for pair in asked:
        await say(fleet, pair, "unsure", "basher")
    assert await run(at(fleet, NOW + days(13))) == 0
    assert await run(at(fleet, NOW + days(14))) == len(TOPICS) - len(asked)
    assert await agreed_topics(fleet, "open") == set(TOPICS)
    assert await run(at(fleet, NOW + days(15))) == 0


async def test_an_answer_that_comes_while_a_run_finds_it_overdue_counts(fleet: Fleet) -> None:
    await learn(fleet, "basher", "Always rotate log files every day")
    await learn(fleet, "sark", "Remember to rotate log files daily")
    await run(fleet)
    (pair,) = await open_pairs(fleet)
    await say(fleet, pair, "unsure", "basher")
    late = at(fleet, NOW + days(14))
    await run(interrupted(late, writing("pairs"), lambda: say(late, pair, "same", "sark")))
    await run(late)
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair is not None
    assert [(one.program_id, one.verdict) for one in versioned.pair.judgements] == [
        ("basher", "unsure"),
        ("sark", "same"),
    ]
