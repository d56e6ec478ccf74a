"""The snapshot: its entries, and reading it while it is replaced, or after its publisher died."""

from dataclasses import replace

import anyio
import pytest

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.schemas.knowledge import Entry, EntryState
from fleet_memory.stores import Write
from tests.bounds import HANG_S
from tests.entries import retired_at
from tests.fleets import unshown
from tests.lessons import START, days
from tests.test_entry_documents import KEY, entry

pytestmark = pytest.mark.anyio

PUBLISHED = entry(KEY, "basher", "iso")
NOW = START + days(1)


async def put(fleet: Fleet, after: Entry) -> None:
    """Write an entry as it shall be, replacing any other, and mark it unpublished."""
    (before,) = await fleet.knowledge.read_versioned(after.key)
    await fleet.knowledge.store.commit(
        *fleet.knowledge.writes(
            before,
            replace(after, unpublished=True),
            by="x",
            why="",
            now=NOW,
        )
    )


async def publish(fleet: Fleet) -> list[tuple[str, EntryState, int, int]]:
    """Publish, and return each row's key, state, first version and version of its last change."""
    publication = await fleet.knowledge.snapshots.publication(
        now=NOW, behind=await fleet.knowledge.snapshots.behind()
    )
    await fleet.knowledge.store.commit(*publication.drafts, *publication.switch)
    assert await fleet.knowledge.snapshots.behind() == []
    assert await unshown(fleet) == []
    rows = (await fleet.knowledge.snapshots.read()).rows
    return [(row.key, row.state, row.since, row.changed_in) for row in rows]


async def test_a_candidate_is_not_shown_until_it_is_published(fleet: Fleet) -> None:
    await put(fleet, entry(KEY, "basher"))
    assert await publish(fleet) == []
    await put(fleet, PUBLISHED)
    assert await publish(fleet) == [(KEY, "fresh", 2, 2)]


async def test_an_entry_that_was_shown_keeps_its_row_when_it_retires_or_is_a_candidate_again(
    fleet: Fleet,
) -> None:
    await put(fleet, PUBLISHED)
    assert await publish(fleet) == [(KEY, "fresh", 1, 1)]
    await put(fleet, replace(PUBLISHED, decisions=retired_at(NOW)))
    assert await publish(fleet) == [(KEY, "retired", 1, 2)]
    await put(fleet, replace(PUBLISHED, publications=()))
    assert await publish(fleet) == [(KEY, "candidate", 1, 3)]


async def test_a_later_confirmation_is_shown_and_is_no_change(fleet: Fleet) -> None:
    await put(fleet, PUBLISHED)
    await publish(fleet)
    await put(fleet, replace(PUBLISHED, last_confirmed=NOW))
    assert await publish(fleet) == [(KEY, "fresh", 1, 1)]
    snapshot = await fleet.knowledge.snapshots.read()
    assert (snapshot.version, snapshot.rows[0].last_confirmed) == (2, NOW)


async def test_an_unchanged_snapshot_that_is_published_again_stays_the_same_version(
    fleet: Fleet,
) -> None:
    await put(fleet, PUBLISHED)
    await publish(fleet)
    before = await fleet.knowledge.snapshots.read()
    await put(fleet, replace(PUBLISHED, confirmations=1))
    await publish(fleet)
    assert await fleet.knowledge.snapshots.read() == before


async def test_a_doubt_is_shown_with_its_reason_and_age_alone_is_not(fleet: Fleet) -> None:
    lines = tuple(replace(line, connection="c1") for line in PUBLISHED.provenance)
    await put(fleet, replace(PUBLISHED, provenance=lines, project_id="web"))
    await put(fleet, replace(entry("pattern/ci/old", "a", "b"), last_confirmed=START - days(900)))
    await publish(fleet)
    rows = (await fleet.knowledge.snapshots.read()).rows
    assert [(row.state, row.doubts, row.project_id) for row in rows] == [
        ("fresh", (), None),
        ("verify", ("one_connection",), "web"),
    ]


async def test_every_server_sees_that_a_snapshot_was_written_lately(fleet: Fleet) -> None:
    snapshots = fleet.knowledge.snapshots
    assert not await snapshots.published_lately(NOW, 5)
    await publish(fleet)
    assert await snapshots.published_lately(NOW, 5)
    assert not await snapshots.published_lately(NOW + days(1), 5)
    assert not await snapshots.published_lately(NOW - days(1), 5)


async def test_a_snapshot_without_one_of_its_shards_is_refused_soon_with_the_reason(
    fleet: Fleet,
) -> None:
    head = fleet.knowledge.paths.snapshot
    await fleet.knowledge.store.commit(Write(head, {"version": 3, "parts": 2, "text": ""}))
    message = "^Shared knowledge is being republished; call again in a moment.$"
    with anyio.fail_after(HANG_S), pytest.raises(ConflictError, match=message):
        await fleet.knowledge.snapshots.read()


async def test_a_row_that_is_stored_as_before_is_the_same_object_in_the_next_version(
    fleet: Fleet,
) -> None:
    other = entry("pattern/tasks/other", "basher", "iso")
    await put(fleet, PUBLISHED)
    await put(fleet, other)
    await publish(fleet)
    before = await fleet.knowledge.snapshots.read()
    assert await fleet.knowledge.snapshots.read() is before
    await put(fleet, replace(other, decisions=retired_at(NOW)))
    await publish(fleet)
    after = await fleet.knowledge.snapshots.read()
    assert [one is other for one, other in zip(before.rows, after.rows, strict=True)] == [
        row.key == KEY for row in before.rows
    ]
