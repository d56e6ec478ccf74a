"""Brings back archived lessons and notes, for `fleet-memory lesson restore`."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeAlias

from fleet_memory.errors import UnknownNameError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import decision
from fleet_memory.repositories.records import archive_record, archived_item
from fleet_memory.repositories.retrying import new_lesson_id
from fleet_memory.rules.lifecycle.admission import pattern_restore_problem, restored, with_pattern
from fleet_memory.rules.lifecycle.state import with_note
from fleet_memory.schemas.fields import format_instant
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    Archived,
    ArchiveRecord,
    PastSummary,
    Program,
    ProgramRecord,
)
from fleet_memory.stores import Document, Write

ArchiveRow: TypeAlias = dict[str, object]


class Restoration(NamedTuple):
    """A program after a restoration, and the lines for the command to print."""

    program: Program
    row: ArchiveRow
    archived: tuple[ProgramRecord, ...] = ()


async def list_archive(fleet: Fleet, program_id: str, limit: int | None = None) -> list[ArchiveRow]:
    """Return a program's archived lessons and notes, or `limit` of them, the newest first."""
    documents = await fleet.programs.archive.of_program(program_id, limit)
    rows = [_row(document) for document in documents]
    return sorted(rows, key=lambda row: (str(row["at"]), str(row["id"])), reverse=True)


async def restore_archived(fleet: Fleet, program_id: str, wanted: str) -> ArchiveRow:
    """Bring back the lesson or note with this id, the archive's or its own: the one that left last.
    `restored` is False if it cannot be.

    The line leaves the archive in the same commit. `evicted` has what left for it. Raises
    UnknownNameError for an unknown id.
    """
    now = fleet.now()

    async def change(program: Program) -> tuple[Restoration, Sequence[Write]]:
        document = _wanted(await fleet.programs.archive.of_program(program.program_id), wanted)
        record = archive_record(document)
        outcome = _outcome(program, record, now)
        if outcome.program is program:
            return outcome, []
        line = decision(fleet, "restored", f"{program_id}/{archived_item(record).id}")
        gone = Write(document.ref, None, document.revision)
        return outcome, [gone, fleet.knowledge.ledger.write(line)]

    restoration = await fleet.programs.update_with(program_id, change, now)
    evicted = [
        {"id": each.id, "domain": each.domain, "pattern": each.pattern}
        if isinstance(each, Pattern)
        else {"id": each.id, "note": each.text}
        for line in restoration.archived
        if not isinstance(line, PastSummary)
        for each in [archived_item(line)]
    ]
    return restoration.row | ({"evicted": evicted} if evicted else {})


def _wanted(documents: Sequence[Document], wanted: str) -> Document:
    named = [
        document
        for document in documents
        if wanted in (document.ref.id, archived_item(archive_record(document)).id)
    ]
    if not named:
        raise UnknownNameError(
            f"ID: the archive holds no {wanted!r}; `fleet-memory lesson restore --program "
            "PROGRAM` lists it"
        )
    return max(named, key=lambda document: (str(_row(document)["at"]), document.ref.id))


def _outcome(program: Program, line: ArchiveRecord, now: datetime) -> Restoration:
    if not isinstance(line, Archived):
        noted = with_note(program, line.note, now)
        row: ArchiveRow = {"restored": True, "noteId": line.note.id}
        return Restoration(noted.program, row, noted.archived)
    row = {"restored": True, "patternId": line.pattern.id}
    if problem := pattern_restore_problem(program, line.pattern):
        return Restoration(program, row | {"restored": False, "reason": problem})
    # touched now: a file of an import that says it was forgotten is older
    back = restored(program, replace(line.pattern, called_at=now), new_lesson_id())
    if back.id != line.pattern.id:
        row |= {"patternId": back.id, "was": line.pattern.id}
    return Restoration(with_pattern(program, back), row)


def _row(document: Document) -> ArchiveRow:
    line = archive_record(document)
    item = archived_item(line)
    id_, text = ("patternId", item.pattern) if isinstance(item, Pattern) else ("noteId", item.text)
    row: ArchiveRow = {
        "id": document.ref.id,
        "at": format_instant(line.at),
        "reason": line.reason,
        id_: item.id,
        "text": text,
    }
    return row | ({"why": line.why} if line.why else {})
