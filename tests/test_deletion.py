"""Deleting a program: killed anywhere it can be repeated, lessons learnt meanwhile are kept, and
nothing is lost.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.errors import InvalidArgumentError, RacesLostError, StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.deletion import Deleted, delete_program
from fleet_memory.jobs.proposing import propose
from fleet_memory.jobs.publishing import leased
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.lifecycle.state import with_note
from fleet_memory.rules.pairs import with_judgement
from fleet_memory.schemas.pairs import Judgement, Pair, Verdict
from fleet_memory.schemas.programs import Note, Program
from fleet_memory.stores import ABSENT, Write
from fleet_memory.tools.core.lessons import reinforce_memory
from tests.asking import booted, ids, judged
from tests.fleets import NOW, at, documents, interrupted, writing
from tests.shared import CHECK, KEY, LATE, Lesson, learnt, opened_pair, shared_entry

pytestmark = pytest.mark.anyio

PORT = "Port 8081 is taken"
ROTATE, TURN = "Rotate the log files once a day", "Turn the logs over daily"
DELETED = Deleted("iso", patterns=2, notes=1)


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet in which iso has a note, a lesson of its own, and one in an entry."""
    fleet = at(fleet, NOW)
    await shared_entry(fleet, "basher", "iso")
    await learnt(fleet, "iso", ROTATE, "own")

    def note(program: Program) -> ProgramChange:
        return ProgramChange(with_note(program, Note(id="n1", text=PORT, at=NOW), NOW).program)

    await fleet.programs.update("iso", note, NOW)
    return fleet


async def test_the_discoverer_that_is_left_is_asked_about_an_entry(fleet: Fleet) -> None:
    await learnt(fleet, "sark", CHECK)
    await delete_program(fleet, "basher")
    async with leased(fleet) as writer:
        assert writer is not None
        await propose(fleet, writer, await fleet.policies.read(NOW), no_progress)
    (pair,) = [it for it in await fleet.pairs.waiting() if KEY in (it.a.key, it.b.key)]
    assert {pair.a.program_id, pair.b.program_id} == {"iso", "sark"}


async def test_a_run_under_way_does_not_make_the_document_again(fleet: Fleet) -> None:
    async def deleting(_done: float, _total: float, message: str) -> None:
        if message == "writing pairs":
            await delete_program(fleet, "iso")

    async with leased(fleet) as writer:
        assert writer is not None
        with pytest.raises(RacesLostError):  # the next run reads the whole fleet again
            await propose(fleet, writer, await fleet.policies.read(NOW), deleting)
    (versioned,) = await fleet.programs.read_versioned("iso")
    assert versioned.revision == ABSENT


async def archived(fleet: Fleet) -> list[str]:
    return sorted(str(row["text"]) for row in await list_archive(fleet, "iso"))


async def killed() -> None:
    raise StoreUnavailableError("The connection was cut.")


@pytest.mark.parametrize("survived", range(2))
async def test_a_deletion_that_is_killed_is_finished_by_the_next(
    fleet: Fleet, survived: int
) -> None:
    pair = await opened_pair(fleet, Lesson("iso", ROTATE, "own"), Lesson("sark", TURN))
    commits = itertools.count()

    def is_next(_writes: Sequence[Write]) -> bool:
        return next(commits) == survived

    with pytest.raises(StoreUnavailableError):
        await delete_program(interrupted(fleet, is_next, killed), "iso")
    if (await fleet.programs.read("iso")).exists:
        assert await delete_program(fleet, "iso") == DELETED
    assert not (await fleet.programs.read("iso")).exists
    assert await archived(fleet) == sorted([CHECK, PORT, ROTATE])
    assert await state_of(fleet, pair) == "gone"


async def test_a_lesson_learnt_while_its_program_is_deleted_is_archived_with_the_rest(
    fleet: Fleet,
) -> None:
    meanwhile = interrupted(
        fleet, writing("programs"), lambda: learnt(fleet, "iso", "Learnt late", "late")
    )
    assert await delete_program(meanwhile, "iso") == DELETED._replace(patterns=3)
    assert await archived(fleet) == sorted([CHECK, "Learnt late", PORT, ROTATE])


async def test_a_program_that_goes_on_writing_has_each_lesson_in_the_archive_once(
    fleet: Fleet,
) -> None:
    async def write_on() -> None:
        later = at(fleet, NOW + timedelta(minutes=1))
        await learnt(later, "iso", "Learnt late", "late")
        await reinforce_memory(later, "iso", "own", evidence="seen again")

    await delete_program(interrupted(fleet, writing("programs"), write_on), "iso")
    assert await archived(fleet) == sorted([CHECK, "Learnt late", PORT, ROTATE])


async def test_a_preview_counts_and_writes_nothing(fleet: Fleet) -> None:
    before = await documents(fleet)
    assert await delete_program(fleet, "iso", dry_run=True) == DELETED
    assert await documents(fleet) == before


async def test_a_deleted_program_is_unknown(fleet: Fleet) -> None:
    await delete_program(fleet, "iso")
    with pytest.raises(InvalidArgumentError, match="iso has stored nothing"):
        await delete_program(fleet, "iso")


async def test_other_contributions_and_programs_are_as_they_were(fleet: Fleet) -> None:
    before = await fleet.programs.read("basher")
    await delete_program(fleet, "iso")
    assert await fleet.programs.read("basher") == before
    assert (await fleet.knowledge.found(KEY)).value.contributors == ("basher", "iso")


async def state_of(fleet: Fleet, pair: Pair) -> str:
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    assert versioned.pair is not None
    return versioned.pair.state


async def test_pairs_of_its_lessons_are_no_longer_asked(fleet: Fleet) -> None:
    mine = await opened_pair(fleet, Lesson("iso", ROTATE, "own"), Lesson("sark", TURN))
    others = await opened_pair(fleet, Lesson("ram", LATE), Lesson("sark", "Take free tasks only"))
    await delete_program(fleet, "iso")
    assert [pair.pair_id for pair in await fleet.pairs.asked_of("sark")] == [others.pair_id]
    assert (await state_of(fleet, mine), await state_of(fleet, others)) == ("gone", "open")


@pytest.mark.parametrize("verdict", ["unsure", "same"])
async def test_nor_when_it_has_judged_them_itself(fleet: Fleet, verdict: Verdict) -> None:
    pair = await opened_pair(fleet, Lesson("iso", ROTATE, "own"), Lesson("sark", TURN))
    (before,) = await fleet.pairs.read(pair.pair_id)
    after = with_judgement(pair, Judgement(verdict=verdict, program_id="iso", at=NOW, sides=("a",)))
    await fleet.pairs.store.commit(fleet.pairs.write(before, after))
    assert len(await fleet.pairs.asked_of("sark")) == 1
    await delete_program(fleet, "iso")
    assert await fleet.pairs.asked_of("sark") == []


async def test_nor_is_a_third_program_asked_about_them(fleet: Fleet) -> None:
    pair = await opened_pair(fleet, Lesson("iso", ROTATE, "own"), Lesson("sark", TURN))
    await judged(fleet, "iso", pair, "unsure")
    await judged(fleet, "sark", pair, "same")
    assert ids(await booted(fleet, "basher")) == [pair.pair_id]
    await delete_program(fleet, "iso")
    assert ids(await booted(fleet, "basher")) == []


async def test_a_warm_maintainer_reads_everything_again(fleet: Fleet) -> None:
    before = (await fleet.last_runs.read()).value
    await delete_program(fleet, "iso")
    assert (await fleet.last_runs.read()).value == replace(
        before, epoch=before.epoch + 1, considered=before.considered + 1
    )


async def test_a_lesson_that_is_restored_waits_for_the_maintainer(fleet: Fleet) -> None:
    await delete_program(fleet, "iso")
    assert await restore_archived(fleet, "iso", "own") == {"restored": True, "patternId": "own"}
    assert (await fleet.programs.read("iso")).pending == ("own",)
