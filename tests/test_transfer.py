"""A memory moves between stores through a file: whole or not at all, and over nothing that is
there.
"""

import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.errors import DocumentRejectedError, InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.restoration import restore_archived
from fleet_memory.jobs.transfer.merging import Merged
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.stores import Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.session import commit_session
from fleet_memory.tools.state import forget_memory, write_note
from tests.fleets import FLEET, NOW, at, documents, learn, on
from tests.lessons import pattern
from tests.lessons import program as program_of
from tests.moving import bring, export_to, known_to_agents

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
PARTS = 6  # programs, entries, lines of the ledger and of the archive in the fleet below
Break = Callable[[list[str]], list[str]]


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet with an entry, notes, a lesson in the archive, and a question that memory could not
    answer.
    """
    fleet = at(fleet, NOW)
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", "A line\u2028and another", id_="gone")
    await write_note(fleet, "iso", "Port 8081 is taken")
    await forget_memory(fleet, "iso", "gone", "no")
    await commit_session(fleet, "iso", missing=("Which port does the proxy use?",))
    await pattern_consolidate(fleet, no_progress)
    return fleet


@pytest.fixture
async def laptop(tmp_path: Path, fleet: Fleet) -> AsyncIterator[Fleet]:
    """The same fleet's name on a store of its own, where nothing is."""
    store = SqliteStore(tmp_path / "laptop.db")
    yield on(fleet, store)
    await store.close()


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.parametrize("here", [0.9, 0.1])
async def test_the_weakest_of_two_full_memories_leave_wherever_they_are(
    laptop: Fleet, fleet: Fleet, tmp_path: Path, here: float
) -> None:
    for memory, confidence in ((fleet, round(1 - here, 1)), (laptop, here)):
        texts = [f"Lesson {n} of {confidence}" for n in range(300)]
        lessons = [pattern(text, id=text, confidence=confidence) for text in texts]
        (before,) = await memory.programs.read_versioned("gem")
        await commit_settled(
            memory.store, *memory.programs.writes(before, program_of(*lessons, program_id="gem"))
        )
    await export_to(fleet, tmp_path / "file.jsonl")
    merged = await bring(laptop, tmp_path / "file.jsonl")
    assert len(merged.archived) == 100
    assert all(name.endswith("of 0.1") for name in merged.archived)


async def test_a_memory_moves_out_and_in_and_is_the_same_for_agents(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    count = await export_to(fleet, first)
    assert await bring(laptop, first) == Merged(FLEET, FLEET, written=PARTS)
    assert await export_to(laptop, second) == count
    assert without_programs(first) == without_programs(second)
    for program in ("basher", "sark", "iso"):
        theirs, mine = (
            await fleet.programs.read(program),
            await laptop.programs.read(program),
        )
        assert known_to_agents(mine) == known_to_agents(theirs)
        assert (mine.shown, mine.asked, mine.request_ids) == (
            theirs.shown,
            theirs.asked,
            theirs.request_ids,
        )
        assert mine.pending == tuple(mine.patterns)
        assert mine.read_version == 0
    assert [entry.pattern for entry in (await gsp_bootstrap(laptop, "newcomer")).knowledge] == [
        CLAIM
    ]


def without_programs(file: Path) -> list[str]:
    """Return the documents of a file but the programs, whose marks belong to their store."""
    return [line for line in lines(file)[1:-1] if json.loads(line)["collection"] != "programs"]


async def test_importing_again_writes_nothing(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    await export_to(fleet, file)
    await bring(laptop, file)
    before = await documents(laptop)
    assert await bring(laptop, file) == Merged(FLEET, FLEET, written=0)
    assert await documents(laptop) == before
    own = await documents(fleet)
    assert (await bring(fleet, file, overwrite=True)).written == 0
    assert await documents(fleet) == own


async def test_an_older_file_takes_nothing_from_a_store_that_learnt_since(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = tmp_path / "memory.jsonl"
    await export_to(fleet, file)
    later = at(fleet, NOW + timedelta(days=1))
    await learn(later, "basher", "Learnt later", id_="later")
    before = await later.programs.read("basher")
    for overwrite in (False, True):
        assert await bring(later, file, overwrite=overwrite) == Merged(FLEET, FLEET, 0)
        assert await later.programs.read("basher") == before


async def test_a_lesson_that_people_restored_stays_when_a_copy_that_forgot_it_comes_in(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    await learn(fleet, "iso", "Close the valve before the pump starts", id_="valve")
    await forget_memory(fleet, "iso", "valve", "it was wrong")
    await export_to(fleet, tmp_path / "there.jsonl")
    await bring(laptop, tmp_path / "there.jsonl")
    await restore_archived(at(fleet, NOW + timedelta(hours=1)), "iso", "valve")
    await export_to(laptop, tmp_path / "back.jsonl")
    merged = await bring(at(fleet, NOW + timedelta(hours=2)), tmp_path / "back.jsonl")
    assert merged.left == ()
    assert "valve" in (await fleet.programs.read("iso")).patterns


async def test_a_newer_file_brings_the_lessons_learnt_since(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    await export_to(fleet, old)
    later = at(fleet, NOW + timedelta(days=1))
    await learn(later, "basher", "Learnt later", id_="later")
    await export_to(later, new)
    laptop = at(laptop, NOW + timedelta(days=1))
    await bring(laptop, old)
    assert await bring(laptop, new) == Merged(FLEET, FLEET, 1)
    assert "later" in (await laptop.programs.read("basher")).patterns


async def test_the_next_consolidation_compares_imported_lessons(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    rebase = "Rebase your branch before you push it"
    await learn(laptop, "quorra", rebase)
    await pattern_consolidate(laptop, no_progress)
    await learn(fleet, "clu", rebase)
    await pattern_consolidate(fleet, no_progress)
    await export_to(fleet, tmp_path / "memory.jsonl")
    await bring(laptop, tmp_path / "memory.jsonl")
    promoted = (await pattern_consolidate(laptop, no_progress)).promoted
    assert [entry.contributors for entry in promoted] == [("clu", "quorra")]


async def test_a_memory_of_many_programs_moves(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    for number in range(50):
        await learn(fleet, f"program-{number}", f"Lesson {number}")
    await export_to(fleet, tmp_path / "memory.jsonl")
    assert (await bring(laptop, tmp_path / "memory.jsonl")).written == PARTS + 50
    assert len(await laptop.programs.all()) == 53


async def test_a_file_that_exists_is_replaced_by_force_only(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=r"FILE: memory\.jsonl exists"):
        await export_to(fleet, file)
    assert file.read_text(encoding="utf-8") == "mine"
    assert await export_to(fleet, file, force=True) == len(lines(file)) - 2


BROKEN: dict[str, tuple[Break, str]] = {
    "without its footer": (lambda text: text[:-1], "the last line does not match the others"),
    "without a document": (
        lambda text: [*text[:2], *text[3:]],
        "the last line does not match the others",
    ),
    "with a changed document": (
        lambda text: [text[0], text[1].replace("claim", "grab"), *text[2:]],
        "the last line does not match the others",
    ),
    "without its header": (lambda text: text[1:], "line 1: not a file of"),
    "of something else": (lambda _: ['"text"'], "line 1: not a JSON object"),
    "of no JSON": (lambda text: ["{", *text[1:]], "line 1: not JSON"),
}


@pytest.mark.parametrize(("broken", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_file_writes_nothing_and_the_line_is_named(
    fleet: Fleet, laptop: Fleet, tmp_path: Path, broken: Break, said: str
) -> None:
    file = tmp_path / "memory.jsonl"
    await export_to(fleet, file)
    file.write_text("\n".join(broken(lines(file))) + "\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=said):
        await bring(laptop, file)
    assert await documents(laptop) == []


async def test_a_document_here_that_cannot_be_read_is_named_and_nothing_is_written(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    await export_to(fleet, file := tmp_path / "memory.jsonl")
    await laptop.store.commit(Write(laptop.paths.program("broken"), {"patterns": 1}))
    before = await documents(laptop)
    with pytest.raises(DocumentRejectedError, match="broken"):
        await bring(laptop, file)
    assert await documents(laptop) == before
