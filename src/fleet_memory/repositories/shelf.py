"""The shelf beside the snapshot: the strongest lessons that other programs may be shown, in shards.

The head of the snapshot says which it is, so that asking for it costs no read.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.repositories.documents import iter_readable, text_of, value_of
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import versioned_program
from fleet_memory.repositories.snapshots import ShelfMark, Snapshots, in_shards, lines_in
from fleet_memory.rules.retrieval.others import WordsAbout, lessons_of
from fleet_memory.schemas.patterns import OthersLesson
from fleet_memory.schemas.value import codec
from fleet_memory.stores import Document, Json, Query, Ref, Store, Write


class Shelf(NamedTuple):
    """Lessons that others may be shown, by program and id, and the words about candidates, by key.

    `at` is when the programs were read that it was made of last, None for no shelf.
    """

    at: datetime | None = None
    lessons: Sequence[OthersLesson] = ()
    words: Mapping[str, WordsAbout] = {}


class ShelfWrites(NamedTuple):
    """What replaces a shelf: `drafts`, in as many commits as they need, which no reader sees; then
    `fields` of the snapshot's head; then `outdated`.
    """

    drafts: Sequence[Write]
    fields: Mapping[str, Json]
    outdated: Sequence[Write]


class _Changed(NamedTuple):
    revision: str
    program_id: str
    lessons: Sequence[OthersLesson]


NO_SHELF: Final = Shelf()
MAX_CHANGED_READ: Final = (
    20  # programs that a recall reads beside the shelf; Source: docs/recall.md
)


class Shelves:
    """The shelf of one fleet; the one that was read last is cached by its version."""

    def __init__(self, store: Store, paths: FleetPaths, snapshots: Snapshots) -> None:
        self._store = store
        self._paths = paths
        self._snapshots = snapshots
        self._cached = NO_SHELF
        self._version = ""
        self._changed: Mapping[Ref, _Changed] = {}  # as they were read last

    async def read(self) -> Shelf:
        """Return the shelf beside the snapshot that this process read last, `NO_SHELF` for none.
        Billed 1 read per shard when its version is new.

        `NO_SHELF`, with a line in the log, for one that cannot be read. Raises ConflictError when
        it was replaced since.
        """
        mark = self._snapshots.shelf_mark
        if mark is None:
            self._cached, self._version = NO_SHELF, ""
            return NO_SHELF
        if mark.version != self._version:
            shards = await self._store.get(*self._refs(mark))
            if None in shards:
                await self._snapshots.head()  # the next attempt reads its shelf
            lines, first = lines_in(shards), [shard for shard in shards[:1] if shard]
            readable = iter_readable(first, lambda _: _decoded(lines))
            self._cached, self._version = next(readable, NO_SHELF), mark.version
        if self._cached is NO_SHELF:  # one that cannot be read: the next publication makes it anew
            return NO_SHELF
        return self._cached._replace(at=datetime.fromisoformat(mark.at))

    async def changed(self, now: datetime) -> Mapping[str, Sequence[OthersLesson]]:
        """Return by program the lessons of programs that no run has considered since they changed,
        up to 20 of them. Billed 1 read each. One that cannot be read is skipped.
        """
        query = Query(self._paths.programs, {"dirty": True}, limit=MAX_CHANGED_READ)
        documents = await self._store.find(query)
        known = self._changed

        def lessons(document: Document) -> _Changed:
            before = known.get(document.ref)
            if before is not None and before.revision == document.revision:
                return before
            program = versioned_program(document).program
            return _Changed(document.revision, program.program_id, lessons_of(program, now))

        def readable() -> dict[Ref, _Changed]:
            return dict(iter_readable(documents, lambda each: (each.ref, lessons(each))))

        self._changed = await to_thread.run_sync(readable)
        return {each.program_id: each.lessons for each in self._changed.values()}

    def replacing(self, after: Shelf | None) -> ShelfWrites:
        """Return the writes that replace the shelf that was read last, by none for None."""
        mark = self._snapshots.shelf_mark
        outdated = [Write(ref, None) for ref in self._refs(mark)] if mark else []
        if after is None:
            return ShelfWrites((), {"shelf": None} if mark else {}, outdated)
        at = after.at.isoformat() if after.at else ""
        if mark and self._cached[1:] == after[1:]:
            return ShelfWrites((), {"shelf": mark._replace(at=at)._asdict()}, ())
        shards = in_shards([json.dumps(after.words), *map(text_of, after.lessons)])
        mark = ShelfMark(secrets.token_hex(8), len(shards), at)
        drafts = [
            Write(ref, {"text": text}) for ref, text in zip(self._refs(mark), shards, strict=True)
        ]
        return ShelfWrites(drafts, {"shelf": mark._asdict()}, outdated)

    async def removal(self) -> list[Write]:
        """Return the writes that remove the shelf, so that the next publication makes it anew of
        every program. Billed 1 read.
        """
        head, mark = await self._snapshots.head(), self._snapshots.shelf_mark
        if head is None or mark is None:
            return []
        gone = (Write(ref, None) for ref in self._refs(mark))
        return [Write(head.ref, {"shelf": None}, head.revision), *gone]

    def _refs(self, mark: ShelfMark) -> list[Ref]:
        return self._paths.snapshot_shards(mark.version, mark.parts)


def _decoded(lines: Sequence[str]) -> Shelf:
    """Return the shelf of its lines, the words first. Raises ValueError, KeyError or TypeError for
    any other.
    """
    words, *stored = lines
    said: dict[str, list[object]] = json.loads(words)
    return Shelf(
        lessons=tuple(value_of(OthersLesson, line) for line in stored),
        words={key: codec(WordsAbout).validate_python(about) for key, about in said.items()},
    )
