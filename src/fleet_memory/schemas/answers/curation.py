"""Answers of the tools of the toolset `curation`."""

from typing import Annotated

from pydantic import Field

from fleet_memory.schemas.answers.memory import EvictedPattern
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.knowledge import EntryState
from fleet_memory.schemas.value import Value


class SeedAnswer(Value):
    """The keys of the rules by their change; `kept` are not among those sent, and stay."""

    dry_run: bool
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class CuratedAnswer(Value):
    """An entry's state, and whether the call changed it."""

    key: str
    status: EntryState
    changed: bool


class ArchivedItem(Value):
    """A lesson or a note in the archive, since when and why."""

    id: str
    at: Timestamp
    reason: str
    text: str
    pattern_id: str | None = None
    note_id: str | None = None
    why: str | None = None


class RestoreAnswer(Value):
    """A program's archive, or the item that the call brought back; `omitted` counts the items not
    shown.
    """

    program_id: str
    archive: tuple[ArchivedItem, ...] | None = None
    omitted: int | None = None
    restored: bool | None = None
    pattern_id: str | None = None
    note_id: str | None = None
    was: Annotated[
        str | None, Field(description="The lesson's id before, which another has now")
    ] = None
    reason: Annotated[str | None, Field(description="Why it could not be restored")] = None
    fades: str | None = None
    evicted: tuple[EvictedPattern, ...] | None = None
