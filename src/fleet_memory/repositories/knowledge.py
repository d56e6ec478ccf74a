"""Shared knowledge on top of the four verbs: the entries, each changed in one commit with its
ledger line.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from fleet_memory.errors import KnowledgeNotFoundError
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    decoded_or_raised,
    document_blocks,
    iter_readable,
)
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.records import MAX_LINES_OF_ENTRY, Ledger, new_ledger_id
from fleet_memory.repositories.retrying import (
    commit_settled,
    retry_conflicts,
)
from fleet_memory.repositories.shelf import Shelves
from fleet_memory.repositories.snapshots import (
    ABSENT_ENTRY,
    Snapshots,
    VersionedEntry,
    changed_entry_fields,
    versioned_entry,
)
from fleet_memory.rules.entries import ledger_event
from fleet_memory.schemas.knowledge import Entry, EntryState, LedgerEvent, LedgerLine
from fleet_memory.stores import Query, Store, Write

ENTRIES_PER_BLOCK: Final = (
    500  # chosen: 500 entries of some 20,000 bytes are 10 MB in memory at once
)


class Knowledge:
    """The shared knowledge of one fleet: its entries, their `ledger`, the `snapshots` that boot
    reads, and the `shelves` of lessons beside them.
    """

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.ledger = Ledger(store, self.paths)
        self.snapshots = Snapshots(store, self.paths)
        self.shelves = Shelves(store, self.paths, self.snapshots)

    async def read_versioned(self, *keys: str) -> list[VersionedEntry]:
        """Return entries with the revisions that a commit must expect, in this order. Billed 1 read
        each.

        Raises DocumentRejectedError for one that cannot be read.
        """
        documents = await self.store.get(*(self.paths.entry(key) for key in keys))
        return [
            decoded_or_raised(each, versioned_entry) if each else ABSENT_ENTRY for each in documents
        ]

    async def read_through(self, keys: Iterable[str]) -> dict[str, VersionedEntry]:
        """Return entries by key, and those that they are read through, over any number of others.
        Billed 1 read each.
        """
        read, wanted = dict[str, VersionedEntry](), set(keys)
        while wanted:
            ordered = sorted(wanted)
            read |= zip(ordered, await self.read_versioned(*ordered), strict=True)
            older = {each.entry.read_through for each in read.values() if each.entry}
            wanted = {key for key in older if key is not None and key not in read}
        return read

    async def found(self, key: str, *, hidden: bool = False) -> Entry:
        """Return an entry; with `hidden`, for people, also one that was never published. Billed 1
        read.

        Raises KnowledgeNotFoundError, which names close keys.
        """
        entry = (await self.read_versioned(key))[0].entry
        if entry is None or not (hidden or entry.is_public):
            raise KnowledgeNotFoundError(key, await self.snapshots.close_keys(key))
        return entry

    async def in_state(self, state: EntryState, limit: int | None = None) -> list[VersionedEntry]:
        """Return the entries that were in this state when they changed last, or `limit` of them;
        unreadable ones skipped.

        The passing of time changes no document: an entry unconfirmed since is `fresh` here. Billed
        1 read each.
        """
        query = Query(self.paths.entries, {"state": state}, limit=limit)
        return [*iter_readable(await self.store.find(query), versioned_entry)]

    async def all(self, unreadable: list[UnreadableDocument] | None = None) -> list[VersionedEntry]:
        """Return every entry; one that cannot be read is skipped and added to `unreadable`. Billed
        1 read each.
        """
        blocks = document_blocks(self.store, Query(self.paths.entries), ENTRIES_PER_BLOCK)
        return [
            versioned
            async for documents in blocks
            for versioned in iter_readable(documents, versioned_entry, unreadable)
        ]

    async def update(
        self,
        key: str,
        change: Callable[[Entry], Entry],
        writes: Callable[[VersionedEntry, Entry], list[Write]] | None = None,
    ) -> Entry:
        """Apply `change` to an entry and return it, durably stored: with no ledger line, e.g. for a
        new vector, or by its `writes`, as those below.

        `change` is pure and may run several times; the same object writes nothing. A lost answer is
        settled. Raises KnowledgeNotFoundError, the errors of `change`, and ConflictError when every
        race was lost. Billed 1 read and at most 2 writes.
        """

        async def attempt() -> Entry:
            (before,) = await self.read_versioned(key)
            if before.entry is None:
                raise KnowledgeNotFoundError(key)
            after = change(before.entry)
            if after is not before.entry and (
                changed := (writes or self._entry_writes)(before, after)
            ):
                await commit_settled(self.store, *changed)
            return after

        return await retry_conflicts(attempt, f"entry {key}")

    def writes(  # noqa: PLR0913 each of them is a field of the ledger line
        self,
        before: VersionedEntry,
        after: Entry,
        *,
        by: str,
        why: str,
        now: datetime,
        event: LedgerEvent | None = None,
        token: str | None = None,
    ) -> list[Write]:
        """Return the writes of one change: the entry, and a ledger line if its state or its votes
        changed, with the ids of the lessons that joined.

        `event` names a change that always gets a line, e.g. "seeded". `token` is that of the
        caller.
        """
        if after is before.entry:
            return []
        event = event or ledger_event(before.entry, after, now)
        if event is None:
            return self._entry_writes(before, after)
        known = {*before.entry.provenance} if before.entry else set()
        joined = [line for line in after.provenance if line not in known]
        line = LedgerLine(
            event=event,
            key=after.key,
            at=now,
            by=by,
            why=why,
            patterns=tuple(f"{each.program_id}/{each.pattern_id}" for each in joined),
            token=token,
        )
        line_id = new_ledger_id()
        after = replace(after, ledger=(*after.ledger, line_id)[-MAX_LINES_OF_ENTRY:])
        return [*self._entry_writes(before, after), self.ledger.write(line, line_id)]

    def _entry_writes(self, before: VersionedEntry, after: Entry) -> list[Write]:
        fields = changed_entry_fields(before, after)
        return [Write(self.paths.entry(after.key), fields, before.revision)] if fields else []
