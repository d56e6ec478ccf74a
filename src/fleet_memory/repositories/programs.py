"""Programs on top of the four verbs: one document each; read, decide, commit with the revision that was read."""

import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Final, Generic, Protocol, TypeVar, cast

import anyio
from anyio import to_thread

from fleet_memory.errors import CapacityExceededError, FleetMemoryError
from fleet_memory.repositories.archive import Archive
from fleet_memory.repositories.history import History
from fleet_memory.repositories.limits import MAX_PROGRAM_BYTES
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import (
    VersionedProgram,
    changed_fields,
    document_size,
    iter_versioned_programs,
    versioned_program,
)
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.lifecycle.idempotency import MAX_REQUESTS
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.programs import PastSummary, Program, ProgramRecord
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Query, Ref, Store, Write

MAX_CHANGES_PER_COMMIT: Final = 64  # changes committed at once, the number of request ids a program remembers
MAX_PROGRAMS_SEARCHED: Final = 100  # programs looked at for close names, one billed read each, only for an unknown name


class ChangeResult(Protocol):
    """What a change returns: the new program, and what it archived on the way."""

    @property
    def program(self) -> Program:
        """The program after the change; the same object when nothing changed."""

    @property
    def archived(self) -> Sequence[ProgramRecord]:
        """What left the program, kept in the archive or the history by the same commit."""


_C = TypeVar("_C", bound=ChangeResult)
_T = TypeVar("_T")


class _Call(Generic[_C]):
    """One caller's change, and what became of it."""

    def __init__(self, change: Callable[[Program], _C], now: datetime) -> None:
        self.change = change
        self.now = now
        self.outcome: _C | None = None
        self.error: FleetMemoryError | InvalidValueError | None = None

    @property
    def settled(self) -> bool:
        return self.outcome is not None or self.error is not None

    def result(self) -> _C:
        if self.error is not None:
            raise self.error
        return cast("_C", self.outcome)


class _Turn:
    """The callers that wait for one program inside this process."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.waiting: deque[_Call[ChangeResult]] = deque()


class Programs:
    """The programs of one fleet, with their `archive` and their `history`."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.archive = Archive(store, self.paths)
        self.history = History(store, self.paths)
        self._turns: weakref.WeakValueDictionary[str, _Turn] = weakref.WeakValueDictionary()

    async def read(self, program_id: str) -> Program:
        """Return a program, an empty one when nothing was stored for it. Billed 1 read."""
        return (await self.read_versioned(program_id))[0].program

    async def read_versioned(self, *program_ids: str) -> list[VersionedProgram]:
        """Return programs with what a commit needs to replace them. Billed 1 read each."""
        return await self.reread_versioned({}, *program_ids)

    async def reread_versioned(self, known: Mapping[str, Program], *program_ids: str) -> list[VersionedProgram]:
        """Do what `read_versioned` does; a program that no agent changed since it was `known` is not decoded again."""
        documents = await self.store.get(*(self.paths.program(program_id) for program_id in program_ids))
        return [versioned_program(name, one, known.get(name)) for name, one in zip(program_ids, documents, strict=True)]

    async def update(self, program_id: str, change: Callable[[Program], _C], now: datetime) -> _C:
        """Apply `change` to a program, stamp it with `now`, and return what it returned, durably stored.

        `change` is pure and may run several times. Changes queued for one program in this process share one read and
        one commit; between processes the revision decides. Raises what `change` raises, ConflictError when every race
        was lost, CapacityExceededError when the program would outgrow its document, and the store's errors.
        """
        call = _Call(change, now)
        turn = self._turns.setdefault(program_id, _Turn())
        turn.waiting.append(cast("_Call[ChangeResult]", call))
        try:
            while not call.settled:
                async with turn.lock:
                    if not call.settled:
                        with anyio.CancelScope(shield=True):  # a batch holds other callers' changes too
                            await self._settle(program_id, turn)
        finally:
            if call in turn.waiting:
                turn.waiting.remove(cast("_Call[ChangeResult]", call))
        return call.result()

    async def update_with(
        self, program_id: str, change: Callable[[Program], Awaitable[tuple[_C, Sequence[Write]]]], now: datetime
    ) -> _C:
        """Do what `update` does, in one commit with writes to other documents.

        `change` reads those documents itself and names their revisions; it runs again when any of them moved. It must
        not raise ConflictError: that would run it again too.
        """
        turn = self._turns.setdefault(program_id, _Turn())

        async def attempt() -> _C:
            (before,) = await self.read_versioned(program_id)
            outcome, beside = await change(before.program)
            after = stamped(before.program, outcome.program, now)
            require_room(before.program, after)
            if writes := [*self.writes(before, after, outcome.archived), *beside]:
                await self.store.commit(*writes)
            return outcome

        async with turn.lock:
            return await retry_conflicts(attempt, f"program {program_id}")

    async def dirty(self) -> list[VersionedProgram]:
        """Return the programs that changed since consolidation last looked. Billed 1 read each."""
        return await self._find(Query(self.paths.programs, {"dirty": True}))

    async def any_dirty(self) -> bool:
        """Whether `dirty` would return any. Billed 1 read."""
        return bool(await self.store.find(Query(self.paths.programs, {"dirty": True}, limit=1)))

    async def due_for_sweep(self, most: int) -> list[VersionedProgram]:
        """Return the programs that the decay sweep must look at first, `most` of them. Billed 1 read each."""
        return await self._find(Query(self.paths.programs, order="sweepAfter", limit=most))

    async def newest_seen(self) -> int:
        """Return the newest version of knowledge that any program has read. Billed 1 read."""
        found = await self.store.find(Query(self.paths.programs, order="-knowledgeSeen", limit=1))
        return cast("int", found[0].fields["knowledgeSeen"]) if found else 0

    async def all(self) -> list[VersionedProgram]:
        """Return every program. Billed 1 read each."""
        return await self._find(Query(self.paths.programs))

    async def map_programs(self, look: Callable[[Program], _T]) -> list[_T]:
        """Return what `look` makes of every program that stored something. Billed 1 read each.

        It runs in a thread, on one program at a time: a large fleet takes seconds, and other calls go on meanwhile.
        """
        every = iter_versioned_programs(await self.store.find(Query(self.paths.programs, {"stored": True})))
        return await to_thread.run_sync(lambda: [look(versioned.program) for versioned in every])

    async def count_pending(self) -> int:
        """Return how many patterns consolidation has not considered, fleet-wide. Billed as one sum."""
        return await self.store.total(Query(self.paths.programs), "pending")

    async def suggestions(self, program_id: str) -> tuple[str, ...]:
        """Return up to three names close to one that does not exist, so that a typo is seen."""
        known = await self.store.find(Query(self.paths.programs, {"stored": True}, limit=MAX_PROGRAMS_SEARCHED))
        return tuple(get_close_matches(program_id, [str(document.fields["programId"]) for document in known], 3, 0.6))

    def receipt_ref(self, program_id: str, number: int) -> Ref:
        """Return where the receipt of a program's session of this number is."""
        return self.paths.receipt(program_id, number % MAX_REQUESTS)  # it stays while its request is remembered

    def writes(self, before: VersionedProgram, after: Program, archived: Sequence[ProgramRecord] = ()) -> list[Write]:
        """Return the writes that turn one program into the other, valid only while nobody else writes it.

        `after` is stamped already, or differs only in fields that consolidation writes (an entry's key, `pending`,
        `touched`, vectors), which are no change of the program.
        """
        if after is before.program and not archived:
            return []
        fields = changed_fields(before, after)
        change = Write(self.paths.program(after.program_id), fields, before.revision)
        records = {write.ref: write for write in map(self._record_write, archived)}
        return [*([change] if fields else ()), *records.values()]

    async def _find(self, query: Query) -> list[VersionedProgram]:
        return list(iter_versioned_programs(await self.store.find(query)))

    def _record_write(self, record: ProgramRecord) -> Write:
        return self.history.write(record) if isinstance(record, PastSummary) else self.archive.write(record)

    async def _settle(self, program_id: str, turn: _Turn) -> None:
        batch = [turn.waiting.popleft() for _ in range(min(MAX_CHANGES_PER_COMMIT, len(turn.waiting)))]
        try:
            await self._commit_together(program_id, batch)
        except FleetMemoryError as error:
            for call in batch:
                call.error = call.error or error
        finally:
            turn.waiting.extendleft(call for call in reversed(batch) if not call.settled)

    async def _commit_together(self, program_id: str, batch: Sequence[_Call[ChangeResult]]) -> None:
        async def attempt() -> None:
            (before,) = await self.read_versioned(program_id)
            after, archived, outcomes = _applied(before.program, batch)
            if writes := self.writes(before, after, archived):
                await self.store.commit(*writes)
            for call, outcome in outcomes:
                call.outcome = outcome

        await retry_conflicts(attempt, f"program {program_id}")


def _applied(
    program: Program, batch: Sequence[_Call[ChangeResult]]
) -> tuple[Program, list[ProgramRecord], list[tuple[_Call[ChangeResult], ChangeResult]]]:
    """Run the changes in order, each on the result of the one before; one that raises keeps its error and no effect."""
    archived: list[ProgramRecord] = []
    outcomes: list[tuple[_Call[ChangeResult], ChangeResult]] = []
    for call in batch:
        call.error = None
        try:
            outcome = call.change(program)
            after = stamped(program, outcome.program, call.now)
            require_room(program, after)
        except (FleetMemoryError, InvalidValueError) as error:
            call.error = error
            continue
        program = after
        archived.extend(outcome.archived)
        outcomes.append((call, outcome))
    return program, archived, outcomes


def require_room(before: Program, after: Program) -> None:
    """Raise CapacityExceededError when a changed program would outgrow its document."""
    if after is not before:
        size = document_size(after)
        if size > MAX_PROGRAM_BYTES:
            raise CapacityExceededError(
                f"{after.program_id}'s memory is full ({size} of {MAX_PROGRAM_BYTES} bytes). "
                "Forget patterns it no longer needs, or store under another programId."
            )
