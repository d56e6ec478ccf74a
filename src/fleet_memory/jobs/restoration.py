"""Brings back what a program forgot: what `fleet-memory restore` does."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.archive import archived_in
from fleet_memory.rules.lifecycle import forgetting, notes
from fleet_memory.schemas.fields import written
from fleet_memory.schemas.programs import Archived, InArchive, Kept, Program
from fleet_memory.stores import Document, Write

Row: TypeAlias = dict[str, object]


class Outcome(NamedTuple):
    """A program after a restoration, and what the command prints of it."""

    program: Program
    row: Row
    archived: tuple[Kept, ...] = ()


async def list_archive(fleet: Fleet, program_id: str) -> list[Row]:
    """Return what the archive holds of the program, the newest first."""
    rows = [_row(document) for document in await fleet.programs.archive(program_id)]
    return sorted(rows, key=lambda row: (str(row["at"]), str(row["id"])), reverse=True)


async def restore_archived(fleet: Fleet, program_id: str, wanted: str) -> Row:
    """Bring back what has this id in the archive, or had it in the program. `restored` says whether it could.

    The line leaves the archive in the same commit. Raises InvalidArgumentError for an id that is unknown or ambiguous.
    """
    now = fleet.now()

    async def change(program: Program) -> tuple[Outcome, Sequence[Write]]:
        document = _wanted(await fleet.programs.archive(program.program_id), wanted)
        outcome = _outcome(program, archived_in(document), now)
        if outcome.program is program:
            return outcome, []
        return outcome, [Write(document.ref, None, document.revision)]

    return (await fleet.programs.update_with(program_id, change)).row


def _wanted(found: Sequence[Document], wanted: str) -> Document:
    named = [document for document in found if wanted in (document.ref.id, _item_id(archived_in(document)))]
    if not named:
        raise InvalidArgumentError(
            f"ID: the archive holds no {wanted!r}; run `fleet-memory restore` without it to list"
        )
    if len(named) > 1:
        ids = ", ".join(sorted(document.ref.id for document in named))
        raise InvalidArgumentError(f"ID: {wanted!r} was archived {len(named)} times; name one: {ids}")
    return named[0]


def _outcome(program: Program, line: InArchive, now: datetime) -> Outcome:
    if not isinstance(line, Archived):
        if problem := notes.no_room_for(program, line.note):
            return Outcome(program, {"restored": False, "noteId": line.note.id, "reason": problem})
        done = notes.with_note(program, line.note, now)
        return Outcome(done.program, {"restored": True, "noteId": line.note.id})
    row: Row = {"restored": True, "patternId": line.pattern.id}
    if problem := forgetting.no_room_for(program, line.pattern):
        return Outcome(program, row | {"restored": False, "reason": problem})
    back = forgetting.restored(program, line.pattern, now)
    if back.pattern.id != line.pattern.id:
        row |= {"patternId": back.pattern.id, "was": line.pattern.id}
    if back.pattern.knowledge_key:
        row["knowledgeKey"] = back.pattern.knowledge_key
    if back.fades:
        row["fades"] = "It is so old that the next maintenance archives it again, unless it is reinforced."
    return Outcome(back.program, row)


def _item_id(line: InArchive) -> str:
    return line.pattern.id if isinstance(line, Archived) else line.note.id


def _row(document: Document) -> Row:
    line = archived_in(document)
    said = {"patternId": line.pattern.id, "text": line.pattern.pattern} if isinstance(line, Archived) else {}
    row: Row = {"id": document.ref.id, "at": written(line.at), "reason": line.reason, **said}
    if not isinstance(line, Archived):
        row |= {"noteId": line.note.id, "text": line.note.text}
    return row | ({"why": line.why} if line.why else {})
