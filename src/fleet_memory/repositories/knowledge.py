"""Shared knowledge on top of the four verbs: the entries, each changed in one commit with its ledger line."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Final

from fleet_memory.errors import KnowledgeNotFoundError
from fleet_memory.repositories.commits import Witness, commit_settled, new_commit_id
from fleet_memory.repositories.entry_codec import ABSENT_ENTRY, VersionedEntry, changed_entry_fields, versioned_entry
from fleet_memory.repositories.ledger import MAX_LINES_OF_ENTRY, Ledger
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import Snapshots
from fleet_memory.repositories.unreadable import UnreadableDocument, decoded_or_raised, iter_readable
from fleet_memory.rules.knowledge.entries import ledger_event, ledger_id
from fleet_memory.schemas.knowledge import Entry, EntryState, LedgerEvent, LedgerLine
from fleet_memory.stores import Document, Json, Query, Store, Write

ENTRIES_PER_BLOCK: Final = 500  # chosen: 500 entries of some 20,000 bytes are 10 MB in memory at once


class Knowledge:
    """The shared knowledge of one fleet: its entries, their `ledger`, and the `snapshots` that boot reads."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.ledger = Ledger(store, self.paths)
        self.snapshots = Snapshots(store, self.paths)

    async def read_versioned(self, *keys: str) -> list[VersionedEntry]:
        """Return entries with what a commit needs to replace them, in this order. Billed 1 read each.

        Raises DocumentRejectedError for one that cannot be read.
        """
        documents = await self.store.get(*(self.paths.entry(key) for key in keys))
        return [decoded_or_raised(one, versioned_entry) if one else ABSENT_ENTRY for one in documents]

    async def found(self, key: str) -> Entry:
        """Return an entry. Raises KnowledgeNotFoundError, which names close keys. Billed 1 read."""
        entry = (await self.read_versioned(key))[0].entry
        if entry is None:
            keys = [row.key for row in (await self.snapshots.read()).rows if row.state != "candidate"]
            raise KnowledgeNotFoundError(key, get_close_matches(key, keys, 3, 0.5))
        return entry

    async def behind(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot is behind. Billed 1 read each."""
        return await self.snapshots.behind()

    async def in_state(self, state: EntryState) -> list[VersionedEntry]:
        """Return the entries that were in this state when they changed last, unreadable ones skipped.

        The passing of time changes no document: an entry that nobody has confirmed since is `fresh` here. Billed 1
        read each. Documents of the version before have no state.
        """
        return _versioned(await self.store.find(Query(self.paths.entries, {"state": state})))

    async def all(self, unreadable: list[UnreadableDocument] | None = None) -> list[VersionedEntry]:
        """Return every entry; one that cannot be read is skipped and added to `unreadable`. Billed 1 read each."""
        entries: list[VersionedEntry] = []
        after: str | None = None
        while True:
            documents = await self.store.find(Query(self.paths.entries, limit=ENTRIES_PER_BLOCK, after=after))
            after = documents[-1].ref.id if documents else after
            is_last = len(documents) < ENTRIES_PER_BLOCK
            entries += _versioned(documents, unreadable)
            if is_last:
                return entries

    async def update(
        self,
        key: str,
        change: Callable[[Entry], Entry],
        *,
        by: str,
        why: str,
        now: datetime,
        event: LedgerEvent | None = None,
    ) -> Entry:
        """Apply `change` to an entry in one commit with its ledger line, and return the entry, durably stored.

        `change` is pure, settles the entry itself, and may run several times; the same object writes nothing. `event`
        and the ledger: see `writes`. A lost answer is settled. Raises KnowledgeNotFoundError, what `change` raises,
        and ConflictError when every race was lost. Billed 1 read and at most 2 writes.
        """

        def planned(versioned: VersionedEntry, after: Entry) -> list[Write]:
            return self.writes(versioned, after, by=by, why=why, now=now, commit_id=new_commit_id(), event=event)

        return await self._commit(key, change, planned)

    async def update_without_ledger(self, key: str, change: Callable[[Entry], Entry]) -> Entry:
        """Do what `update` does, with no ledger line, e.g. for a new vector."""

        def planned(versioned: VersionedEntry, after: Entry) -> list[Write]:
            return [Write(self.paths.entry(key), changed_entry_fields(versioned, after), versioned.revision)]

        return await self._commit(key, change, planned)

    def writes(  # noqa: PLR0913 each of them is a field of the ledger line
        self,
        before: VersionedEntry,
        after: Entry,
        *,
        by: str,
        why: str,
        now: datetime,
        commit_id: str,
        patterns: Sequence[str] = (),
        event: LedgerEvent | None = None,
    ) -> list[Write]:
        """Return the writes of one change: the entry, and a ledger line if its state or its votes changed.

        `event` names a change that the ledger has whatever follows from it, e.g. "seeded". `commit_id` is that of the
        commit, so that no other line has the same id. `patterns` are the ids of the lessons behind the change.
        """
        if after is before.entry:
            return []
        event = event or ledger_event(before.entry, after, now)
        lines: list[Write] = []
        if event is not None:
            line_id = ledger_id(after.key, after.version, commit_id)
            line = LedgerLine(event=event, key=after.key, at=now, by=by, why=why, patterns=tuple(patterns))
            lines.append(self.ledger.write(line, line_id))
            after = replace(after, ledger=(*after.ledger, line_id)[-MAX_LINES_OF_ENTRY:])
        fields = changed_entry_fields(before, after)
        return [*([Write(self.paths.entry(after.key), fields, before.revision)] if fields else ()), *lines]

    async def _commit(
        self, key: str, change: Callable[[Entry], Entry], planned: Callable[[VersionedEntry, Entry], list[Write]]
    ) -> Entry:
        async def attempt() -> Entry:
            (versioned,) = await self.read_versioned(key)
            if versioned.entry is None:
                raise KnowledgeNotFoundError(key)
            after = change(versioned.entry)
            if after is versioned.entry or not (writes := planned(versioned, after)):
                return after
            written = writes[0].fields or {}
            witness = Witness(self.paths.entry(key), versioned.revision, lambda found: _shows(found, written))
            await commit_settled(self.store, writes, witness)
            return after

        return await retry_conflicts(attempt, f"entry {key}")


def _shows(document: Document, written: Mapping[str, Json]) -> bool:
    return all(document.fields.get(name) == value for name, value in written.items())


def _versioned(
    documents: Iterable[Document], unreadable: list[UnreadableDocument] | None = None
) -> list[VersionedEntry]:
    return list(iter_readable(documents, versioned_entry, unreadable))
