"""Entries as documents: each change one commit with its ledger line, and entries of the version
before are read.
"""

from dataclasses import replace

import pytest

from fleet_memory.errors import KnowledgeNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.records import MAX_LINES_OF_ENTRY
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, VersionedEntry
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryValue, LedgerLine
from fleet_memory.stores import Query, Write
from tests.entries import published_at, retired_at
from tests.lessons import START, days

pytestmark = pytest.mark.anyio

KEY = "pattern/ci/pin"
NOW = START + days(1)


def contribution(program_id: str, text: str = "Pin it") -> Contribution:
    return Contribution(
        program_id=program_id,
        pattern_id="p1",
        pattern=text,
        confidence=0.8,
        evidence=f"{program_id} saw it fail twice",
        discovered_at=START,
        stored_at=START,
        similarity=1.0,
        basis="text",
    )


def entry(key: str = KEY, *programs: str, version: int = 1) -> Entry:
    value = EntryValue(
        pattern="Pin it",
        domain="ci",
        confidence=0.8,
        contributors=programs,
        evidence_count=len(programs),
        first_discovered=START,
        last_promoted=START,
    )
    return Entry(
        key=key,
        value=value,
        provenance=tuple(map(contribution, programs)),
        publications=published_at(START) if len(programs) > 1 else (),
        last_confirmed=START,
        version=version,
    )


async def write(fleet: Fleet, before: VersionedEntry, after: Entry) -> VersionedEntry:
    writes = fleet.knowledge.writes(before, after, by="sark", why="seen", now=NOW)
    await fleet.knowledge.store.commit(*writes)
    return (await fleet.knowledge.read_versioned(after.key))[0]


def retired(known: Entry) -> Entry:
    return replace(known, decisions=retired_at(NOW), version=known.version + 1)


async def test_a_change_of_state_has_a_line_that_the_entry_names(fleet: Fleet) -> None:
    promoted = await write(fleet, ABSENT_ENTRY, entry(KEY, "basher", "iso"))
    assert promoted.entry is not None
    (before,) = await fleet.knowledge.read_versioned(KEY)
    writes = fleet.knowledge.writes(
        before, retired(promoted.entry), by="sark", why="wrong", now=NOW
    )
    await fleet.knowledge.store.commit(*writes)
    after = await fleet.knowledge.found(KEY)
    assert (after.ledger[0], len(after.ledger)) == (promoted.entry.ledger[0], 2)
    said = LedgerLine(event="retired", key=KEY, at=NOW, by="sark", why="wrong")
    joined = replace(said, event="promoted", why="seen", patterns=("basher/p1", "iso/p1"))
    assert await fleet.knowledge.ledger.newest(after, 5) == [joined, said]
    assert [one.event for one in await fleet.knowledge.ledger.newest(after, 1)] == ["retired"]


async def test_a_change_of_wording_alone_has_no_ledger_line_unless_it_is_named(
    fleet: Fleet,
) -> None:
    known = await write(fleet, ABSENT_ENTRY, entry())
    assert known.entry == entry()
    after = replace(entry(), description="Reworded")
    assert len(fleet.knowledge.writes(known, after, by="x", why="", now=NOW)) == 1
    named = fleet.knowledge.writes(known, after, by="x", why="", now=NOW, event="reworded")
    assert [one.ref.collection.rsplit("/", 1)[-1] for one in named] == ["gsp", "ledger"]


async def test_an_entry_that_begins_again_at_an_earlier_version_is_written_all_the_same(
    fleet: Fleet,
) -> None:
    published = entry(KEY, "basher", "iso")
    first = await write(fleet, ABSENT_ENTRY, published)
    assert first.entry is not None
    await write(fleet, first, retired(first.entry))
    ref = fleet.knowledge.paths.entry(KEY)
    await fleet.knowledge.store.commit(Write(ref, None))  # a backup of the first version comes back
    back = await write(fleet, ABSENT_ENTRY, published)
    assert back.entry is not None
    again = await write(fleet, back, retired(back.entry))
    assert again.entry is not None
    query = Query(fleet.paths.ledger, {"event": "retired"})
    assert len(await fleet.store.find(query)) == 2
    assert [one.event for one in await fleet.knowledge.ledger.newest(again.entry, 9)] == [
        "promoted",
        "retired",
    ]


async def test_an_entry_names_its_newest_20_lines(fleet: Fleet) -> None:
    known = await write(fleet, ABSENT_ENTRY, entry(KEY, "basher", "iso"))
    for _ in range(MAX_LINES_OF_ENTRY):
        assert known.entry is not None
        turned = replace(known.entry, decisions=() if known.entry.retired_at else retired_at(NOW))
        known = await write(fleet, known, turned)
    assert known.entry is not None
    lines = await fleet.knowledge.ledger.newest(known.entry, 99)
    assert [line.event for line in lines] == ["retired", "reinstated"] * (MAX_LINES_OF_ENTRY // 2)


async def test_a_field_that_an_entry_no_longer_has_leaves_its_document(fleet: Fleet) -> None:
    known = await write(
        fleet,
        ABSENT_ENTRY,
        replace(entry(KEY, "basher", "iso"), decisions=retired_at(NOW), project_id="web"),
    )
    assert known.entry is not None
    free = replace(known.entry, decisions=(), project_id=None)
    after = (await write(fleet, known, free)).entry
    assert after == replace(free, ledger=after.ledger if after else ())


async def test_candidates_are_found_by_their_state(fleet: Fleet) -> None:
    await write(fleet, ABSENT_ENTRY, entry("pattern/ci/one", "basher"))
    await write(fleet, ABSENT_ENTRY, entry("pattern/ci/two", "basher", "iso"))
    found = await fleet.knowledge.in_state("candidate")
    assert [one.entry.key for one in found if one.entry] == ["pattern/ci/one"]
    every = await fleet.knowledge.all()
    assert [one.entry.key for one in every if one.entry] == ["pattern/ci/one", "pattern/ci/two"]


async def test_an_unknown_key_is_refused(fleet: Fleet) -> None:
    with pytest.raises(KnowledgeNotFoundError):
        await fleet.knowledge.found(KEY)
    with pytest.raises(KnowledgeNotFoundError):
        await fleet.knowledge.update(KEY, retired)
