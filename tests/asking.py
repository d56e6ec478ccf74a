"""Fleets in which programs are asked about pairs, and answer in the sessions that they leave."""

from collections.abc import Sequence

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import ToJudge
from fleet_memory.tools.session import SessionAnswer, commit_session
from tests.fleets import NOW, at, show
from tests.lessons import days
from tests.shared import LATE, LOOK, Lesson, opened_pair

LEARNT = NOW - days(1)


def verdict(pair_id: str, said: Verdict = "same") -> NewVerdict:
    return NewVerdict.model_validate({"pairId": pair_id, "verdict": said})


def ids(asked: Sequence[ToJudge] | None) -> list[str]:
    return [one.pair_id for one in asked or ()]


async def booted(fleet: Fleet, program: str, depth: Depth = "standard") -> Sequence[ToJudge]:
    """Return the pairs that a boot asks a program about."""
    return (await gsp_bootstrap(fleet, program, depth)).to_judge or ()


async def left(
    fleet: Fleet, program: str, *verdicts: NewVerdict, request_id: str = "r1"
) -> SessionAnswer:
    """Leave a session with nothing but verdicts."""
    return await commit_session(fleet, program, request_id=request_id, verdicts=verdicts)


async def judged(fleet: Fleet, program: str, pair: Pair, said: Verdict) -> None:
    """Let a program judge a pair that it is shown."""
    await show(fleet, program, pair)
    (outcome,) = await judge(fleet, Judge(program), [verdict(pair.pair_id, said)])
    assert not hasattr(outcome, "error"), outcome


async def current(fleet: Fleet, pair: Pair) -> Pair:
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair is not None
    return versioned.pair


async def voices(fleet: Fleet, pair: Pair) -> list[tuple[str | None, Verdict]]:
    return [(one.program_id, one.verdict) for one in (await current(fleet, pair)).judgements]


async def numbered(fleet: Fleet, count: int, *, ends: str = "") -> list[Pair]:
    """Open pairs of a lesson of basher and one of sark each, the likeliest first."""
    return [
        await opened_pair(
            at(fleet, LEARNT),
            Lesson("basher", f"Own {n}{ends}", f"own-{n}"),
            Lesson("sark", f"Other {n}{ends}", f"other-{n}"),
            margin=1 - n / 100,
        )
        for n in range(count)
    ]


async def contrary(fleet: Fleet, number: int = 0) -> Pair:
    """Open a pair that its two programs judge differently: it needs a third."""
    one, other = (
        Lesson(name, f"{text}{number or ''}", f"c{number}")
        for name, text in (("basher", LOOK), ("sark", LATE))
    )
    pair = await opened_pair(at(fleet, LEARNT), one, other)
    await judged(fleet, "basher", pair, "same")
    await judged(fleet, "sark", pair, "different")
    return await current(fleet, pair)
