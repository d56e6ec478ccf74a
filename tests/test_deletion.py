"""Deleting a program: killed anywhere it can be repeated, what it learns meanwhile is kept, and nothing is lost."""

import itertools
from collections.abc import Sequence

import pytest

from fleet_memory.errors import ConflictError, InvalidArgumentError, StoreUnavailableError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.deletion import Deleted, delete_program, preview_deletion
from fleet_memory.jobs.fenced_writer import CONSOLIDATION_LEASE
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.stores import Write
from fleet_memory.tools.add_note import add_note
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from tests.fleets import NOW, at, documents, interrupted, learn, lease_to_another, writing

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
ROTATE = "Rotate the log files once a day"
KEY = knowledge_key("tasks", CLAIM)
DELETED = Deleted("iso", patterns=2, notes=1, entries=(KEY,))


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet in which iso has a note, a lesson of its own, and one in an entry."""
    fleet = at(fleet, NOW)
    for program in ("iso", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", ROTATE, id_="own", domain="logs")
    await add_note(fleet, "iso", "Port 8081 is taken")
    await pattern_consolidate(fleet, no_progress)
    return fleet


async def archived(fleet: Fleet) -> list[str]:
    return sorted(str(row["text"]) for row in await list_archive(fleet, "iso"))


async def deleted_contributors(fleet: Fleet) -> list[str]:
    entry = await fleet.knowledge.found(KEY)
    return [line.program_id for line in entry.provenance if line.program_deleted]


async def killed() -> None:
    raise StoreUnavailableError("The connection was cut.")


@pytest.mark.parametrize("survived", range(5))
async def test_a_deletion_that_is_killed_is_finished_by_the_next(fleet: Fleet, survived: int) -> None:
    commits = itertools.count()

    def is_next(_writes: Sequence[Write]) -> bool:
        return next(commits) == survived

    with pytest.raises(StoreUnavailableError):
        await delete_program(interrupted(fleet, is_next, killed), "iso")
    if (await fleet.programs.read("iso")).exists:
        later = at(fleet, NOW.replace(hour=23))  # when the lease of the killed run has ended
        assert await delete_program(later, "iso") == DELETED
    assert not (await fleet.programs.read("iso")).exists
    assert await archived(fleet) == [CLAIM, "Port 8081 is taken", ROTATE]
    assert await deleted_contributors(fleet) == ["iso"]


async def test_what_a_program_learns_while_it_is_deleted_is_archived_with_the_rest(fleet: Fleet) -> None:
    meanwhile = interrupted(fleet, writing("programs"), lambda: learn(fleet, "iso", "Learnt late", id_="late"))
    assert await delete_program(meanwhile, "iso") == DELETED._replace(patterns=3)
    assert await archived(fleet) == [CLAIM, "Learnt late", "Port 8081 is taken", ROTATE]


async def test_a_preview_counts_and_writes_nothing(fleet: Fleet) -> None:
    before = await documents(fleet)
    assert await preview_deletion(fleet, "iso") == DELETED
    assert await documents(fleet) == before


async def test_while_a_consolidation_runs_nothing_is_deleted(fleet: Fleet) -> None:
    await lease_to_another(fleet, CONSOLIDATION_LEASE)
    before = await documents(fleet)
    with pytest.raises(ConflictError, match="Another change of this fleet's shared knowledge is running"):
        await delete_program(fleet, "iso")
    assert await documents(fleet) == before


async def test_a_deleted_program_is_unknown(fleet: Fleet) -> None:
    await delete_program(fleet, "iso")
    with pytest.raises(InvalidArgumentError, match="nothing was ever stored for 'iso'"):
        await delete_program(fleet, "iso")


async def test_other_contributions_and_programs_are_as_they_were(fleet: Fleet) -> None:
    before = await fleet.programs.read("sark")
    await delete_program(fleet, "iso")
    assert await fleet.programs.read("sark") == before
    assert (await fleet.knowledge.found(KEY)).value.contributors == ("iso", "sark")
