"""The entries of shared knowledge as documents, and the snapshot that boot reads, in shards."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast

from fleet_memory.errors import ConflictError
from fleet_memory.repositories.documents import decoded_or_raised, iter_readable
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.entries import doubts, oldest_contributor, recorded_state
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, Snapshot
from fleet_memory.stores import ABSENT, Document, Json, Query, Store, Write

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


_ASIDE: Final = (
    "publishedAt",
    "consolidatedAt",
    "shelf",
)  # fields of the first shard that change without a row
READ_WITHIN_S: Final = (
    1.0  # seconds; chosen: a reader meets a snapshot that is being replaced once, or a broken one
)


class SnapshotWrites(NamedTuple):
    """The writes that bring the snapshot up to date, under the lease of the publisher.

    `drafts` come first, in as many commits as they need; no reader sees them. `switch` is one
    commit and makes it all the snapshot. `complete` is False when entries are left for another one.
    """

    drafts: list[Write]
    switch: list[Write]
    complete: bool


class ShelfMark(NamedTuple):
    """Which shelf is beside the snapshot: its version, in which half its shards are, how many, and
    when the programs were read that it was made of.
    """

    version: str
    half: int
    parts: int
    at: str


class Snapshots:
    """The snapshot of one fleet; the latest that was read is cached, by the content of its first
    shard.
    """

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self._store = store
        self._paths = paths
        self._cached = Snapshot()
        self._first: dict[str, Json] = {}  # of the cached one: its first shard, without the times
        self._domains: Mapping[str, int] | None = None  # of the cached one, once it was asked for
        self.first_ref = paths.snapshot_shard(0)
        self.shelf_mark: ShelfMark | None = None  # of the first shard that was read last

    async def read(self) -> Snapshot:
        """Return the knowledge as boot reads it. Billed 1 read, and 1 per further shard when the
        version is new.

        A row that is stored as it was read last is the same `KnowledgeRow`. Raises ConflictError
        when the snapshot is replaced again and again while it is being read, or lacks a shard, and
        DocumentRejectedError when it cannot be read.
        """
        return await retry_conflicts(self._read, None, READ_WITHIN_S)

    async def read_from(self, first: Document | None) -> Snapshot:
        """Like `read`, of the document at `first_ref`, which was read already. Billed 1 read
        less.
        """
        try:
            return await self._snapshot_of(first)
        except ConflictError:
            return await self.read()

    async def _read(self) -> Snapshot:
        return await self._snapshot_of(await self.head())

    async def head(self) -> Document | None:
        """Return the first shard. Billed 1 read."""
        (head,) = await self._store.get(self._paths.snapshot_shard(0))
        self._mark(head)
        return head

    def _mark(self, head: Document | None) -> None:
        shelf = head.fields.get("shelf") if head else None
        self.shelf_mark = ShelfMark(**cast("dict[str, Any]", shelf)) if shelf else None

    async def _snapshot_of(self, head: Document | None) -> Snapshot:
        self._mark(head)
        if head is None:
            return Snapshot()
        first = {name: value for name, value in head.fields.items() if name not in _ASIDE}
        if first == self._first:
            at = head.fields.get("consolidatedAt")
            self._cached = _consolidated(
                self._cached, datetime.fromisoformat(str(at)) if at else None
            )
            return self._cached
        parts, half = int(cast("int", head.fields["parts"])), _half(head)
        refs = [self._paths.snapshot_shard(part, half) for part in range(1, parts)]
        rest = await self._store.get(*refs) if refs else []
        if not all(part and part.fields["version"] == head.fields["version"] for part in rest):
            raise ConflictError("Shared knowledge is being republished; call again in a moment.")
        parts_after = cast("list[Document]", rest)
        known = {row.stored_text: row for row in self._cached.rows}
        self._cached = decoded_or_raised(head, lambda head: _snapshot([head, *parts_after], known))
        self._first, self._domains = first, None
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
        if self._domains is None:
            self._domains = Counter(row.domain for row in self._cached.rows if not row.is_hidden)
        return self._domains

    async def behind(self) -> list[VersionedEntry]:
        """Return the entries that the snapshot is behind. Billed 1 read each."""
        return await self._entries(Query(self._paths.entries, {"unpublished": True}))

    async def unshown(self, entries: Iterable[VersionedEntry]) -> list[VersionedEntry]:
        """Return those of `entries` that the snapshot does not show as they are. Billed as
        `read`.
        """
        rows = {row.key: row for row in (await self.read()).rows}
        return [
            versioned
            for versioned in entries
            if versioned.entry and not _is_shown(versioned.entry, rows.get(versioned.entry.key))
        ]

    async def published_lately(self, now: datetime, within_s: float) -> bool:
        """Whether a snapshot was written less than `within_s` seconds from `now`, by any server.
        Billed 1 read.
        """
        head = await self.head()
        at = head.fields.get("publishedAt") if head else None
        return at is not None and abs(now - datetime.fromisoformat(str(at))) < timedelta(
            seconds=within_s
        )

    def first(self, version: int) -> Write:
        """Return the write that begins a snapshot where there is none, after `version`."""
        return Write(self._paths.snapshot_shard(0), _shards(Snapshot(version=version))[0], ABSENT)

    async def leftovers(self) -> list[Write]:
        """Return the writes that remove shards of earlier snapshots. Billed 1 read for each shard.

        A reader that is in the middle of an earlier snapshot reads again.
        """
        head = await self.head()
        now = {self._paths.snapshot_shard(0)}
        if head is not None:
            parts = int(cast("int", head.fields["parts"]))
            now |= {self._paths.snapshot_shard(part, _half(head)) for part in range(1, parts)}
        if mark := self.shelf_mark:
            now |= {self._paths.shelf_shard(part, mark.half) for part in range(mark.parts)}
        shards = await self._store.find(Query(self._paths.snapshot_shard(0).collection))
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
        that proposed pairs ended, None when none did; `shelf` are fields of the first shard. The
        shards after it are written in two places by turns, so that a reader of the old ones finds
        them whole meanwhile.
        """
        head = await self.head()
        old = await self.read_from(head)
        taken = behind[:MAX_ENTRIES_PER_PUBLICATION]
        rows = [row for row in old.rows if row.key not in without]
        new, marks = _published(self._paths, (old, rows), taken, consolidated_at)
        is_complete = len(taken) == len(behind)
        stamp: dict[str, Json] = {"publishedAt": now.isoformat(), **shelf}
        if head is not None and new.rows == old.rows:
            at = new.consolidated_at
            moved = Write(
                head.ref, stamp | {"consolidatedAt": at.isoformat() if at else None}, head.revision
            )
            return SnapshotWrites([], [moved, *marks], is_complete)
        half = 1 - _half(head) if head else 0
        first, *rest = _shards(new)
        drafts = [
            Write(self._paths.snapshot_shard(part, half), fields)
            for part, fields in enumerate(rest, 1)
        ]
        revision = head.revision if head else ABSENT
        moment: dict[str, Json] = {"half": half, "versionAt": now.isoformat()}
        switch = Write(self._paths.snapshot_shard(0), first | stamp | moment, revision)
        return SnapshotWrites(drafts, [switch, *marks], is_complete)

    async def _entries(self, query: Query) -> list[VersionedEntry]:
        return list(iter_readable(await self._store.find(query), versioned_entry))


def _half(head: Document) -> int:
    return int(cast("int", head.fields.get("half", 0)))


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


def _published(
    paths: FleetPaths,
    old_rows: tuple[Snapshot, Sequence[KnowledgeRow]],
    behind: Sequence[VersionedEntry],
    consolidated_at: datetime | None,
) -> tuple[Snapshot, list[Write]]:
    """Return the snapshot after an old one, of its rows that stay and these entries, and the writes
    that mark them.

    A candidate has no row, unless it had one: that stays, so that a reader learns that the entry is
    gone.
    """
    old, remaining = old_rows
    version = old.version + 1
    rows = {row.key: row for row in remaining}
    marks: list[Write] = []
    for entry, revision in behind:
        if entry is None:
            continue
        row = _row_after(entry, rows.get(entry.key), version)
        mark: dict[str, Json] = {"unpublished": False}
        if row is not None:
            rows[entry.key] = row
            mark["since"] = row.since
        marks.append(Write(paths.entry(entry.key), mark, revision))
    ordered = tuple(rows[key] for key in sorted(rows))
    new = Snapshot(
        version=version if ordered != old.rows else max(old.version, 1),
        consolidated_at=consolidated_at or old.consolidated_at,
        rows=ordered,
    )
    return new, marks


def _row_after(entry: Entry, before: KnowledgeRow | None, version: int) -> KnowledgeRow | None:
    """Return the row of an entry, None for a candidate that had none.

    A later confirmation alone is no change, and neither is another vector: no answer shows it.
    """
    if before is None:
        return (
            None
            if recorded_state(entry) == "candidate"
            else row_of(entry, entry.since or version, version)
        )
    row = row_of(entry, before.since, before.changed_in)
    aside = replace(
        row,
        last_confirmed=before.last_confirmed,
        vector=before.vector,
        embedder=before.embedder,
    )
    return row if aside == before else replace(row, changed_in=version)


def _is_shown(entry: Entry, row: KnowledgeRow | None) -> bool:
    if row is None:
        return recorded_state(entry) == "candidate"
    return row_of(entry, row.since, row.changed_in) == row


def _shards(snapshot: Snapshot) -> list[dict[str, Json]]:
    """Return the fields of each shard: rows as JSON lines, under 700 KB each; there is always a
    first one.
    """
    texts: list[list[str]] = [[]]
    size = 0
    for row in snapshot.rows:
        size += row.stored_bytes + 1
        if size > MAX_SNAPSHOT_SHARD_BYTES and texts[-1]:
            texts.append([])
            size = row.stored_bytes + 1
        texts[-1].append(row.stored_text)
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


def _snapshot(parts: Sequence[Document], known: Mapping[str, KnowledgeRow]) -> Snapshot:
    lines = [line for part in parts for line in str(part.fields["text"]).split("\n") if line]
    return Snapshot.from_fields(
        {
            "version": parts[0].fields["version"],
            "versionAt": parts[0].fields.get("versionAt"),
            "consolidatedAt": parts[0].fields.get("consolidatedAt"),
            "rows": [known.get(line) or KnowledgeRow.from_stored(line) for line in lines],
        }
    )
