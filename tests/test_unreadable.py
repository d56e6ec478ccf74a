"""One document that cannot be read stops nothing: it is skipped and named, and the check finds
it.
"""

import logging

import pytest

from fleet_memory.errors import DocumentRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import MAX_NAMED, check_memory
from fleet_memory.repositories.documents import UnreadableDocument
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.stores import Json, Ref, Write
from tests.lessons import START, pattern, program
from tests.test_entry_documents import KEY, entry
from tests.test_pair_documents import pair

pytestmark = pytest.mark.anyio

BAD: dict[str, Json] = {
    "programId": "bad",
    "patterns": {"k": "no JSON"},
    "stored": True,
    "dirty": True,
    "run": 0,
}


async def damaged(fleet: Fleet, group: str, id_: str, fields: dict[str, Json]) -> Ref:
    ref = Ref(fleet.programs.paths.collection(group), id_)
    await fleet.programs.store.commit(Write(ref, fields))
    return ref


async def put(fleet: Fleet) -> None:
    """Store a program of one lesson, an entry and a pair."""
    await fleet.programs.update("basher", lambda _: ProgramChange(program(pattern())), START)
    (versioned,) = await fleet.pairs.read("1")
    await fleet.programs.store.commit(
        *fleet.knowledge.writes(ABSENT_ENTRY, entry(KEY, "a", "b"), by="x", why="", now=START),
        fleet.pairs.write(versioned, pair("1", "basher", "iso")),
    )


async def test_a_program_that_cannot_be_read_is_skipped_and_named(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    await put(fleet)
    ref = await damaged(fleet, "programs", "bad", BAD)
    with caplog.at_level(logging.WARNING):
        blocks = [block async for block in fleet.programs.in_blocks(1)]
    assert [one.program.program_id for block in blocks for one in block.programs] == ["basher"]
    assert [one for block in blocks for one in block.unreadable] == [
        UnreadableDocument(ref, "ValidationError")
    ]
    assert "skipped: programs/bad cannot be read: ValidationError" in caplog.text
    assert [one.program.program_id for one in await fleet.programs.dirty()] == ["basher"]
    assert [one.program.program_id for one in await fleet.programs.considered_in(0)] == ["basher"]
    assert await fleet.programs.map_latest(lambda known: known.program_id, 9) == ["basher"]
    with pytest.raises(DocumentRejectedError, match="'bad' cannot be read"):
        await fleet.programs.read("bad")


async def test_entries_and_pairs_that_cannot_be_read_are_skipped(fleet: Fleet) -> None:
    await put(fleet)
    await damaged(fleet, "gsp", "bad", {"key": "bad", "state": "fresh", "unpublished": True})
    await damaged(
        fleet,
        "pairs",
        "bad",
        {"state": "open", "askA": "basher", "waits": "programs", "text": "{}"},
    )
    unreadable: list[UnreadableDocument] = []
    assert [one.entry.key for one in await fleet.knowledge.all(unreadable) if one.entry] == [KEY]
    assert [one.ref.id for one in unreadable] == ["bad"]
    assert (
        len(await fleet.knowledge.snapshots.behind())
        == len(await fleet.knowledge.in_state("fresh"))
        == 1
    )
    assert [one.pair_id for one in await fleet.pairs.asked_of("basher")] == ["1"]
    assert [one.pair_id for one in await fleet.pairs.waiting()] == ["1"]


async def test_a_check_reads_every_document_and_names_those_that_it_cannot(fleet: Fleet) -> None:
    await put(fleet)
    store = fleet.programs.store
    sound = await check_memory(store, "default", fleet.embedder)
    assert (sound.healthy, "unreadable" in sound.rows) == (True, False)
    for group in ("programs", "gsp", "pairs", "ledger", "archive", "history"):
        await damaged(fleet, group, "bad", {"programId": "bad"})
    await store.commit(Write(fleet.programs.paths.policy, {"threshold": "many"}))
    report = await check_memory(store, "default", fleet.embedder)
    assert not report.healthy
    assert report.rows["unreadable"] == [
        "programs/bad cannot be read: KeyError",
        "gsp/bad cannot be read: ValidationError",
        "pairs/bad cannot be read: KeyError",
        "ledger/bad cannot be read: ValidationError",
        "archive/bad cannot be read: KeyError",
        "history/bad cannot be read: KeyError",
        "fleets/default cannot be read: ValidationError",
    ]


async def test_a_check_names_the_first_and_counts_the_rest(fleet: Fleet) -> None:
    refs = [Ref(fleet.programs.paths.programs, f"bad-{number:03}") for number in range(60)]
    await fleet.programs.store.commit(*(Write(ref, {"programId": "bad"}) for ref in refs))
    report = await check_memory(fleet.programs.store, "default", fleet.embedder)
    named = report.rows["unreadable"]
    assert isinstance(named, list)
    assert (len(named), report.rows["unreadableCount"]) == (MAX_NAMED, 60)
