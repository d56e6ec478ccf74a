"""The note of the maintainer's last run: its number, when, and who ran it."""

from typing import NamedTuple

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.value import Value
from fleet_memory.stores import ABSENT, Write


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


class VersionedLastRun(NamedTuple):
    """The note as it was read, and the revision that a commit must expect."""

    last: LastRun
    revision: str


class LastRuns(FleetDocuments):
    """The note of one fleet."""

    async def read(self) -> VersionedLastRun:
        """Return the note. Billed 1 read."""
        (document,) = await self.store.get(self.paths.last_run)
        if document is None:
            return VersionedLastRun(LastRun(), ABSENT)
        return VersionedLastRun(LastRun.from_fields(document.fields), document.revision)

    def write(self, before: VersionedLastRun, after: LastRun) -> Write:
        """Return the write that replaces the note."""
        return Write(self.paths.last_run, after.wire(), before.revision)
