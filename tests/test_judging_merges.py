"""Contributions that numbers merged are judged after the migration, also when their lessons are
gone.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.rules.consensus.renewing import EntryText, renewed
from fleet_memory.rules.knowledge.state import doubts, entry_state
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Store
from fleet_memory.stores.sqlite import SqliteStore
from tests.fleets import show
from tests.older import MERGED, SPRING, entries, fleet_of, migrated, unpacked

pytestmark = pytest.mark.anyio

REVIEWS = "pattern/reviews/keep-each-pull-request-under-400"
SPLIT = "A pull request of more than 400 changed lines is not read, so split it"
SMALL = "Keep each pull request under 400 changed lines, or nobody reads it"
PAIR = pair_id(text_hash(SPLIT), text_hash(SMALL))


class ChangedProgram(Value):
    """A program after a change that archives nothing."""

    program: Program
    archived: tuple[Archived, ...] = ()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = SqliteStore(unpacked(MERGED, tmp_path / "memory.db"))
    yield opened
    await opened.close()


@pytest.fixture
async def fleet(store: Store) -> Fleet:
    before = fleet_of(store)
    await migrated(before)
    return fleet_of(store, SPRING + timedelta(hours=1))


async def the_pair(fleet: Fleet) -> Pair:
    (versioned,) = await fleet.pairs.read(PAIR)
    assert versioned.pair is not None
    return versioned.pair


async def judged(fleet: Fleet, program: str | None, verdict: Verdict) -> Entry:
    if program is not None:
        await show(fleet, program, await the_pair(fleet))
    (result,) = await judge(
        fleet, Judge(program), [NewVerdict.model_validate({"pairId": PAIR, "verdict": verdict})]
    )
    assert isinstance(result, Judged)
    return (await entries(fleet))[REVIEWS]


async def forgotten(fleet: Fleet) -> None:
    """Let basher's memory lose the lesson."""

    def without(program: Program) -> ChangedProgram:
        left = {id_: one for id_, one in program.patterns.items() if id_ != "split"}
        return ChangedProgram(program=replace(program, patterns=left))

    await fleet.programs.update("basher", without, fleet.now())


async def test_two_judges_who_call_a_merge_the_same_make_the_entry_fresh(fleet: Fleet) -> None:
    assert doubts(await judged(fleet, "basher", "same")) == ("unjudged",)
    after = await judged(fleet, "sark", "same")
    assert [line.basis for line in after.provenance] == ["judged", "text"]
    assert entry_state(after, SPRING) == "fresh"


async def test_a_judge_who_calls_it_different_takes_the_lesson_out(fleet: Fleet) -> None:
    after = await judged(fleet, "basher", "different")
    assert [line.program_id for line in after.provenance] == ["sark"]
    assert entry_state(after, SPRING) == "candidate"
    assert (await fleet.programs.read("basher")).patterns["split"].knowledge_key is None


async def test_a_contribution_is_judged_after_its_lesson_is_gone(fleet: Fleet) -> None:
    await forgotten(fleet)
    after = await judged(fleet, "sark", "different")
    assert [line.program_id for line in after.provenance] == ["sark"]


async def test_people_judge_a_contribution_of_a_deleted_program(fleet: Fleet) -> None:
    (versioned,) = await fleet.pairs.read(PAIR)
    assert versioned.pair is not None
    unnamed = replace(versioned.pair, a=replace(versioned.pair.a, program_id=""))
    await fleet.pairs.store.commit(fleet.pairs.write(versioned, unnamed))
    await forgotten(fleet)
    after = await judged(fleet, None, "different")
    assert [line.program_id for line in after.provenance] == ["sark"]


async def test_an_open_pair_about_a_contribution_goes_on_without_its_lesson(fleet: Fleet) -> None:
    pair = await the_pair(fleet)
    text = EntryText(text_hash(SMALL), SMALL, "reviews", "sark")
    assert renewed(pair, lambda *_: None, {REVIEWS: text}) is pair
    assert _renewed_state(pair, text._replace(words=text_hash("Other words"))) == "gone"


def _renewed_state(pair: Pair, text: EntryText) -> str:
    return renewed(pair, lambda *_: None, {REVIEWS: text}).state
