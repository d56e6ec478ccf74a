"""The record of who did what: lines of the log, without texts, and reads in the ledger."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.programs import VersionedProgram
from fleet_memory.rules.asking import with_shown
from fleet_memory.rules.entries import EntryChange
from fleet_memory.rules.lifecycle.stamping import ProgramChange, with_read
from fleet_memory.rules.pairs import PERSON
from fleet_memory.schemas.knowledge import LedgerEvent, LedgerLine
from fleet_memory.schemas.programs import Program

_logger = logging.getLogger(__name__)


async def note_reading(
    fleet: Fleet,
    program_id: str | None,
    knowledge_at: datetime | None,
    texts: Mapping[str, datetime] = {},
    read: VersionedProgram | None = None,
) -> None:
    """Store what a program was shown, before the answer leaves: knowledge that was written at
    `knowledge_at`, None for none, and texts of others, by their hashes, with the time.

    Nothing for a caller that only reads for the program. Billed 1 read, unless it was `read`, and
    1 write where either is new to the program.
    """
    if program_id is None or not fleet.caller.may_write(program_id):
        return
    if knowledge_at is None and not texts:
        return
    now = fleet.now()

    def change(program: Program) -> ProgramChange:
        return ProgramChange(with_shown(with_read(program, knowledge_at), texts))

    if read is None or change(read.program).program is not read.program:
        await fleet.programs.update(program_id, change, now, read)


def log_change(by: str, change: EntryChange) -> None:
    """Log that readers see an entry otherwise now, e.g. "knowledge: entry promoted by wren; votes
    2"; its key is made of its words.
    """
    if not change.is_visible:
        return
    retired = "retired" if change.after == "retired" else f"now {change.after}"
    event = f"promoted ({change.after})" if change.is_promotion else retired
    _logger.info(
        "knowledge: entry %s by %s; votes %d",
        event,
        by,
        change.entry.value.evidence_count,
    )


def decision(fleet: Fleet, event: LedgerEvent, key: str, why: str = "") -> LedgerLine:
    """Return the line of the ledger about what the caller does now, e.g. that people edited a
    lesson; it goes into the commit of the change.
    """
    return LedgerLine(
        event=event,
        key=key,
        at=fleet.now(),
        by=fleet.caller.program_id or PERSON,
        why=why,
        token=fleet.caller.token_id,
    )


EVERY_PROGRAM: Final = (
    "(every program)"  # the key of a line about a read of the whole fleet; no program's name
)


async def allow_read(fleet: Fleet, program_id: str, tool: str) -> None:
    """Raise ForbiddenError unless the caller may read a program; note in the ledger that it reads
    another's.

    Billed 1 write for another's. Raises the store's errors, and nothing may be read then.
    """
    fleet.caller.require_read(program_id)
    if fleet.caller.reads_another(program_id):
        await note_read(fleet, program_id, tool)


async def note_read(fleet: Fleet, key: str, tool: str) -> None:
    """Note in the ledger that a bound caller reads others' texts by a tool: of a program, an entry
    or the fleet.

    Billed 1 write; nothing for an unbound caller. Raises the store's errors.
    """
    if fleet.caller.program_id is not None:
        await fleet.store.commit(fleet.knowledge.ledger.write(decision(fleet, "read", key, tool)))
