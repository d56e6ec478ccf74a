"""Programs and entries that one call changes: read once, drafted by rules, committed together."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import publish_changes
from fleet_memory.repositories.programs import ChangeResult, VersionedProgram
from fleet_memory.repositories.snapshots import VersionedEntry
from fleet_memory.rules.entries import EntryChange, entry_change, settled
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.pairs import DraftDocuments
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write

_C = TypeVar("_C", bound=ChangeResult)


@dataclass(frozen=True)
class Drafts:
    """`programs` and `entries` as they were read, with their revisions, and `documents`: these as
    the call leaves them so far, entries settled.

    `why` is the reason of each changed entry for the ledger. `others` are the keys of the entries
    of other programs' lessons, by the keys that agents name these by.
    """

    policy: Policy
    now: datetime
    programs: Mapping[str, VersionedProgram] = field(default_factory=dict)
    entries: Mapping[str, VersionedEntry] = field(default_factory=dict)
    documents: DraftDocuments = field(default_factory=lambda: DraftDocuments({}, {}))
    why: Mapping[str, str] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)

    def with_read(
        self,
        programs: Iterable[VersionedProgram] = (),
        entries: Mapping[str, VersionedEntry] | None = None,
    ) -> "Drafts":
        """Return the drafts with more documents; those that were read before stay as they are."""
        more = {each.program.program_id: each for each in programs}
        new = {key: each for key, each in (entries or {}).items() if key not in self.entries}
        documents = DraftDocuments(
            {**{name: each.program for name, each in more.items()}, **self.documents.programs},
            {
                **self.documents.entries,
                **{key: each.entry for key, each in new.items() if each.entry},
            },
        )
        return replace(
            self,
            programs={**more, **self.programs},
            entries={**self.entries, **new},
            documents=documents,
        )

    def entry(self, key: str) -> Entry | None:
        """Return an entry as the call leaves it so far, the older one for one that is read through
        it, for a key of another's lesson that of the lesson; None for a key that nothing has.
        """
        key = self.others.get(key, key)
        return self.documents.read_as(key) if key in self.documents.entries else None

    def with_entry(self, after: Entry, why: str) -> "Drafts":
        """Return the drafts with a changed entry; the same object when it did not change."""
        if after is self.documents.entries.get(after.key):
            return self
        return self.left_as(self.documents.with_entry(after), why)

    def left_as(self, documents: DraftDocuments, why: str) -> "Drafts":
        """Return the drafts with the documents that a rule leaves."""
        entries, reasons = dict(documents.entries), dict(self.why)
        for key, entry in documents.entries.items():
            if entry is not self.documents.entries.get(key):
                entries[key] = settled(self.entries[key].entry, entry, self.policy, self.now)
                reasons[key] = why or reasons.get(key, "")
        return replace(self, documents=replace(documents, entries=entries), why=reasons)

    @property
    def changes(self) -> tuple[EntryChange, ...]:
        """The entries that changed."""
        return tuple(
            entry_change(self.entries[key].entry, after, self.now)
            for key, after in self.documents.entries.items()
            if after is not self.entries[key].entry
        )

    @property
    def news(self) -> tuple[EntryChange, ...]:
        """The entries that have another state now, and those with a word about another's lesson,
        which readers should learn soon.
        """
        told = self.others.values()
        return tuple(
            change
            for change in self.changes
            if change.before != change.after or change.entry.key in told
        )

    def writes(self, fleet: Fleet, by: str, token: str | None = None) -> list[Write]:
        """Return the writes of the drafts, valid only for the revisions that were read."""
        writes: list[Write] = []
        for key, entry in self.documents.entries.items():
            before, why = self.entries[key], self.why.get(key, "")
            writes += fleet.knowledge.writes(
                before, entry, by=by, token=token, why=why, now=self.now
            )
        for name, program in self.documents.programs.items():
            read = self.programs[name]
            writes += fleet.programs.writes(read, stamped(read.program, program, self.now))
        return writes


async def read_drafts(
    fleet: Fleet, keys: Iterable[str], now: datetime, programs: Iterable[VersionedProgram] = ()
) -> Drafts:
    """Return the entries of these keys to draft, those that they are read through, and programs
    that were read.

    Billed 1 read for each entry; the policy is cached.
    """
    keys = list(keys)
    if not keys and not programs:
        return Drafts(Policy(), now)
    entries = await fleet.knowledge.read_through(keys)
    return Drafts(await fleet.policies.read(now), now).with_read(programs, entries)


async def commit_drafts(
    fleet: Fleet,
    program_id: str,
    now: datetime,
    decide: Callable[[Program], Awaitable[tuple[_C, Drafts]]],
    decided: LedgerLine | None = None,
) -> _C:
    """Commit at once what `decide` makes of a program and of the entries that it drafts, and
    publish those of another state; return its result.

    The ledger names the program, or the person who `decided`, if that is somebody's line. Billed 1
    read and 1 write, and as much for an entry that changes.
    """
    news: tuple[EntryChange, ...] = ()
    by, token = (decided.by, decided.token) if decided else (program_id, fleet.caller.token_id)

    async def change(program: Program) -> tuple[_C, Sequence[Write]]:
        nonlocal news
        outcome, drafts = await decide(program)
        news = drafts.news
        if decided is None or outcome.program is program:
            return outcome, drafts.writes(fleet, by, token)
        drafts = replace(drafts, why=dict.fromkeys(drafts.why, decided.why))
        line = fleet.knowledge.ledger.write(decided)
        return outcome, [*drafts.writes(fleet, by, token), line]

    outcome = await fleet.programs.update_with(program_id, change, now)
    await publish_changes(fleet, program_id, news)
    return outcome
