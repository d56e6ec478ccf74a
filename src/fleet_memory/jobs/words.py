"""Words: an agent saw a lesson or an entry prove true or false; its program and the entry change in
one commit.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fleet_memory.errors import KnowledgeNotFoundError, PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.entry_drafts import DraftedWord, EntryDrafts, drafted_word, read_drafts
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.rules.entries import EntryChange
from fleet_memory.rules.lifecycle.admission import pattern_of
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, Reported, reported, was_reported
from fleet_memory.rules.lifecycle.paging import require_whole
from fleet_memory.rules.text.closest import close_names
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Write

KEY_PREFIXES: Final = ("pattern/", "constitution/")


class _Recorded(NamedTuple):
    program: Program
    archived: tuple[Archived, ...]
    said: Reported
    changes: tuple[EntryChange, ...]


async def record_word(fleet: Fleet, program_id: str, about: str, report: OutcomeReport) -> Reported:
    """Record a word about one of the program's lessons, and the entry that it is in, or about the
    entry of a key.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    Billed 1 read and 1 write, and as much for the entry; for a name that is not found also the
    snapshot, which has close keys.
    """

    async def change(program: Program) -> tuple[_Recorded, Sequence[Write]]:
        try:
            key = entry_key(program, about)
            drafts = await read_drafts(fleet, [key] if key else [], report.now)
            reported, drafts = with_word(drafts, program, about, report)
        except KnowledgeNotFoundError:
            raise KnowledgeNotFoundError(
                about, await fleet.knowledge.snapshots.close_keys(about)
            ) from None
        except PatternNotFoundError:
            keys = await fleet.knowledge.snapshots.close_keys(about)
            raise PatternNotFoundError(
                program_id, about, close_names(about, program.patterns), keys
            ) from None
        return _Recorded(
            reported.program, reported.archived, reported, drafts.changes
        ), drafts.writes(fleet, program_id)

    recorded = await fleet.programs.update_with(program_id, change, report.now)
    await publish_changes(fleet, program_id, recorded.changes)
    return recorded.said._replace(archived=recorded.archived)


def entry_key(program: Program, about: str) -> str | None:
    """Return the key of the entry that a word is about, None for a lesson in no entry.

    Raises PatternNotFoundError, without close names.
    """
    own = pattern_of(program, about)
    if own is not None:
        return own.knowledge_key
    if about.startswith(KEY_PREFIXES):
        return about
    require_whole(program)
    raise PatternNotFoundError(program.program_id, about)


def with_word(
    drafts: EntryDrafts, program: Program, about: str, report: OutcomeReport
) -> DraftedWord:
    """Return the program after a word, and with it the entry that it is about, if any.

    Raises PatternNotFoundError, and KnowledgeNotFoundError for a key that agents do not know.
    """
    own = pattern_of(program, about)
    key = entry_key(program, about)
    entry = drafts.entry(key) if key else None
    if own is not None and entry is None:
        return DraftedWord(reported(program, own, report), drafts)
    if entry is None or (
        own is None and not entry.is_public and not was_reported(program, about, report)
    ):
        raise KnowledgeNotFoundError(about)
    return drafted_word(drafts, program, about, entry, report)
