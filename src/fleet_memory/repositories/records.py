"""What a change leaves behind: the archive, the history of summaries, and the ledger."""

import secrets
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from fleet_memory.repositories.paths import FleetDocuments
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveRecord,
    Note,
    PastSummary,
    Program,
)
from fleet_memory.stores import Document, Json, Query, Ref, Write


class Archive(FleetDocuments):
    """The archive of one fleet."""

    async def of_program(self, program_id: str, limit: int | None = None) -> list[Document]:
        """Return the archived documents of a program, or `limit` of them; `archive_record` reads a
        document. Billed 1 read each.
        """
        query = Query(self.paths.archive, {"programId": program_id}, limit=limit)
        return await self.store.find(query)

    async def count_lessons(self, program_id: str | None = None) -> int:
        """Count the archived lessons, of one program or of all. Billed as one sum."""
        of_program = {"programId": program_id} if program_id else {}
        return await self.store.total(Query(self.paths.archive, {"kind": "pattern"} | of_program))

    def write(self, record: ArchiveRecord) -> Write:
        """Return the write that archives a lesson or a note; equal records are one document."""
        kind = "pattern" if isinstance(record, Archived) else "note"
        fields: dict[str, Json] = {
            "programId": record.program_id,
            f"{kind}Id": archived_item(record).id,
            "reason": record.reason,
            "at": record.at.isoformat(),
            "why": record.why,
            kind: archived_item(record).compact(),
            "kind": kind,  # there to be counted
        }
        return Write(Ref(self.paths.archive, archive_record_id(record)), fields)


def archive_record_id(record: ArchiveRecord) -> str:
    """Return the id of a lesson or a note in the archive, whoever's token took it out."""
    item = replace(archived_item(record), writer=None)
    return digest(record.program_id, item.compact(), record.at.isoformat())


def archive_record(document: Document) -> ArchiveRecord:
    """Return the lesson or note in a document of the archive."""
    fields = document.fields
    if "pattern" in fields:
        return Archived.from_fields(fields | {"pattern": Pattern.from_json(str(fields["pattern"]))})
    return ArchivedNote.from_fields(fields | {"note": Note.from_json(str(fields["note"]))})


def archived_item(record: ArchiveRecord) -> Pattern | Note:
    """Return the lesson or the note of a record."""
    return record.pattern if isinstance(record, Archived) else record.note


MAX_SUMMARIES: Final = 50  # of one program; Source: docs/state.md, chosen


class History(FleetDocuments):
    """The history of one fleet's programs."""

    async def newest(self, program: Program, count: int) -> list[PastSummary]:
        """Return a program's newest context summaries, the newest first, at most 50. Billed 1 read
        each.
        """
        first = max(0, program.summaries - min(count, MAX_SUMMARIES))
        refs = [self._ref(program.program_id, number) for number in range(first, program.summaries)]
        documents = await self.store.get(*refs) if refs else []
        return sorted(
            (past_summary(document) for document in documents if document),
            key=lambda past: -past.number,
        )

    def write(self, past: PastSummary) -> Write:
        """Return the write that stores a summary."""
        return Write(
            self._ref(past.program_id, past.number),
            {"programId": past.program_id, "number": past.number, "text": past.compact()},
        )

    def _ref(self, program_id: str, number: int) -> Ref:
        # In the place of the one that is 50 older: the history is bounded, and to read it takes no
        # query and no index.
        return self.paths.summary(program_id, number % MAX_SUMMARIES)


def past_summary(document: Document) -> PastSummary:
    """Return the context summary in a document of the history."""
    return PastSummary.from_json(str(document.fields["text"]))


def new_ledger_id() -> str:
    """Return an id that no other line of a ledger has, 16 hex digits."""
    return secrets.token_hex(8)


LedgerTime: TypeAlias = Literal["at", "readAt"]
"""The field with the time of a line: `at` of a change, `readAt` of a read."""
MAX_LINES_OF_ENTRY: Final = 20  # ids of its newest lines that an entry names; chosen


class Ledger(FleetDocuments):
    """The ledger of one fleet."""

    async def latest(self, time: LedgerTime, limit: int) -> list[Document]:
        """Return the newest changes or reads, the newest first. Billed 1 read each."""
        return await self.store.find(Query(self.paths.ledger, order=f"-{time}", limit=limit))

    async def total(self, time: LedgerTime) -> int:
        """Return how many changes or reads there are. Billed as one sum."""
        return await self.store.total(Query(self.paths.ledger, order=time))

    async def newest(self, entry: Entry, count: int) -> list[LedgerLine]:
        """Return an entry's newest lines, at most `count` and 20, the oldest first. Billed 1 read
        each.
        """
        ids = entry.ledger[-count:]
        documents = await self.store.get(*map(self.paths.ledger_line, ids)) if ids else []
        lines = [ledger_line(document) for document in documents if document]
        return sorted(lines, key=lambda line: line.at)  # an import adds older ones

    def write(self, line: LedgerLine, line_id: str = "") -> Write:
        """Return the write of a line, under a new random id where none is given."""
        return Write(self.paths.ledger_line(line_id or new_ledger_id()), line_fields(line))


def line_fields(line: LedgerLine) -> dict[str, Json]:
    """Return the fields of a line as they are stored."""
    fields = line.wire()
    return (
        {"readAt" if name == "at" else name: fields[name] for name in fields}
        if line.event == "read"
        else fields
    )


def ledger_line(document: Document) -> LedgerLine:
    """Return the line in a document of the ledger."""
    fields = {"at" if name == "readAt" else name: value for name, value in document.fields.items()}
    return LedgerLine.from_fields(fields)
