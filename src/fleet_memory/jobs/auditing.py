"""Reads of other programs by a bound caller: each is a line of the ledger, and there before
anything is read.
"""

from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.rules.entries import ledger_id
from fleet_memory.schemas.knowledge import LedgerLine

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
    caller = fleet.caller
    if caller.program_id is None:
        return
    line = LedgerLine(
        event="read", key=key, at=fleet.now(), by=caller.program_id, why=tool, token=caller.token_id
    )
    ledger = fleet.knowledge.ledger
    await ledger.store.commit(ledger.write(line, ledger_id(key, 0, new_commit_id())))
