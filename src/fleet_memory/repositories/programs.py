"""Programs on top of the four verbs: a document each, and how its fields become a program; read,
decide, commit with the revision.
"""

import json
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from operator import methodcaller
from typing import Final, NamedTuple, Protocol, Self, TypeVar, cast

import anyio
from anyio import to_thread

from fleet_memory.errors import CapacityExceededError
from fleet_memory.repositories.documents import (
    PROGRAMS_PER_BLOCK,
    UnreadableDocument,
    decoded_or_raised,
    document_blocks,
    iter_readable,
    text_of,
    value_of,
)
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.records import Archive, History
from fleet_memory.repositories.retrying import (
    commit_settled,
    retry_conflicts,
)
from fleet_memory.rules.lifecycle.room import archived, weakest_to_leave
from fleet_memory.rules.lifecycle.stamping import (
    ProgramChange,
    in_order,
    record_with_writer,
    stamped,
    with_writer,
)
from fleet_memory.rules.text.keys import close_names, digest
from fleet_memory.schemas.patterns import Pattern, TokenWriter
from fleet_memory.schemas.programs import (
    MAX_PATTERNS,
    Note,
    PastSummary,
    Program,
    ProgramRecord,
)
from fleet_memory.schemas.value import codec
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Store, Write

MAX_PROGRAM_BYTES: Final = 900_000
"""Of values; the names of fields, and one lesson of the largest size, fit into the rest. Chosen."""
MAX_DECODED: Final = 16  # programs that this process keeps decoded; chosen: a server's agents
MAX_PROGRAMS_SEARCHED: Final = (
    100  # programs looked at for close names, one billed read each, only for an unknown name
)


_C = TypeVar("_C", bound="ChangeResult")
_T = TypeVar("_T")


class VersionedProgram(NamedTuple):
    """A program as it was read, and the revision that a commit must expect (`ABSENT` when there is
    no document).

    `fields` are those of its document but the lessons and the notes.
    """

    program: Program
    revision: str
    fields: Mapping[str, Json] = {}


def versioned_program(document: Document) -> VersionedProgram:
    """Return the program in a document.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    fields = document.fields
    patterns = [value_of(Pattern, text) for text in _texts(fields["patterns"]).values()]
    notes = [value_of(Note, text) for text in _texts(fields.get("notes", {})).values()]
    patterns.sort(key=lambda pattern: (pattern.stored_s, pattern.id))
    notes.sort(key=lambda note: (note.at, len(note.id), note.id))
    lessons = {pattern.id: pattern for pattern in patterns}
    state = {name: value for name, value in fields.items() if name not in ("patterns", "notes")}
    texts = {name: json.loads(str(state[name])) for name in _TEXT_FIELDS & state.keys()}
    waiting = {*_texts(fields.get("waiting", {})).values()}
    program = Program.from_fields(
        {
            **state,
            **texts,
            "patterns": lessons,
            "notes": {note.id: note for note in notes},
            "pending": in_order(waiting, lessons),
        }
    )
    return VersionedProgram(program, document.revision, state)


def absent_program(program_id: str) -> VersionedProgram:
    """Return the empty program of an id that has no document."""
    return VersionedProgram(Program(program_id=program_id), ABSENT)


# Maps of any names and lists of objects are stored as text: engines have words and indexes of
# their own
_TEXT_FIELDS: Final = {"contextSummary", "config", "baselines", "decay"} | {
    "shown",
    "asked",
    "against",
    "missing",
}


def pattern_key(pattern_id: str) -> str:
    """Return the key of a lesson in the maps of a document."""
    return "k" + digest(pattern_id)  # safe in a field path, for any id


def changed_fields(before: VersionedProgram, after: Program) -> dict[str, Json]:
    """Return the fields that the document has not or otherwise, and the entries of its maps; None
    removes one.
    """
    known, new = before.program, _fields(after)
    fields = {name: value for name, value in new.items() if before.fields.get(name) != value}
    waiting = _texts(before.fields.get("waiting", {}))
    maps = {
        "patterns": _changed(known.patterns, after.patterns, pattern_key, text_of),
        "notes": _changed(known.notes, after.notes, str, text_of),
        "waiting": _changed(waiting, {pattern_key(id_): id_ for id_ in after.pending}, str, str),
    }
    if before.revision == ABSENT:  # no entry can be set in a map that is not there
        return {**fields, **maps}
    changed = ((name, *entry) for name, entries in maps.items() for entry in entries.items())
    return fields | {f"{name}.{key}": text for name, key, text in changed}


def _changed(
    before: Mapping[str, _T],
    after: Mapping[str, _T],
    key: Callable[[str], str],
    text: Callable[[_T], str],
) -> dict[str, Json]:
    changed: dict[str, Json] = {key(id_): None for id_ in before.keys() - after.keys()}
    for id_, item in after.items():
        if (old := before.get(id_)) is not item and old != item:
            changed[key(id_)] = text(item)
    return changed


def _texts(stored: Json) -> Mapping[str, str]:
    return cast("Mapping[str, str]", stored)


def document_size(program: Program) -> int:
    """Return the bytes that a program takes as a document, names of fields aside."""
    items = (*program.patterns.values(), *program.notes.values())
    state = _json((_fields(program), program.pending))
    return len(state.encode()) + sum(item.stored_bytes for item in items)


def _fields(program: Program) -> dict[str, Json]:
    """Return every field of the document but its maps. `pending` counts the lessons that wait and
    are still here; this, `dirty` and `stored` are there for queries.
    """
    wire: dict[str, Json] = codec(Program).dump_python(
        program, mode="json", by_alias=True, exclude={"patterns", "notes", "pending"}
    )
    texts: dict[str, Json] = {name: _json(wire[name]) for name in _TEXT_FIELDS}
    queried = {"pending": program.waiting, "dirty": bool(program.pending), "stored": program.exists}
    return {**wire, **texts, **queried}


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class ChangeResult(Protocol):
    """The result of a change: the new program, and the records that it leaves."""

    @property
    def program(self) -> Program:
        """The program after the change; the same object when nothing changed."""

    @property
    def archived(self) -> Sequence[ProgramRecord]:
        """The records that left the program, for the archive or the history, in the same commit."""


class ProgramBlock(NamedTuple):
    """Some programs of a fleet, and the documents among them that cannot be read, which are logged
    too.
    """

    programs: list[VersionedProgram]
    unreadable: list[UnreadableDocument]


class Programs:
    """The programs of one fleet, with their `archive` and their `history`."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.archive = Archive(store, self.paths)
        self.history = History(store, self.paths)
        self._turns: weakref.WeakValueDictionary[str, anyio.Lock] = weakref.WeakValueDictionary()
        self._decoded: OrderedDict[str, VersionedProgram] = OrderedDict()  # those read last
        self._token: tuple[str, str] | None = None  # of the call: its program, and its id

    def written_by(self, program_id: str | None, token: str | None) -> Self:
        """Return the programs as the call of a token writes them: what it changes of its own
        program names it.
        """
        written = copy(self)
        written._token = (program_id, token) if program_id and token else None
        return written

    async def read(self, program_id: str) -> Program:
        """Return a program, an empty one when nothing was stored for it. Billed 1 read."""
        return (await self.read_versioned(program_id))[0].program

    async def read_with(
        self, program_id: str, other: Ref
    ) -> tuple[VersionedProgram, Document | None]:
        """Return a program and another document, read together. Billed 1 read each."""
        document, beside = await self.store.get(self.paths.program(program_id), other)
        return self._versioned(program_id, document), beside

    async def read_versioned(self, *program_ids: str) -> list[VersionedProgram]:
        """Return programs with the revisions that a commit must expect. Billed 1 read each.

        Raises DocumentRejectedError for one that cannot be read.
        """
        documents = await self.store.get(*map(self.paths.program, program_ids))
        return list(map(self._versioned, program_ids, documents))

    async def update(
        self,
        program_id: str,
        change: Callable[[Program], _C],
        now: datetime,
        read: VersionedProgram | None = None,
    ) -> _C:
        """Apply `change` to a program, stamp it with `now`, and return its result, durably stored.

        It was `read` already, or is read. `change` is pure and may run several times: the revision
        decides. Raises the errors of `change`, ConflictError when every race was lost,
        CapacityExceededError when the program would outgrow its document, and the store's errors.
        """

        async def alone(program: Program) -> tuple[_C, Sequence[Write]]:
            return change(program), ()

        return await self.update_with(program_id, alone, now, read)

    async def update_with(
        self,
        program_id: str,
        change: Callable[[Program], Awaitable[tuple[_C, Sequence[Write]]]],
        now: datetime,
        read: VersionedProgram | None = None,
    ) -> _C:
        """Like `update`, in one commit with writes to other documents.

        `change` reads those documents itself and names their revisions; it runs again when any of
        them moved. It must not raise ConflictError: that would run it again too.
        """
        known = [read] if read else []

        async def attempt() -> _C:
            before = known.pop() if known else (await self.read_versioned(program_id))[0]
            outcome, others = await change(before.program)
            room = with_room(before.program, outcome.program, now)
            outcome = _with_archived(outcome, room)
            changes = self.writes(before, room.program, outcome.archived)
            await commit_settled(self.store, *changes, *others)
            return outcome

        async with self._turns.setdefault(program_id, anyio.Lock(fast_acquire=True)):
            return await retry_conflicts(attempt, f"program {program_id}")

    async def in_blocks(self, size: int = PROGRAMS_PER_BLOCK) -> AsyncIterator[ProgramBlock]:
        """Yield every program in blocks of at most `size`, by document id. Billed 1 read each."""
        query = Query(self.paths.programs)
        async for documents in document_blocks(self.store, query, size):
            yield await _block(documents)

    async def dirty(self) -> list[VersionedProgram]:
        """Return the programs with lessons that the maintainer has not considered. Billed 1 read
        each.
        """
        return await self._find(Query(self.paths.programs, {"dirty": True}))

    async def changed_since(self, at: datetime) -> list[VersionedProgram] | None:
        """Return the programs whose lessons, notes or state agents changed at `at` or later, None
        for 64 or more. Billed 1 read for each of the newest 8, or where these are not enough 64.
        """
        for limit in (8, 64):
            newest = Query(self.paths.programs, order="-lastUpdate", limit=limit)
            found = await self.store.find(newest)
            changed = [each for each in found if _last_update(each) >= at]
            if len(changed) < limit:
                return (await _block(changed)).programs
        return None

    async def considered_in(self, run: int) -> list[VersionedProgram]:
        """Return the programs that the maintainer considered last in the run of this number.

        Billed 1 read each.
        """
        return await self._find(Query(self.paths.programs, {"run": run}))

    async def all(self) -> list[VersionedProgram]:
        """Return every program. Billed 1 read each."""
        return [versioned async for block in self.in_blocks() for versioned in block.programs]

    async def map_latest(self, look: Callable[[Program], _T], limit: int) -> list[_T]:
        """Return `look(program)` of the programs that changed last, the newest first. Billed 1 read
        each.

        It runs in a thread: large programs take a second, and other calls go on.
        """
        query = Query(self.paths.programs, order="-lastUpdate", limit=limit)
        documents = await self.store.find(query)
        return await to_thread.run_sync(
            lambda: [look(each.program) for each in iter_readable(documents, versioned_program)]
        )

    async def count(self) -> int:
        """Return how many programs stored something. Billed as one sum."""
        return await self.store.total(Query(self.paths.programs, {"stored": True}))

    async def count_pending(self) -> int:
        """Return how many lessons the maintainer has not considered, fleet-wide. Billed as one
        sum.
        """
        return await self.store.total(Query(self.paths.programs), "pending")

    async def suggestions(self, program_id: str) -> tuple[str, ...]:
        """Return up to three names close to one that does not exist, so that a typo is seen."""
        known = await self.store.find(
            Query(self.paths.programs, {"stored": True}, limit=MAX_PROGRAMS_SEARCHED)
        )
        return close_names(program_id, (str(document.fields["programId"]) for document in known))

    def writes(
        self,
        before: VersionedProgram,
        after: Program,
        archived: Sequence[ProgramRecord] = (),
    ) -> list[Write]:
        """Return the writes that turn one program into the other, valid until another writes it.

        `after` is stamped already, or differs only in the maintainer's own marks (an entry's key,
        `pending`, `run`, vectors), which are no change of the program.
        """
        if after is before.program and not archived:
            return []
        if self._token and self._token[0] == after.program_id and after.last_update:
            writer = TokenWriter(token=self._token[1], at=after.last_update)
            after = with_writer(before.program, after, writer)
            archived = [record_with_writer(record, writer) for record in archived]
        fields = changed_fields(before, after)
        change = Write(self.paths.program(after.program_id), fields, before.revision)
        records = {write.ref: write for write in map(self._record_write, archived)}
        return [*([change] if fields else ()), *records.values()]

    async def _find(self, query: Query) -> list[VersionedProgram]:
        return (await _block(await self.store.find(query))).programs

    def _record_write(self, record: ProgramRecord) -> Write:
        return (
            self.history.write(record)
            if isinstance(record, PastSummary)
            else self.archive.write(record)
        )

    def _versioned(self, program_id: str, document: Document | None) -> VersionedProgram:
        if document is None:
            return absent_program(program_id)
        versioned = self._decoded.get(program_id)
        if versioned is None or versioned.revision != document.revision:
            self._decoded[program_id] = versioned = decoded_or_raised(document, versioned_program)
        self._decoded.move_to_end(program_id)
        if len(self._decoded) > MAX_DECODED:
            self._decoded.popitem(last=False)
        return versioned


def _last_update(document: Document) -> datetime:
    return datetime.fromisoformat(str(document.fields["lastUpdate"]))


def with_room(
    before: Program, after: Program, now: datetime, *, spares_changed: bool = True
) -> ProgramChange:
    """Return a changed program, stamped with `now`, that fits into its document, and the lessons
    that left for that; none for marks of reading, which the rest of the document has room for.
    Changed lessons leave last, with `spares_changed`.

    Raises CapacityExceededError when the document is too large and no lesson can leave.
    """
    if after is before:
        return ProgramChange(before)
    change = ProgramChange(stamped(before, after, now))
    if _contents(after) == _contents(before):
        return change
    while True:
        excess = document_size(change.program) - MAX_PROGRAM_BYTES
        known = before if spares_changed else change.program
        is_full = excess > 0 or len(change.program.patterns) > MAX_PATTERNS
        leaving = weakest_to_leave(known, change.program, excess, now) if is_full else ()
        if leaving:
            roomier, gone = archived(change.program, leaving, "cap", now)
            change = ProgramChange(stamped(before, roomier, now), (*change.archived, *gone))
        elif excess <= 0:
            return change
        else:
            raise CapacityExceededError(
                f"{after.program_id}'s memory is full ({excess} bytes above {MAX_PROGRAM_BYTES}). "
                "Forget lessons that it no longer needs (forget_memory), or store under "
                "another programId."
            )


def _contents(program: Program) -> tuple[object, ...]:
    return program.patterns, program.notes, program.state_version


def with_fitting_vectors(before: Program, after: Program) -> Program:
    """Return `after`, where a job made vectors, without as many of the new search vectors as its
    document has no room for.
    """
    excess, patterns = document_size(after) - MAX_PROGRAM_BYTES, dict(after.patterns)
    for id_, lesson in after.patterns.items():
        if excess > 0 and lesson.search_vector and before.patterns.get(id_) is not lesson:
            patterns[id_] = replace(lesson, search_vector="")
            excess -= lesson.stored_bytes - patterns[id_].stored_bytes
    return replace(after, patterns=patterns)


async def _block(documents: list[Document]) -> ProgramBlock:
    unreadable: list[UnreadableDocument] = []
    programs = iter_readable(documents, versioned_program, unreadable)
    del documents  # each goes once it is decoded
    return ProgramBlock(await to_thread.run_sync(list, programs), unreadable)


def _with_archived(outcome: _C, room: ProgramChange) -> _C:
    """Return a change's result, which is a NamedTuple, with the program and the archived lessons of
    making room.
    """
    if not room.archived:
        return outcome
    gone = (*outcome.archived, *room.archived)
    return cast("_C", methodcaller("_replace", program=room.program, archived=gone)(outcome))
