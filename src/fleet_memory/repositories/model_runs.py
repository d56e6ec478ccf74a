"""The note of the last run in which the policy's model judged pairs."""

from typing import NamedTuple

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.repositories.unreadable import decoded_or_raised
from fleet_memory.schemas.health import ModelRun
from fleet_memory.schemas.value import Value
from fleet_memory.stores import ABSENT, Document, Write


class ModelRunNote(Value):
    """The last run, None when there was none. `failed` are pairs that got no verdict lately: others
    come first.
    """

    run: ModelRun | None = None
    failed: tuple[str, ...] = ()


class VersionedModelRun(NamedTuple):
    """The note as it was read, and the revision that a commit must expect."""

    note: ModelRunNote
    revision: str


def versioned_model_run(document: Document) -> VersionedModelRun:
    """Return the note in a document. Raises ValueError for fields of another shape."""
    return VersionedModelRun(ModelRunNote.from_fields(document.fields), document.revision)


class ModelRuns(FleetDocuments):
    """The note of one fleet."""

    async def read(self) -> VersionedModelRun:
        """Return the note. Billed 1 read. Raises DocumentRejectedError when it cannot be read."""
        (document,) = await self.store.get(self.paths.model_run)
        return (
            decoded_or_raised(document, versioned_model_run)
            if document
            else VersionedModelRun(ModelRunNote(), ABSENT)
        )

    def write(self, before: VersionedModelRun, after: ModelRunNote) -> Write:
        """Return the write that replaces the note."""
        return Write(self.paths.model_run, after.wire(), before.revision)
