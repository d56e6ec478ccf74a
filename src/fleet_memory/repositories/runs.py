"""Runs of the maintainer: its lease, and the note of the last one."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, LeaseLostError, OutcomeUnknownError
from fleet_memory.repositories.documents import Versioned, read_versioned
from fleet_memory.repositories.paths import FleetDocuments
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value
from fleet_memory.stores import ABSENT, Document, Ref, Store, Write

# Two servers may differ by this much: each is up to 60 s off the store's time (`clock.MAX_OFFSET`)
CLOCK_DIFFERENCE: Final = timedelta(seconds=120)
_LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)


class LeaseClaim(Value):
    """Who may do a job until when. `fence` grows with every taking, `beat` with every commit under
    the lease.
    """

    owner: str
    until: Timestamp
    fence: int
    beat: int = 0


class Lease(NamedTuple):
    """A lease that its owner had when it was read. Each block under a lease is an owner of its
    own.
    """

    ref: Ref
    claim: LeaseClaim
    revision: str

    def guard(self, until: datetime | None = None) -> Write:
        """Return the write that comes first in a commit of the holder: the commit fails once the
        lease has moved on.

        It is good for one commit, then the lease must be `refreshed`. `until` moves the expiry.
        """
        claim = replace(self.claim, beat=self.claim.beat + 1, until=until or self.claim.until)
        return Write(self.ref, claim.wire(), self.revision)


def claimed(
    current: LeaseClaim | None, *, owner: str, now: datetime, ttl_s: float
) -> LeaseClaim | None:
    """Return the claim that `owner` may make for `ttl_s` seconds, or None while the current one has
    not expired.

    A claim is over at its `until`. One that ends later than a claim made now could, for all that
    servers' clocks may differ, is void: its maker's clock was wrong or chosen. Clocks only
    schedule: the protection is that a commit names the claim under which it was made.
    """
    until = now + timedelta(seconds=ttl_s)
    if current is not None and now < current.until <= until + CLOCK_DIFFERENCE:
        return None
    return LeaseClaim(owner=owner, until=until, fence=current.fence + 1 if current else 1)


async def take(store: Store, ref: Ref, owner: str, *, now: datetime, ttl_s: float) -> Lease | None:
    """Take the lease for `ttl_s` seconds, or return None: another owner has it, or was faster.
    Billed 2R 1W.

    Where the store does not confirm the commit, the lease is read again: `owner` names one taking.
    """
    (document,) = await store.get(ref)
    claim = claimed(_claim(document), owner=owner, now=now, ttl_s=ttl_s)
    if claim is None:
        return None
    try:
        with suppress(OutcomeUnknownError):
            await store.commit(Write(ref, claim.wire(), document.revision if document else ABSENT))
        return await refreshed(store, Lease(ref, claim, ""))
    except (ConflictError, LeaseLostError):
        return None


async def refreshed(store: Store, lease: Lease) -> Lease:
    """Read the lease again after a commit. Billed 1R.

    After an OutcomeUnknownError a greater `beat` shows that the commit was applied.
    Raises LeaseLostError when another has taken the lease since.
    """
    (document,) = await store.get(lease.ref)
    claim = _claim(document)
    if (
        document is None
        or claim is None
        or (claim.owner, claim.fence) != (lease.claim.owner, lease.claim.fence)
    ):
        raise LeaseLostError(
            "Another worker has taken over this job; nothing more is written. Leave it to that one."
        )
    return Lease(lease.ref, claim, document.revision)


async def release(store: Store, lease: Lease) -> None:
    """Let others take the lease at once; nothing happens if one already has. Billed 1R 1W.

    The document stays, because its fence must never start again. A release that the store does not
    confirm is left to the lease's end.
    """
    with suppress(ConflictError, LeaseLostError, OutcomeUnknownError):
        current = await refreshed(store, lease)
        await store.commit(current.guard(until=_LONG_AGO))


def _claim(document: Document | None) -> LeaseClaim | None:
    return LeaseClaim.from_fields(document.fields) if document else None


class LastRun(Value):
    """The last run of a maintainer. `epoch` grows when every server must read the whole fleet
    again.

    `considered` grows with it, or follows once a run has considered every lesson again, e.g. after
    an import.
    """

    run: int = 0
    epoch: int = 0
    considered: int = 0
    at: Timestamp | None = None
    by: str = ""


class LastRuns(FleetDocuments):
    """The note of one fleet."""

    async def read(self) -> Versioned[LastRun]:
        """Return the note. Billed 1 read."""
        return await read_versioned(self.store, self.paths.last_run, LastRun())

    def write(self, before: Versioned[LastRun], after: LastRun) -> Write:
        """Return the write that replaces the note."""
        return Write(self.paths.last_run, after.wire(), before.revision)

    async def new_epoch(self, *, considered: bool) -> Write:
        """Return the write that lets every server read the whole fleet again; unless all lessons
        are `considered`, the next run considers each. Billed 1 read.
        """
        before = await self.read()
        last = before.value
        after = replace(last, epoch=last.epoch + 1, considered=last.considered + considered)
        return self.write(before, after)
