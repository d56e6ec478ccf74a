"""What changes of a program leave beside its document: the archive, and the history of its context summaries."""

from typing import Final

from fleet_memory.rules.health.fleet import is_junk
from fleet_memory.rules.lifecycle.idempotency import MAX_REQUESTS
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    Archived,
    ArchivedNote,
    ArchiveRecord,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)
from fleet_memory.stores import Document, Json, Ref, Write, document_id

MAX_SUMMARIES: Final = 50  # of one program; Source: docs/state.md, chosen


def record_write(fleet: str, line: ProgramRecord) -> Write:
    """Return the write that keeps a line, in the fleet whose documents are below `fleet`."""
    if isinstance(line, PastSummary):
        return Write(
            _summary_ref(fleet, line.program_id, line.number),
            {"programId": line.program_id, "number": line.number, "text": line.compact()},
        )
    return _archive_write(fleet, line)


def latest_summaries(fleet: str, program: Program, count: int) -> list[Ref]:
    """Return where the newest of a program's summaries are, at most 50, the newest first."""
    first = max(0, program.summaries - min(count, MAX_SUMMARIES))
    return [_summary_ref(fleet, program.program_id, number) for number in reversed(range(first, program.summaries))]


def past_summary(document: Document) -> PastSummary:
    """Return the summary that a document of the history holds."""
    return PastSummary.from_json(str(document.fields["text"]))


def _summary_ref(fleet: str, program_id: str, number: int) -> Ref:
    # In the place of the one that is 50 older: the history is bounded, and to read it takes no query and no index.
    return Ref(f"{fleet}/history", document_id(f"{program_id}#{number % MAX_SUMMARIES}"))


def receipt_ref(fleet: str, program_id: str, number: int) -> Ref:
    """Return where the receipt of a program's session of this number is, kept while its request is remembered."""
    return Ref(f"{fleet}/receipts", document_id(f"{program_id}#{number % MAX_REQUESTS}"))


def archive_record_id(line: ArchiveRecord) -> str:
    """Return the id of a line of the archive."""
    return digest(line.program_id, _item(line).compact(), line.at.isoformat())


def archive_record(document: Document) -> ArchiveRecord:
    """Return the line that a document of the archive holds."""
    fields = document.fields
    common = {name: fields[name] for name in ("programId", "reason", "at")} | {"why": fields.get("why", "")}
    if "pattern" in fields:
        return Archived.from_fields(common | {"pattern": Pattern.from_json(str(fields["pattern"]))})
    return ArchivedNote.from_fields(common | {"note": Note.from_json(str(fields["note"]))})


def _archive_write(fleet: str, line: ArchiveRecord) -> Write:
    kind = "pattern" if isinstance(line, Archived) else "note"
    fields: dict[str, Json] = {
        "programId": line.program_id,
        f"{kind}Id": _item(line).id,
        "reason": line.reason,
        "at": line.at.isoformat(),
        "why": line.why,
        kind: _item(line).compact(),
    }
    if isinstance(line, Archived):
        fields["junk"] = is_junk(line)  # there to be counted
    return Write(Ref(f"{fleet}/archive", archive_record_id(line)), fields)


def _item(line: ArchiveRecord) -> Pattern | Note:
    return line.pattern if isinstance(line, Archived) else line.note
