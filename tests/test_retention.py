"""Retention: maintenance deletes tokens that ended long ago, and lines of the archive as the policy
says.
"""

from datetime import timedelta

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import (
    DELETED_AT_ONCE,
    TOKENS_KEPT,
    maintain_fleet,
)
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.jobs.tokens import NewToken, create_token, list_tokens, revoke_token
from fleet_memory.schemas.programs import ArchivedNote, Note
from fleet_memory.stores import Query, Write
from tests.fleets import NOW, at

pytestmark = pytest.mark.anyio


async def archive(fleet: Fleet, days_ago: float, count: int = 1) -> None:
    moment = NOW - timedelta(days=days_ago)
    notes = [Note(id=f"n{number}", text=f"{days_ago}", at=moment) for number in range(count)]
    records = [
        ArchivedNote(program_id="basher", note=note, reason="cap", at=moment) for note in notes
    ]
    await fleet.programs.store.commit(*map(fleet.programs.archive.write, records))


async def left(fleet: Fleet) -> list[str]:
    return sorted({str(row["text"]) for row in await list_archive(fleet, "basher")})


async def test_the_archive_is_kept_for_ever_without_a_retention(fleet: Fleet) -> None:
    await archive(fleet, 3_000)
    assert (await maintain_fleet(at(fleet, NOW), no_progress)).expired is None
    assert await left(fleet) == ["3000"]


async def test_lines_older_than_the_retention_go_however_many(fleet: Fleet) -> None:
    fleet = at(fleet, NOW)
    await set_policy(fleet, ["retentionDays", "30"])
    for days_ago, count in ((29.9, 1), (30.1, 2), (400, 2 * DELETED_AT_ONCE)):
        await archive(fleet, days_ago, count)
    assert (await maintain_fleet(fleet, no_progress, dry_run=True)).expired == DELETED_AT_ONCE
    assert await left(fleet) == ["29.9", "30.1", "400"]
    assert (await maintain_fleet(fleet, no_progress)).expired == 2 * DELETED_AT_ONCE + 2
    assert await left(fleet) == ["29.9"]
    assert (await maintain_fleet(fleet, no_progress)).expired == 0


async def token(
    fleet: Fleet,
    program: str,
    *,
    revoked: timedelta | None = None,
    expired: timedelta | None = None,
) -> str:
    """Create a token that ended so long ago; return its id."""
    begun = at(fleet, NOW - 3 * TOKENS_KEPT)
    lifetime = None if expired is None else 3 * TOKENS_KEPT - expired
    token_id = (await create_token(begun, NewToken(program, lifetime=lifetime))).record.token_id
    if revoked is not None:
        await revoke_token(at(fleet, NOW - revoked), token_id)
    return token_id


async def test_tokens_that_ended_long_ago_go_and_the_ledger_keeps_that_they_were(
    fleet: Fleet,
) -> None:
    fleet, hour = at(fleet, NOW), timedelta(hours=1)
    gone = [
        await token(fleet, "revoked-long-ago", revoked=TOKENS_KEPT + hour),
        await token(fleet, "expired-long-ago", expired=TOKENS_KEPT + hour),
        await token(fleet, "expired-then-revoked", expired=TOKENS_KEPT + hour, revoked=hour),
        await token(fleet, "both-long-ago", expired=TOKENS_KEPT + hour, revoked=TOKENS_KEPT + hour),
    ]
    kept = [
        await token(fleet, "revoked-lately", revoked=TOKENS_KEPT - hour),
        await token(fleet, "expired-lately", expired=TOKENS_KEPT - hour),
        await token(fleet, "expires-soon", expired=-hour),
        await token(fleet, "never-ends"),
    ]
    assert (await maintain_fleet(fleet, no_progress, dry_run=True)).tokens == len(gone)
    assert len(await list_tokens(fleet)) == len([*gone, *kept])
    assert (await maintain_fleet(fleet, no_progress)).tokens == len(gone)
    assert {record.token_id for record in await list_tokens(fleet)} == {*kept}
    lines = await fleet.knowledge.store.find(
        Query(fleet.knowledge.paths.ledger, {"event": "token_created"})
    )
    assert {line.fields["key"] for line in lines} == {f"token/{each}" for each in (*gone, *kept)}
    assert (await maintain_fleet(fleet, no_progress)).tokens is None


@pytest.mark.parametrize(
    "time", ["soon", 5, "2026-01-01T00:00:00"], ids=["no time", "a number", "no time zone"]
)
async def test_a_token_whose_time_cannot_be_read_stops_no_run(
    fleet: Fleet, time: str | int
) -> None:
    fleet, store = at(fleet, NOW), fleet.tokens.store
    gone = await token(fleet, "basher", expired=2 * TOKENS_KEPT)
    broken = fleet.tokens.paths.token(await token(fleet, "sark", expired=2 * TOKENS_KEPT))
    (document,) = await store.get(broken)
    assert document is not None
    await store.commit(Write(broken, {**document.fields, "expiresAt": time}, document.revision))
    assert (await maintain_fleet(fleet, no_progress)).tokens == 1
    assert [it is None for it in await store.get(fleet.tokens.paths.token(gone), broken)] == [
        True,
        False,
    ]
