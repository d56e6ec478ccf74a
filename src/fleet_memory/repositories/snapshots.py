"""The snapshot: shared knowledge as boot reads it, in shards, published from the entries."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, cast

from fleet_memory.errors import ConflictError
from fleet_memory.repositories.entry_codec import VersionedEntry, versioned_entry
from fleet_memory.repositories.limits import MAX_ENTRIES_PER_PUBLICATION, MAX_SNAPSHOT_SHARD_BYTES
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, Snapshot
from fleet_memory.stores import ABSENT, Document, Json, Query, Store, Write

READ_WITHIN_S: Final = 1.0  # seconds; chosen: a reader meets a snapshot that is being replaced once, or a broken one


class Publication(NamedTuple):
    """The writes that bring the snapshot up to date, under the lease of the publisher.

    `drafts` come first, in as many commits as they need: nobody reads them. `switch` is one commit and makes all of it
    the snapshot. `complete` is False when entries are left for another one.
    """

    drafts: list[Write]
    switch: list[Write]
    complete: bool


class Snapshots:
    """The snapshot of one fleet; the latest version that was read is cached."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self._store = store
        self._paths = paths
        self._cached = Snapshot()

    async def read(self) -> Snapshot:
        """Return the knowledge as boot reads it. Billed 1 read, and 1 per further shard when the version is new.

        Raises ConflictError when it is replaced again and again while it is being read, or lacks a shard.
        """
        return await retry_conflicts(self._read, None, READ_WITHIN_S)

    async def _read(self) -> Snapshot:
        head = await self._head()
        if head is None:
            return Snapshot()
        if head.fields["version"] == self._cached.version:
            at = head.fields.get("consolidatedAt")
            self._cached = _consolidated(self._cached, datetime.fromisoformat(str(at)) if at else None)
            return self._cached
        parts, half = int(cast("int", head.fields["parts"])), _half(head)
        refs = [self._paths.snapshot_shard(part, half) for part in range(1, parts)]
        rest = await self._store.get(*refs) if refs else []
        if not all(part and part.fields["version"] == head.fields["version"] for part in rest):
            raise ConflictError("Shared knowledge is being republished; call again in a moment.")
        self._cached = _snapshot([head, *cast("list[Document]", rest)])
        return self._cached

    async def behind(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot is behind. Billed 1 read each."""
        return [
            versioned_entry(document)
            for document in await self._store.find(Query(self._paths.entries, {"unpublished": True}))
        ]

    async def missing(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot does not show as they are. Billed 1 read per entry, and the snapshot."""
        rows = {row.key: row for row in (await self.read()).rows}
        every = [versioned_entry(document) for document in await self._store.find(Query(self._paths.entries))]
        return [
            versioned
            for versioned in every
            if versioned.entry and not _is_shown(versioned.entry, rows.get(versioned.entry.key))
        ]

    def first(self, version: int) -> Write:
        """Return the write that begins a snapshot where there is none, after `version`."""
        return Write(self._paths.snapshot_shard(0), _shards(Snapshot(version=version))[0], ABSENT)

    async def publication(self, *, consolidated_at: datetime | None = None) -> Publication:
        """Return what brings the snapshot up to date with the entries.

        `consolidated_at` is when a consolidation ended, None when none did. The shards after the first are written in
        two places by turns: whoever reads the old ones meanwhile finds them whole.
        """
        head = await self._head()
        old = await self.read()
        behind = await self.behind()
        if head is not None and not behind:
            at = consolidated_at or old.consolidated_at
            moved = Write(head.ref, {"consolidatedAt": at.isoformat() if at else None}, head.revision)
            return Publication([], [moved], complete=True)
        taken = behind[:MAX_ENTRIES_PER_PUBLICATION]
        new, writes = _published(self._paths, old, taken, consolidated_at)
        half = 1 - _half(head) if head else 0
        first, *rest = _shards(new)
        drafts = [Write(self._paths.snapshot_shard(part, half), fields) for part, fields in enumerate(rest, 1)]
        revision = head.revision if head else ABSENT
        switch = Write(self._paths.snapshot_shard(0), first | {"half": half}, revision)
        return Publication(drafts, [switch, *writes], complete=len(taken) == len(behind))

    async def _head(self) -> Document | None:
        (head,) = await self._store.get(self._paths.snapshot_shard(0))
        return head


def _half(head: Document) -> int:
    return int(cast("int", head.fields.get("half", 0)))


def row_of(entry: Entry, since: int, version: int) -> KnowledgeRow:
    """Return an entry as the snapshot of `version` holds it; `since` is the version it first appeared in."""
    value = entry.value
    return KnowledgeRow(
        key=entry.key,
        tier=entry.tier,
        **value.statement,
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
    paths: FleetPaths, old: Snapshot, behind: Sequence[VersionedEntry], consolidated_at: datetime | None
) -> tuple[Snapshot, list[Write]]:
    """Return the snapshot after `old` with these entries as they are, and the writes that say so of them."""
    version = old.version + 1 if behind else max(old.version, 1)
    rows = {row.key: row for row in old.rows}
    writes: list[Write] = []
    for entry, revision in behind:
        if entry is not None:
            since = entry.since or version
            rows[entry.key] = row_of(entry, since, version)
            writes.append(Write(paths.entry(entry.key), {"unpublished": False, "since": since}, revision))
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
