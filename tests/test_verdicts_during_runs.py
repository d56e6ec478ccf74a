"""Verdicts that are given while a maintainer's run is under way: none is lost, and the run goes on
at once.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.proposing import ProposalReport, propose
from fleet_memory.jobs.publishing import leased
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from tests.fleets import NOW, at, show
from tests.shared import CHECK, FREE, LOOK, Lesson, opened_pair

pytestmark = pytest.mark.anyio

LATER = NOW + timedelta(hours=1)
COMPARING, WRITING = 2, 3  # the steps of a run


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def judged(fleet: Fleet, program: str, pair: Pair, verdict: Verdict) -> Judged:
    given = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})
    await show(fleet, program, pair)
    (result,) = await judge(at(fleet, LATER), Judge(program), [given])
    assert isinstance(result, Judged)
    return result


async def run_with(
    fleet: Fleet, step: int, meanwhile: Callable[[], Awaitable[object]]
) -> ProposalReport:
    """Run once; `meanwhile` happens as this step begins."""

    async def progress(done: float, _total: float, _message: str) -> None:
        if done == step:
            await meanwhile()

    async with leased(fleet) as writer:
        assert writer is not None
        return await propose(fleet, writer, await fleet.policies.read(fleet.now()), progress)


async def two_pairs_of_a_lesson(fleet: Fleet) -> tuple[Entry, Pair]:
    """Let basher's lesson be in two pairs, the first judged the same; return the entry and the
    other.
    """
    first = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("iso", CHECK))
    other = await opened_pair(fleet, Lesson("basher", LOOK), Lesson("sark", FREE))
    await judged(fleet, "iso", first, "same")
    change = (await judged(fleet, "basher", first, "same")).change
    assert change is not None
    return change.entry, other


@pytest.mark.parametrize("verdict", ["different", "unsure"])
@pytest.mark.parametrize("step", [COMPARING, WRITING])
async def test_a_verdict_about_a_pair_that_the_run_renews_is_kept_in_the_pair_that_goes_on(
    fleet: Fleet, step: int, verdict: Verdict
) -> None:
    entry, pair = await two_pairs_of_a_lesson(fleet)
    report = await run_with(fleet, step, lambda: judged(fleet, "sark", pair, verdict))
    assert report.skipped == []
    (after,) = await fleet.pairs.read(pair.pair_id)
    assert after.pair is not None
    assert [(one.program_id, one.verdict) for one in after.pair.judgements] == [("sark", verdict)]
    assert (after.pair.state, {after.pair.a.key, after.pair.b.key}) == ("open", {entry.key, None})
    assert await fleet.programs.count_pending() == 0


async def test_a_verdict_that_joins_a_lesson_while_a_run_stamps_it_is_considered_by_the_next(
    fleet: Fleet,
) -> None:
    entry, pair = await two_pairs_of_a_lesson(fleet)

    async def both_say_same() -> None:
        for program in ("sark", "basher"):
            await judged(fleet, program, pair, "same")

    await run_with(fleet, WRITING, both_say_same)
    assert await fleet.programs.count_pending() > 0
    await run_with(fleet, COMPARING, lambda: no_progress(0, 0, ""))
    assert await fleet.programs.count_pending() == 0
    members = (await fleet.knowledge.found(entry.key)).provenance
    assert [line.program_id for line in members] == ["basher", "iso", "sark"]
