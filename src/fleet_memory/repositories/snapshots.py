"""The entries of shared knowledge as documents, and the snapshot that boot reads, in shards."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from fleet_memory.errors import ConflictError
from fleet_memory.repositories.documents import (
    decoded_or_raised,
    iter_readable,
    text_of,
    value_of,
)
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.entries import doubts, oldest_contributor, recorded_state
from fleet_memory.rules.text.keys import close_names
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, Snapshot
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Store, Write

# bytes of rows; a row has at most some 40,000 bytes, and boot reads fewer shards the larger they
# are. Chosen
MAX_SNAPSHOT_SHARD_BYTES: Final = 700_000
# entries that one publication takes up; each costs its commit some 350 bytes of `MAX_COMMIT_BYTES`
MAX_ENTRIES_PER_PUBLICATION: Final = 3_000


class VersionedEntry(NamedTuple):
    """An entry as it was read, None for none, and the revision that a commit must expect."""

    entry: Entry | None
    revision: str


ABSENT_ENTRY = VersionedEntry(None, ABSENT)


def versioned_entry(document: Document) -> VersionedEntry:
    """Return a document's entry.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    return VersionedEntry(Entry.from_fields(document.fields), document.revision)


def changed_entry_fields(before: VersionedEntry, after: Entry) -> dict[str, Json]:
    """Return the fields of an entry that differ; its provenance is long and seldom does. None
    removes a field.

    `state` is there to be asked for: the entry's state without the passing of time.
    """
    old, new = _fields(before.entry) if before.entry else {}, _fields(after)
    gone: dict[str, Json] = dict.fromkeys(old.keys() - new.keys())
    return gone | {
        name: value for name, value in new.items() if name not in old or old[name] != value
    }


def _fields(entry: Entry) -> dict[str, Json]:
    return {**entry.wire(), "state": recorded_state(entry)}


# seconds; chosen: a reader meets a snapshot that is being replaced once, or a broken one
READ_WITHIN_S: Final = 1.0


class SnapshotWrites(NamedTuple):
    """The writes that bring the snapshot up to date, under the lease of the publisher.

    `drafts` come first, in as many commits as they need; no reader sees them. `switch` is one
    commit and makes it all the snapshot, `outdated` removes the shards of the one before.
    `complete` is False when entries are left for another one.
    """

    drafts: Sequence[Write]
    switch: Sequence[Write]
    outdated: Sequence[Write]
    complete: bool


class ShelfMark(NamedTuple):
    """Which shelf is beside the snapshot: its version, how many shards it has, and when the
    programs were read that it was made of.
    """

    version: str
    parts: int
    at: str


def in_shards(lines: Iterable[str]) -> list[str]:
    """Return lines as texts under 700 KB each; there is always a first one."""
    shards, size = [list[str]()], 0
    for line in lines:
        size += (length := len(line.encode()) + 1)
        if size > MAX_SNAPSHOT_SHARD_BYTES and shards[-1]:
            shards.append([])
            size = length
        shards[-1].append(line)
    return ["\n".join(lines) for lines in shards]


def lines_in(shards: Iterable[Document | None]) -> list[str]:
    """Return the lines of shards. Raises ConflictError when one was removed: a later version has
    replaced them.
    """
    lines = list[str]()
    for shard in shards:
        if shard is None:
            raise ConflictError("Shared knowledge is being republished; call again in a moment.")
        lines += filter(None, str(shard.fields["text"]).split("\n"))
    return lines


class Snapshots:
    """The snapshot of one fleet; the latest that was read is cached, by its version and time."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self._store = store
        self._paths = paths
        self._cached = Snapshot()
        self._version: object = None  # of the cached one, with its time
        self.shelf_mark: ShelfMark | None = None  # of the head that was read last

    async def read(self) -> Snapshot:
        """Return the knowledge as boot reads it. Billed 1 read, and 1 per further shard when the
        version is new.

        Raises ConflictError when the snapshot is replaced again and again while it is being read,
        or lacks a shard, and DocumentRejectedError when it cannot be read.
        """
        return await retry_conflicts(self._read, None, READ_WITHIN_S)

    async def read_from(self, head: Document | None) -> Snapshot:
        """Like `read`, of the head, which was read already. Billed 1 read less."""
        try:
            return await self._snapshot_of(head)
        except ConflictError:
            return await self.read()

    async def _read(self) -> Snapshot:
        return await self._snapshot_of(await self.head())

    async def head(self) -> Document | None:
        """Return the head, the first shard. Billed 1 read."""
        (head,) = await self._store.get(self._paths.snapshot)
        self._mark(head)
        return head

    def _mark(self, head: Document | None) -> None:
        shelf = head.fields.get("shelf") if head else None
        self.shelf_mark = ShelfMark(**cast("dict[str, Any]", shelf)) if shelf else None

    def _beside(self, head: Document) -> list[Ref]:
        parts = int(cast("int", head.fields.get("parts", 0)))
        return self._paths.snapshot_shards(str(head.fields["version"]), parts)

    async def _snapshot_of(self, head: Document | None) -> Snapshot:
        self._mark(head)
        if head is None:
            return Snapshot()
        at = head.fields.get("consolidatedAt")
        consolidated_at = datetime.fromisoformat(str(at)) if at else None
        version = head.fields["version"], head.fields.get("versionAt")
        if version != self._version:
            refs = self._beside(head)
            lines = lines_in([head, *(await self._store.get(*refs) if refs else ())])

            def decoded(head: Document) -> Snapshot:
                rows = [value_of(KnowledgeRow, line) for line in lines]
                return Snapshot.from_fields({**head.fields, "consolidatedAt": at, "rows": rows})

            self._cached, self._version = decoded_or_raised(head, decoded), version
        if consolidated_at != self._cached.consolidated_at:  # a copy checks every row
            self._cached = replace(self._cached, consolidated_at=consolidated_at)
        return self._cached

    async def close_keys(self, key: str) -> tuple[str, ...]:
        """Return up to three keys that agents may name, close to one that they may not. Billed as
        `read`.
        """
        await self.read()
        return self.known_close_keys(key)

    def known_close_keys(self, key: str) -> tuple[str, ...]:
        """Return the close keys of the snapshot that this process read last; none before. Billed
        nothing.
        """
        return close_names(key, (row.key for row in self._cached.rows if row.is_known))

    def known_domains(self) -> Mapping[str, int]:
        """Return how many entries that agents read each domain has, in the snapshot that this
        process read last.

        Billed nothing: it is empty until something has read the snapshot.
        """
        return Counter(row.domain for row in self._cached.readable)

    async def behind(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot is behind. Billed 1 read each."""
        waiting = await self._store.find(Query(self._paths.entries, {"unpublished": True}))
        return list(iter_readable(waiting, versioned_entry))

    async def published_lately(self, now: datetime, within_s: float) -> bool:
        """Whether a snapshot was written less than `within_s` seconds from `now`, by any server.
        Billed 1 read.
        """
        head = await self.head()
        at = head.fields.get("publishedAt") if head else None
        return at is not None and abs(now - datetime.fromisoformat(str(at))) < timedelta(
            seconds=within_s
        )

    async def leftovers(self) -> list[Write]:
        """Return the writes that remove shards of earlier snapshots and shelves. Billed 1 read for
        each shard.
        """
        head, now = await self.head(), {self._paths.snapshot}
        if head is not None:
            now.update(self._beside(head))
        if mark := self.shelf_mark:
            now.update(self._paths.snapshot_shards(mark.version, mark.parts))
        shards = await self._store.find(Query(self._paths.snapshot.collection))
        return [Write(shard.ref, None, shard.revision) for shard in shards if shard.ref not in now]

    async def publication(
        self,
        *,
        now: datetime,
        behind: Sequence[VersionedEntry],
        consolidated_at: datetime | None = None,
        without: Collection[str] = (),
        shelf: Mapping[str, Json] = {},
    ) -> SnapshotWrites:
        """Return the writes that bring the snapshot up to date with entries that it is behind, at
        `now`.

        Rows of keys in `without` go, unless their entry is behind. `consolidated_at` is when a run
        that proposed pairs ended, None when none did; `shelf` are fields of the head. A candidate
        has no row, unless it had one: that stays, so that a reader learns that the entry is gone.
        A reader of shards that are removed meanwhile reads the new ones.
        """
        head = await self.head()
        old = await self.read_from(head)
        taken, version = behind[:MAX_ENTRIES_PER_PUBLICATION], old.version + 1
        rows = {row.key: row for row in old.rows if row.key not in without}
        marks = list[Write]()
        for entry, revision in taken:
            if entry is not None:
                if row := _row_after(entry, rows.get(entry.key), version):
                    rows[entry.key] = row
                marks.append(Write(self._paths.entry(entry.key), {"unpublished": False}, revision))
        ordered = tuple(rows[key] for key in sorted(rows))
        at = consolidated_at or old.consolidated_at
        fields: dict[str, Json] = {
            "publishedAt": now.isoformat(),
            "consolidatedAt": at.isoformat() if at else None,
            **shelf,
        }
        drafts, outdated = list[Write](), list[Write]()
        if head is None or ordered != old.rows:
            first, *rest = in_shards(map(text_of, ordered))
            beside = zip(self._paths.snapshot_shards(str(version), len(rest)), rest, strict=True)
            drafts = [Write(ref, {"text": text}) for ref, text in beside]
            outdated = [Write(ref, None) for ref in self._beside(head)] if head else []
            fields |= {"version": version, "versionAt": now.isoformat()}
            fields |= {"parts": len(rest), "text": first}
        switch = Write(self._paths.snapshot, fields, head.revision if head else ABSENT)
        return SnapshotWrites(drafts, [switch, *marks], outdated, len(taken) == len(behind))


def row_of(entry: Entry, since: int, version: int) -> KnowledgeRow:
    """Return an entry's row in the snapshot of `version`; `since` is the version it first appeared
    in.
    """
    return KnowledgeRow(
        key=entry.key,
        tier=entry.tier,
        **entry.value.statement,
        last_confirmed=entry.last_confirmed,
        state=recorded_state(entry),
        doubts=doubts(entry),
        also=entry.also,
        project_id=entry.project_id,
        asked=oldest_contributor(entry),
        relearnt=entry.relearnt,
        never_published=not entry.is_public,
        since=since,
        changed_in=version,
        vector=entry.vector,
        embedder=entry.embedder,
    )


def _row_after(entry: Entry, before: KnowledgeRow | None, version: int) -> KnowledgeRow | None:
    """Return the row of an entry, None for a candidate that had none.

    A later confirmation alone is no change, and neither is another vector: no answer shows it.
    """
    if before is None:
        return None if recorded_state(entry) == "candidate" else row_of(entry, version, version)
    row = row_of(entry, before.since, before.changed_in)
    aside = replace(
        row,
        last_confirmed=before.last_confirmed,
        vector=before.vector,
        embedder=before.embedder,
    )
    return row if aside == before else replace(row, changed_in=version)
