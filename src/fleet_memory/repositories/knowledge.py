"""Shared knowledge on top of the four verbs: entries, their ledger, and the snapshot that boot reads."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches
from typing import Final, NamedTuple, cast

from fleet_memory.errors import ConflictError, KnowledgeNotFoundError
from fleet_memory.repositories.leases import lease_ref
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, LedgerEvent, LedgerLine, Snapshot
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Store, Write, document_id

MAX_SNAPSHOT_SHARD_BYTES: Final = 700_000  # bytes of rows; Firestore's documents end at 1 MiB
# entries that one publication takes up; each costs its commit some 350 bytes
MAX_ENTRIES_PER_PUBLICATION: Final = 3_000
_MAX_SNAPSHOT_READS: Final = 5  # a snapshot that is replaced while being read is read again
_MAX_RACES: Final = 20


class VersionedEntry(NamedTuple):
    """An entry as it was read, None when there is none."""

    entry: Entry | None
    document: Document | None


class Publication(NamedTuple):
    """What brings the snapshot up to date, under the lease of whoever publishes.

    `drafts` come first, in as many commits as they need: nobody reads them. `switch` is one commit and makes all of it
    the snapshot. `complete` is False when entries are left for another one.
    """

    drafts: list[Write]
    switch: list[Write]
    complete: bool


class Knowledge:
    """The shared knowledge of one fleet."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.fleet_id = fleet_id
        self._fleet = f"fleets/{document_id(fleet_id)}"
        self._cached = Snapshot()

    async def snapshot(self) -> Snapshot:
        """Return the knowledge as boot reads it. Billed 1 read, and 1 per further shard when the version is new."""
        for _ in range(_MAX_SNAPSHOT_READS):
            head = (await self.store.get(self._shard(0)))[0]
            if head is None:
                return Snapshot()
            if head.fields["version"] == self._cached.version:
                at = head.fields.get("consolidatedAt")
                self._cached = _consolidated(self._cached, datetime.fromisoformat(str(at)) if at else None)
                return self._cached
            parts = int(cast("int", head.fields["parts"]))
            half = int(cast("int", head.fields.get("half", 0)))
            rest = await self.store.get(*(self._shard(part, half) for part in range(1, parts))) if parts > 1 else []
            if all(part and part.fields["version"] == head.fields["version"] for part in rest):
                self._cached = _snapshot([head, *cast("list[Document]", rest)])
                return self._cached
        raise ConflictError("Shared knowledge is being republished; call again in a moment.")

    async def read_versioned(self, *keys: str) -> list[VersionedEntry]:
        """Return entries with what a commit needs to replace them. Billed 1 read each."""
        return [versioned_entry(document) for document in await self.store.get(*(self.ref(key) for key in keys))]

    async def found(self, key: str) -> Entry:
        """Return an entry. Raises KnowledgeNotFoundError, which names close keys. Billed 1 read."""
        entry = (await self.read_versioned(key))[0].entry
        if entry is None:
            keys = [row.key for row in (await self.snapshot()).rows]
            raise KnowledgeNotFoundError(key, get_close_matches(key, keys, 3, 0.5))
        return entry

    async def behind_snapshot(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot is behind. Billed 1 read each."""
        return [
            versioned_entry(document) for document in await self.store.find(Query(self.entries, {"unpublished": True}))
        ]

    async def not_in_snapshot(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot does not show as they are. Billed 1 read per entry, and the snapshot."""
        rows = {row.key: row for row in (await self.snapshot()).rows}
        every = [versioned_entry(document) for document in await self.store.find(Query(self.entries))]
        return [
            versioned
            for versioned in every
            if versioned.entry and not _is_shown(versioned.entry, rows.get(versioned.entry.key))
        ]

    def new_snapshot(self, version: int) -> Write:
        """Return the write that begins a snapshot where there is none, after `version`."""
        fields = _shards(Snapshot(version=version))[0]
        return Write(self._shard(0), fields, ABSENT)

    async def update(self, key: str, change: Callable[[Entry], tuple[Entry, LedgerLine]]) -> Entry:
        """Apply `change` to an entry and its ledger in one commit; an unchanged entry writes nothing.

        `change` is pure and may run several times. Raises KnowledgeNotFoundError, and ConflictError when every race
        was lost.
        """

        def written(versioned: VersionedEntry, entry: Entry) -> tuple[Entry, list[Write]]:
            after, line = change(entry)
            return after, self.writes(versioned, after, line)

        return await self._raced(key, written)

    async def update_silently(self, key: str, change: Callable[[Entry], Entry]) -> Entry:
        """Do what `update` does for what is no news to anyone: no ledger line, the same version."""

        def written(versioned: VersionedEntry, entry: Entry) -> tuple[Entry, list[Write]]:
            after = change(entry)
            revision = versioned.document.revision if versioned.document else ABSENT
            return after, [Write(self.ref(key), _entry_fields(after), revision)]

        return await self._raced(key, written)

    async def _raced(self, key: str, written: Callable[[VersionedEntry, Entry], tuple[Entry, list[Write]]]) -> Entry:
        for attempt in range(_MAX_RACES):
            versioned = (await self.read_versioned(key))[0]
            if versioned.entry is None:
                raise KnowledgeNotFoundError(key)
            entry, writes = written(versioned, versioned.entry)
            try:
                if entry is not versioned.entry:
                    await self.store.commit(*writes)
            except ConflictError:
                if attempt == _MAX_RACES - 1:
                    raise
                continue
            return entry
        raise AssertionError("unreachable: the loop returns or raises")

    async def count_changes(self, event: LedgerEvent) -> int:
        """Return how many lines of this kind the ledger holds. Billed as one sum."""
        return await self.store.total(Query(f"{self._fleet}/ledger", {"event": event}))

    async def history(self, entry: Entry, most: int) -> list[LedgerLine]:
        """Return an entry's newest ledger lines, oldest first. Billed 1 read each."""
        versions = range(max(1, entry.version - most + 1), entry.version + 1)
        documents = await self.store.get(*(self._ledger(entry.key, version) for version in versions))
        return [LedgerLine.from_fields(document.fields) for document in documents if document]

    def ref(self, key: str) -> Ref:
        """Return where an entry's document is."""
        return Ref(self.entries, document_id(key))

    def lease(self, name: str) -> Ref:
        """Return where the lease of this name is."""
        return lease_ref(self.fleet_id, name)

    def writes(self, before: VersionedEntry, after: Entry, line: LedgerLine) -> list[Write]:
        """Return the writes of one change: the entry and its ledger line, whose id makes a second one impossible."""
        expect = before.document.revision if before.document else ABSENT
        return [
            Write(self.ref(after.key), _changed(before.entry, after), expect),
            Write(self._ledger(after.key, after.version), line.wire(), ABSENT),
        ]

    async def publication(self, *, consolidated_at: datetime | None = None) -> Publication:
        """Return what brings the snapshot up to date with the entries.

        `consolidated_at` is when a consolidation ended, None when none did. The shards after the first are written in
        two places by turns: whoever reads the old ones meanwhile finds them whole.
        """
        head = (await self.store.get(self._shard(0)))[0]
        old = await self.snapshot()
        behind = await self.behind_snapshot()
        if head is not None and not behind:
            at = consolidated_at or old.consolidated_at
            moved = Write(head.ref, {"consolidatedAt": at.isoformat() if at else None}, head.revision)
            return Publication([], [moved], complete=True)
        taken = behind[:MAX_ENTRIES_PER_PUBLICATION]
        new, writes = _published(old, taken, consolidated_at)
        half = 1 - int(cast("int", head.fields.get("half", 0))) if head else 0
        first, *rest = _shards(new)
        drafts = [Write(self._shard(part, half), fields) for part, fields in enumerate(rest, 1)]
        switch = Write(self._shard(0), first | {"half": half}, head.revision if head else ABSENT)
        return Publication(drafts, [switch, *writes], complete=len(taken) == len(behind))

    @property
    def entries(self) -> str:
        """The collection of the entries."""
        return f"{self._fleet}/gsp"

    def _ledger(self, key: str, version: int) -> Ref:
        return Ref(f"{self._fleet}/ledger", document_id(f"{key}#{version}"))

    def _shard(self, part: int, half: int = 0) -> Ref:
        return Ref(f"{self._fleet}/snapshots", f"{'st'[half]}{part}")


def versioned_entry(document: Document | None) -> VersionedEntry:
    """Return the entry that a document holds."""
    if document is None:
        return VersionedEntry(None, None)
    return VersionedEntry(Entry.from_fields(document.fields), document)


def _entry_fields(entry: Entry) -> dict[str, Json]:
    return entry.wire()


def _changed(before: Entry | None, after: Entry) -> dict[str, Json]:
    """Return the fields of an entry that differ; its provenance is long and seldom does."""
    old = _entry_fields(before) if before else {}
    return {name: value for name, value in _entry_fields(after).items() if name not in old or old[name] != value}


def row_of(entry: Entry, since: int, version: int) -> KnowledgeRow:
    """Return an entry as the snapshot of `version` holds it; `since` is the version it first appeared in."""
    value = entry.value
    return KnowledgeRow(
        key=entry.key,
        tier=entry.tier,
        pattern=value.pattern,
        domain=value.domain,
        confidence=value.confidence,
        contributors=value.contributors,
        evidence_count=value.evidence_count,
        last_confirmed=entry.last_confirmed,
        contradicted_by=tuple(word.program_id for word in entry.contradictions),
        status=entry.status,
        since=since,
        changed_in=version,
        wordings=tuple(
            sorted(text_hash(text) for text in {value.pattern, *(line.pattern for line in entry.provenance)})
        ),
        vector=entry.vector,
        embedder=entry.embedder,
    )


def _published(
    old: Snapshot, behind: Sequence[VersionedEntry], consolidated_at: datetime | None
) -> tuple[Snapshot, list[Write]]:
    """Return the snapshot after `old` with these entries as they are, and the writes that say so of them."""
    version = old.version + 1 if behind else max(old.version, 1)
    rows = {row.key: row for row in old.rows}
    writes: list[Write] = []
    for entry, document in behind:
        if entry is not None and document is not None:
            since = entry.since or version
            rows[entry.key] = row_of(entry, since, version)
            writes.append(Write(document.ref, {"unpublished": False, "since": since}, document.revision))
    new = Snapshot(
        version=version,
        consolidated_at=consolidated_at or old.consolidated_at,
        rows=tuple(rows[key] for key in sorted(rows)),
    )
    return new, writes


def _is_shown(entry: Entry, row: KnowledgeRow | None) -> bool:
    return row is not None and row_of(entry, row.since, row.changed_in) == row


def _shards(snapshot: Snapshot) -> list[dict[str, Json]]:
    """Return the fields of each shard: rows as JSON lines, under 700 KB each; there is always a first one."""
    texts: list[list[str]] = [[]]
    size = 0
    for row in snapshot.rows:
        line = row.compact()
        size += len(line.encode()) + 1
        if size > MAX_SNAPSHOT_SHARD_BYTES and texts[-1]:
            texts.append([])
            size = len(line.encode()) + 1
        texts[-1].append(line)
    at = snapshot.consolidated_at
    return [
        {
            "version": snapshot.version,
            "parts": len(texts),
            "consolidatedAt": at.isoformat() if at else None,
            "text": "\n".join(lines),
        }
        for lines in texts
    ]


def _consolidated(snapshot: Snapshot, at: datetime | None) -> Snapshot:
    # A copy checks every row.
    return snapshot if at == snapshot.consolidated_at else replace(snapshot, consolidated_at=at)


def _snapshot(parts: Sequence[Document]) -> Snapshot:
    lines = [line for part in parts for line in str(part.fields["text"]).split("\n") if line]
    return Snapshot.from_fields(
        {
            "version": parts[0].fields["version"],
            "consolidatedAt": parts[0].fields.get("consolidatedAt"),
            "rows": [json.loads(line) for line in lines],
        }
    )
