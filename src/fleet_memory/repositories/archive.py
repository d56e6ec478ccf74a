"""The archive: the lessons and notes that left a program, each with its reason."""

from fleet_memory.repositories.fleet_documents import FleetDocuments
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, ArchivedNote, ArchiveRecord, Note
from fleet_memory.stores import Document, Json, Query, Write


class Archive(FleetDocuments):
    """The archive of one fleet."""

    async def of_program(self, program_id: str) -> list[Document]:
        """Return the archived documents of a program; `archive_record` reads a document. Billed 1
        read each.
        """
        return await self.store.find(Query(self.paths.archive, {"programId": program_id}))

    async def count_lessons(self) -> int:
        """Count the archived lessons. Billed as one sum."""
        return await self.store.total(Query(self.paths.archive, {"kind": "pattern"}))

    def write(self, record: ArchiveRecord) -> Write:
        """Return the write that archives a lesson or a note; equal records are one document."""
        kind = "pattern" if isinstance(record, Archived) else "note"
        fields: dict[str, Json] = {
            "programId": record.program_id,
            f"{kind}Id": _item(record).id,
            "reason": record.reason,
            "at": record.at.isoformat(),
            "why": record.why,
            kind: _item(record).compact(),
            "kind": kind,  # there to be counted
        }
        return Write(self.paths.archive_record(archive_record_id(record)), fields)


def archive_record_id(record: ArchiveRecord) -> str:
    """Return the id of a lesson or a note in the archive."""
    return digest(record.program_id, _item(record).compact(), record.at.isoformat())


def archive_record(document: Document) -> ArchiveRecord:
    """Return the lesson or note in a document of the archive."""
    fields = document.fields
    common = {name: fields[name] for name in ("programId", "reason", "at")} | {
        "why": fields.get("why", "")
    }
    if "pattern" in fields:
        return Archived.from_fields(common | {"pattern": Pattern.from_json(str(fields["pattern"]))})
    return ArchivedNote.from_fields(common | {"note": Note.from_json(str(fields["note"]))})


def _item(record: ArchiveRecord) -> Pattern | Note:
    return record.pattern if isinstance(record, Archived) else record.note
