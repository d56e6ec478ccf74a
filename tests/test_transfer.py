"""A memory moves between stores through a file: equal, whole or not at all, and over nothing that is newer."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.transfer.exporting import export_fleet
from fleet_memory.jobs.transfer.importing import DOCUMENTS_PER_READ, Imported, import_fleet
from fleet_memory.stores import Ref
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.commit_session import commit_session
from fleet_memory.tools.forget_memory import forget_memory
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.write_note import write_note
from tests.fleets import FLEET, NOW, at, documents, learn, on

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
Break = Callable[[list[str]], list[str]]


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet with an entry, notes, a lesson in the archive, and a question that memory could not answer."""
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


async def export(fleet: Fleet, file: Path, *, force: bool = False) -> int:
    return await export_fleet(fleet.knowledge.store, FLEET, file, NOW, force=force, step=uncounted)


async def bring(fleet: Fleet, file: Path, *, overwrite: bool = False) -> Imported:
    return await import_fleet(fleet.knowledge.store, FLEET, file, overwrite=overwrite, step=uncounted)


def uncounted(_done: int, _total: int) -> None:
    """Count nothing."""


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def sealed(document: dict[str, object]) -> list[str]:
    """Return the lines of a file with one document, with a footer that matches it."""
    text = json.dumps(document)
    footer = {"documents": 1, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return [json.dumps({"format": "fleet-memory/1"}), text, json.dumps(footer)]


async def test_a_memory_moves_out_and_in_and_out_again_equal(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    count = await export(fleet, first)
    assert await bring(laptop, first) == Imported(FLEET, written=count, unchanged=0, skipped=[])
    assert await export(laptop, second) == count
    assert lines(first) == lines(second)
    assert [entry.pattern for entry in (await gsp_bootstrap(laptop, "newcomer")).knowledge] == [CLAIM]


async def test_importing_again_writes_nothing(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    count = await export(fleet, file)
    await bring(laptop, file)
    before = await documents(laptop)
    assert await bring(laptop, file) == Imported(FLEET, written=0, unchanged=count, skipped=[])
    assert await documents(laptop) == before


async def test_what_the_store_learnt_since_is_skipped_unless_overwritten(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    count = await export(fleet, file)
    await learn(at(fleet, NOW + timedelta(days=1)), "basher", "Learnt later", id_="later")
    assert await bring(fleet, file) == Imported(FLEET, 0, count - 1, ["programs/basher"])
    assert "later" in (await fleet.programs.read("basher")).patterns
    assert await bring(fleet, file, overwrite=True) == Imported(FLEET, 1, count - 1, [])
    assert "later" not in (await fleet.programs.read("basher")).patterns


async def test_what_the_file_has_newer_replaces_what_the_store_has(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    await export(fleet, old)
    await learn(at(fleet, NOW + timedelta(days=1)), "basher", "Learnt later", id_="later")
    await export(fleet, new)
    await bring(laptop, old)
    assert (await bring(laptop, new)).skipped == []
    assert "later" in (await laptop.programs.read("basher")).patterns


async def test_the_next_consolidation_compares_what_was_imported(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    rebase = "Rebase your branch before you push it"
    await learn(laptop, "quorra", rebase)
    await pattern_consolidate(laptop, no_progress)
    await learn(fleet, "clu", rebase)
    await pattern_consolidate(fleet, no_progress)
    await export(fleet, tmp_path / "memory.jsonl")
    await bring(laptop, tmp_path / "memory.jsonl")
    promoted = (await pattern_consolidate(laptop, no_progress)).promoted
    assert [entry.contributors for entry in promoted] == [("clu", "quorra")]


async def test_a_large_memory_moves_in_blocks(fleet: Fleet, laptop: Fleet, tmp_path: Path) -> None:
    for number in range(DOCUMENTS_PER_READ):
        await learn(fleet, f"program-{number}", f"Lesson {number}")
    count = await export(fleet, tmp_path / "memory.jsonl")
    steps: list[tuple[int, int]] = []
    store = laptop.knowledge.store
    await import_fleet(
        store,
        FLEET,
        tmp_path / "memory.jsonl",
        overwrite=False,
        step=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(DOCUMENTS_PER_READ, count), (count, count)]
    assert len(await laptop.programs.all()) == DOCUMENTS_PER_READ + 3


async def test_a_file_that_exists_is_replaced_by_force_only(fleet: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=r"FILE: memory\.jsonl exists"):
        await export(fleet, file)
    assert file.read_text(encoding="utf-8") == "mine"
    assert await export(fleet, file, force=True) == len(lines(file)) - 2


async def test_a_folder_that_is_not_there_is_said(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="FILE: cannot be written: No such file"):
        await export(fleet, tmp_path / "nowhere" / "memory.jsonl")


BROKEN: dict[str, tuple[Break, str]] = {
    "without its footer": (lambda text: text[:-1], "the last line does not match the others"),
    "without a document": (lambda text: [*text[:2], *text[3:]], "the last line does not match the others"),
    "with a changed document": (
        lambda text: [text[0], text[1].replace("claim", "grab"), *text[2:]],
        "the last line does not match the others",
    ),
    "without its header": (lambda text: text[1:], "line 1: not a file of"),
    "of something else": (lambda _: ['"text"'], "line 1: not a JSON object"),
    "of no JSON": (lambda text: ["{", *text[1:]], "line 1: not JSON"),
    "of an unknown collection": (
        lambda _: sealed({"collection": "leases", "id": "x", "fields": {}}),
        "line 2: must have a collection",
    ),
    "without fields": (lambda _: sealed({"collection": "gsp", "id": "x"}), "line 2: must have a collection"),
    "of a program under another's id": (
        lambda _: sealed({"collection": "programs", "id": "sark", "fields": {"programId": "basher"}}),
        "line 2: the programs document sark is not sound",
    ),
    "of a broken entry": (
        lambda _: sealed({"collection": "gsp", "id": "x", "fields": {"key": "x"}}),
        "line 2: the gsp document x is not sound",
    ),
}


@pytest.mark.parametrize(("broken", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_file_writes_nothing_and_the_line_is_named(
    fleet: Fleet, laptop: Fleet, tmp_path: Path, broken: Break, said: str
) -> None:
    file = tmp_path / "memory.jsonl"
    await export(fleet, file)
    file.write_text("\n".join(broken(lines(file))) + "\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=said):
        await bring(laptop, file)
    assert await documents(laptop) == []


async def test_a_file_that_is_no_text_is_refused(laptop: Fleet, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgumentError, match=r"FILE: memory\.jsonl cannot be read as UTF-8 text"):
        await bring(laptop, file)


async def test_an_older_document_loses_the_fields_that_the_newer_one_lacks(
    fleet: Fleet, laptop: Fleet, tmp_path: Path
) -> None:
    await export(fleet, tmp_path / "memory.jsonl")
    await bring(laptop, tmp_path / "memory.jsonl")
    await learn(laptop, "iso", "Learnt at the laptop", id_="of-the-laptop")
    await bring(laptop, tmp_path / "memory.jsonl", overwrite=True)
    for each in (fleet, laptop):
        (document,) = await each.knowledge.store.get(Ref(f"fleets/{FLEET}/programs", "iso"))
        assert document is not None
        assert "of-the-laptop" not in str(document.fields)
    assert await documents_that_move(fleet) == await documents_that_move(laptop)


async def documents_that_move(fleet: Fleet) -> list[tuple[Ref, object]]:
    left_behind = (fleet.knowledge.paths.last_run, fleet.knowledge.paths.sums)
    return [(one.ref, one.fields) for one in await documents(fleet) if one.ref not in left_behind]
