"""Shared knowledge on top of the four verbs: the entries, each changed in one commit with its ledger line."""

from collections.abc import Callable
from difflib import get_close_matches

from fleet_memory.errors import KnowledgeNotFoundError
from fleet_memory.repositories.entry_codec import VersionedEntry, changed_entry_fields, versioned_entry
from fleet_memory.repositories.ledger import Ledger
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import Snapshots
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.stores import Store, Write


class Knowledge:
    """The shared knowledge of one fleet: its entries, their `ledger`, and the `snapshots` that boot reads."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.ledger = Ledger(store, self.paths)
        self.snapshots = Snapshots(store, self.paths)

    async def read_versioned(self, *keys: str) -> list[VersionedEntry]:
        """Return entries with what a commit needs to replace them. Billed 1 read each."""
        return [versioned_entry(one) for one in await self.store.get(*(self.paths.entry(key) for key in keys))]

    async def found(self, key: str) -> Entry:
        """Return an entry. Raises KnowledgeNotFoundError, which names close keys. Billed 1 read."""
        entry = (await self.read_versioned(key))[0].entry
        if entry is None:
            keys = [row.key for row in (await self.snapshots.read()).rows]
            raise KnowledgeNotFoundError(key, get_close_matches(key, keys, 3, 0.5))
        return entry

    async def update(self, key: str, change: Callable[[Entry], tuple[Entry, LedgerLine]]) -> Entry:
        """Apply `change` to an entry and its ledger in one commit; an unchanged entry writes nothing.

        `change` is pure and may run several times; it must not raise ConflictError, which would run it again. Raises
        KnowledgeNotFoundError, and ConflictError when every race was lost.
        """

        def planned(versioned: VersionedEntry, entry: Entry) -> tuple[Entry, list[Write]]:
            after, line = change(entry)
            return after, self.writes(versioned, after, line)

        return await self._commit(key, planned)

    async def update_without_ledger(self, key: str, change: Callable[[Entry], Entry]) -> Entry:
        """Do what `update` does, with no ledger line and no new version, e.g. for a new vector."""

        def planned(versioned: VersionedEntry, entry: Entry) -> tuple[Entry, list[Write]]:
            after = change(entry)
            return after, [Write(self.paths.entry(key), after.wire(), versioned.revision)]

        return await self._commit(key, planned)

    def writes(self, before: VersionedEntry, after: Entry, line: LedgerLine) -> list[Write]:
        """Return the writes of one change: the entry and its ledger line."""
        fields = changed_entry_fields(before.entry, after)
        return [Write(self.paths.entry(after.key), fields, before.revision), self.ledger.write(after, line)]

    async def _commit(self, key: str, planned: Callable[[VersionedEntry, Entry], tuple[Entry, list[Write]]]) -> Entry:
        async def attempt() -> Entry:
            (versioned,) = await self.read_versioned(key)
            if versioned.entry is None:
                raise KnowledgeNotFoundError(key)
            after, writes = planned(versioned, versioned.entry)
            if after is not versioned.entry:
                await self.store.commit(*writes)
            return after

        return await retry_conflicts(attempt, f"entry {key}")
