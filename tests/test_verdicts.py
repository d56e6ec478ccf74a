"""A reader's verdict about a pair that numbers cannot decide: what it does, and what it may not."""

from dataclasses import replace

import pytest
from fleet_memory.jobs.consolidation import ConsolidationReport
from fleet_memory.jobs.consolidation.runs import consolidate, rehearse_consolidation
from fleet_memory.jobs.consolidation.scene import RunScope
from fleet_memory.schemas.verdicts import NewVerdict
from fleet_memory.schemas.waiting import OpenPair

from fleet_memory.errors import ConflictError, ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.fenced_writer import CONSOLIDATION_LEASE
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from tests.fleets import NOW, at, documents, learn, lease_to_another

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
FREE = "Make sure a task is free before claiming it"
FREED = "Claim a task only while it is free"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


async def consolidated(fleet: Fleet, *verdicts: NewVerdict) -> ConsolidationReport:
    return await consolidate(fleet, RunScope(2, fleet.now()), no_progress, verdicts)


def judged(pair_id: str, *, same: bool, reason: str = "") -> NewVerdict:
    return NewVerdict.model_validate({"pairId": pair_id, "same": same, "reason": reason})


async def waiting_pair(fleet: Fleet) -> OpenPair:
    await learn(fleet, "basher", CLAIM)
    await learn(fleet, "sark", FREE)
    (pair,) = (await consolidated(fleet)).pairs
    return pair


async def verdicts_of(fleet: Fleet, program: str) -> dict[str, Verdict]:
    return dict((await fleet.programs.read(program)).patterns["mine"].verdicts)


async def test_a_pair_that_was_judged_the_same_becomes_knowledge(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    report = await consolidated(fleet, judged(pair.pair_id, same=True, reason="both ask for the status"))
    assert [entry.value.contributors for entry, _ in report.promoted] == [("basher", "sark")]
    assert (report.pairs, report.waiting) == ([], 0)
    verdict = Verdict(same=True, judge="unbound", at=NOW, reason="both ask for the status")
    assert await verdicts_of(fleet, "basher") == {text_hash(FREE): verdict}
    assert await verdicts_of(fleet, "sark") == {text_hash(CLAIM): verdict}


async def test_a_pair_that_was_judged_different_is_never_offered_again(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    report = await consolidated(fleet, judged(pair.pair_id, same=False))
    assert (report.promoted, report.pairs, report.waiting) == ([], [], 2)
    again = await consolidate(fleet, RunScope(2, NOW, rebuild=True), no_progress)
    assert (again.promoted, again.pairs) == ([], [])


async def test_the_verdict_of_a_contributor_is_recorded_as_one(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    judge = replace(fleet, caller=Caller("sark", "auditor"))
    await consolidated(judge, judged(pair.pair_id, same=False))
    verdict = Verdict(same=False, judge="sark", at=NOW, contributed=True)
    assert await verdicts_of(fleet, "basher") == {text_hash(FREE): verdict}


async def test_a_pair_may_be_judged_that_only_a_rehearsal_offered(fleet: Fleet) -> None:
    await learn(fleet, "basher", CLAIM)
    await learn(fleet, "sark", FREE)
    (pair,) = (await rehearse_consolidation(fleet, RunScope(2, NOW), no_progress)).pairs
    assert len((await consolidated(fleet, judged(pair.pair_id, same=True))).promoted) == 1


async def test_a_lesson_that_was_judged_the_same_as_an_entry_supports_it(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    ((entry, _),) = (await consolidated(fleet, judged(pair.pair_id, same=True))).promoted
    await learn(fleet, "iso", FREED)
    (offered,) = (await consolidated(fleet)).pairs
    report = await consolidated(fleet, judged(offered.pair_id, same=True))
    assert report.updated[entry.key][0].value.contributors == ("basher", "iso", "sark")
    assert list(await verdicts_of(fleet, "iso")) == [text_hash(entry.value.pattern)]


async def test_a_verdict_that_is_sent_twice_changes_nothing_the_second_time(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    verdict = judged(pair.pair_id, same=True)
    await consolidated(fleet, verdict)
    before = (await fleet.programs.read("basher"), await fleet.knowledge.snapshots.read())
    report = await consolidated(fleet, verdict)
    assert (report.promoted, report.updated) == ([], {})
    assert (await fleet.programs.read("basher"), await fleet.knowledge.snapshots.read()) == before


async def test_the_contrary_of_a_verdict_about_a_pair_that_waits_no_more_is_refused(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    await consolidated(fleet, judged(pair.pair_id, same=True))
    with pytest.raises(InvalidArgumentError, match=r"verdicts\.0\.pairId: no pair"):
        await consolidated(fleet, judged(pair.pair_id, same=False))


async def test_an_unknown_pair_is_named_by_its_place_and_no_verdict_of_the_call_is_recorded(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=r"verdicts\.1\.pairId: no pair 'x' is waiting"):
        await consolidated(fleet, judged(pair.pair_id, same=True), judged("x", same=True))
    assert await documents(fleet) == before


async def test_while_another_run_has_the_lease_nothing_is_written(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    await lease_to_another(fleet, CONSOLIDATION_LEASE)
    before = await documents(fleet)
    with pytest.raises(ConflictError, match="Another consolidation is running"):
        await consolidated(fleet, judged(pair.pair_id, same=True))
    assert await documents(fleet) == before


async def test_agents_that_see_no_other_texts_judge_nothing_and_a_rehearsal_takes_no_verdicts(fleet: Fleet) -> None:
    pair = await waiting_pair(fleet)
    verdicts = (judged(pair.pair_id, same=True),)
    agent = replace(fleet, caller=Caller("basher"))
    with pytest.raises(ForbiddenError, match="cannot judge pairs"):
        await pattern_consolidate(agent, no_progress, verdicts=verdicts)
    with pytest.raises(InvalidArgumentError, match="cannot be tried in a dry run"):
        await pattern_consolidate(fleet, no_progress, verdicts=verdicts, dry_run=True)
    assert (await pattern_consolidate(agent, no_progress)).review == ()
    assert len((await pattern_consolidate(fleet, no_progress)).review) == 1
