"""Programs on top of the four verbs: a document each, and pages; read, decide, commit with the
revisions read.
"""

import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeVar, cast

import anyio
from anyio import to_thread

from fleet_memory.errors import FleetMemoryError
from fleet_memory.repositories.archive import Archive
from fleet_memory.repositories.blocks import PROGRAMS_PER_BLOCK, document_blocks
from fleet_memory.repositories.commits import Witness, commit_settled, new_commit_id
from fleet_memory.repositories.history import History
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import (
    VersionedProgram,
    changed_fields,
    iter_versioned_programs,
)
from fleet_memory.repositories.program_reads import ProgramBlock, ProgramReads
from fleet_memory.repositories.queueing import ChangeResult, QueuedCall, Turn, applied
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.room import with_archived, with_room
from fleet_memory.rules.lifecycle.paging import PagesNeededError
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.programs import PastSummary, Program, ProgramRecord
from fleet_memory.stores import Document, Json, Query, Ref, Scalar, Store, Write

MAX_CHANGES_PER_COMMIT: Final = (
    64  # changes committed at once, the number of request ids a program remembers
)
MAX_COMMITS: Final = 16  # ids of its latest commits that a program remembers; chosen
MAX_PROGRAMS_SEARCHED: Final = (
    100  # programs looked at for close names, one billed read each, only for an unknown name
)


class VersionedChange(NamedTuple):
    """A program as it was read, as it shall be, stamped, and its records for the archive or the
    history.
    """

    before: VersionedProgram
    after: Program
    archived: Sequence[ProgramRecord] = ()


_C = TypeVar("_C", bound=ChangeResult)
_T = TypeVar("_T")


class Programs:
    """The programs of one fleet, with their `archive` and their `history`."""

    def __init__(self, store: Store, fleet_id: str) -> None:
        self.store = store
        self.paths = FleetPaths(fleet_id)
        self.archive = Archive(store, self.paths)
        self.history = History(store, self.paths)
        self._reads = ProgramReads(store, self.paths)
        self._turns: weakref.WeakValueDictionary[str, Turn] = weakref.WeakValueDictionary()

    async def read(self, program_id: str) -> Program:
        """Return a program without its pages, an empty one when nothing was stored for it. Billed 1
        read.
        """
        return (await self._reads.heads(program_id))[0].program

    async def read_whole(self, program_id: str) -> Program:
        """Return a program with its pages, an empty one when nothing was stored for it. Billed 1
        read, 1 each page.
        """
        return (await self.read_versioned(program_id))[0].program

    async def read_with(
        self, program_id: str, other: Ref, *, whole: bool
    ) -> tuple[Program, Document | None]:
        """Return a program, with its pages if `whole`, and another document. Billed 1 read each,
        and each page.
        """
        head, document = await self._reads.head_and_other(program_id, other)
        return ((await self._reads.whole([head]))[0] if whole else head).program, document

    async def read_versioned(self, *program_ids: str) -> list[VersionedProgram]:
        """Return whole programs with the revisions that a commit must expect. Billed 1 read each,
        and each page.

        Raises DocumentRejectedError for one that cannot be read.
        """
        return await self._reads.whole(await self._reads.heads(*program_ids))

    async def read_many(self, *program_ids: str) -> list[VersionedProgram]:
        """Like `read_versioned`, for jobs: decoded in a thread, and not kept among those that calls
        read last.
        """
        return await self._reads.unkept(*program_ids)

    async def update(self, program_id: str, change: Callable[[Program], _C], now: datetime) -> _C:
        """Apply `change` to a program, stamp it with `now`, and return its result, durably stored.

        `change` is pure and may run several times, on a whole program if PagesNeededError asks for
        one. Changes queued for one program in this process share one read and one commit; between
        processes the revision decides. Raises the errors of `change`, ConflictError when every race
        was lost, CapacityExceededError when the program would outgrow its document, and the store's
        errors.
        """
        call = QueuedCall(change, now)
        turn = self._turns.setdefault(program_id, Turn())
        turn.waiting.append(cast("QueuedCall[ChangeResult]", call))
        try:
            while not call.is_settled:
                async with turn.lock:
                    if not call.is_settled:
                        with anyio.CancelScope(
                            shield=True
                        ):  # a batch has other callers' changes too
                            await self._settle(program_id, turn)
        finally:
            if call in turn.waiting:
                turn.waiting.remove(cast("QueuedCall[ChangeResult]", call))
        return call.result()

    def is_busy(self, program_id: str) -> bool:
        """Whether a change of this program is under way or waits in this process."""
        turn = self._turns.get(program_id)
        return turn is not None and (turn.lock.locked() or bool(turn.waiting or turn.readers))

    async def update_with(
        self,
        program_id: str,
        change: Callable[[Program], Awaitable[tuple[_C, Sequence[Write]]]],
        now: datetime,
        ready: anyio.Event | None = None,
    ) -> _C:
        """Like `update`, in one commit with writes to other documents.

        `change` reads those documents itself and names their revisions; it runs again when any of
        them moved. It must not raise ConflictError: that would run it again too. With `ready` the
        program is read at once and changed when that is set; until then others may change it, and
        then it is read again.
        """
        turn = self._turns.setdefault(program_id, Turn())
        known: list[VersionedProgram] = []

        async def commit_on(before: VersionedProgram) -> _C:
            outcome, others = await change(before.program)
            room = with_room(before.program, outcome.program, now)
            outcome = with_archived(outcome, room, tuple(outcome.archived))
            await self.commit([VersionedChange(before, room.program, outcome.archived)], others)
            return outcome

        async def attempt() -> _C:
            (head,) = known or await self._reads.heads(program_id)
            known.clear()
            try:
                return await commit_on(head)
            except PagesNeededError:
                return await commit_on((await self._reads.whole([head]))[0])

        async with turn.lock:
            if ready is not None:
                known += await self._reads.heads(program_id)
            if ready is None or ready.is_set():
                return await retry_conflicts(attempt, f"program {program_id}")
        await turn.let_others_go(ready)
        async with turn.lock:
            return await retry_conflicts(attempt, f"program {program_id}")

    async def commit(
        self,
        changes: Sequence[VersionedChange],
        others: Sequence[Write] = (),
        commit_id: str | None = None,
    ) -> None:
        """Apply changes of programs and writes of `others` documents, all or none; nothing to write
        is fine.

        A lost answer is settled: each changed program remembers `commit_id` (`new_commit_id()`
        unless given, e.g. the one that lines of the ledger have), and the first of them is read
        again. Raises ConflictError when any of the documents moved; read them again and decide
        again. Raises OutcomeUnknownError when the store does not answer, or for `others` alone.
        Billed 1 read for each page that a lesson moves to and that was not read.
        """
        changes = [
            change._replace(
                before=await self._reads.pages.with_revisions(change.before, change.after)
            )
            for change in changes
        ]
        commit_id = commit_id or new_commit_id()
        writes = [
            write for change in changes for write in self.writes(*change, commit_id=commit_id)
        ]
        programs = {
            self.paths.program(change.after.program_id): change.before.revision
            for change in changes
        }
        for change in changes:
            self._reads.know(change.before.program, change.after)
        changed = next((write.ref for write in writes if write.ref in programs), None)
        if changed is not None:
            witness = Witness(
                changed, programs[changed], lambda document: _remembers(document, commit_id)
            )
            await commit_settled(self.store, [*writes, *others], witness)
        elif writes or others:
            await self.store.commit(*writes, *others)

    async def in_blocks(
        self,
        size: int = PROGRAMS_PER_BLOCK,
        *,
        after: str | None = None,
        where: Mapping[str, Scalar] | None = None,
    ) -> AsyncIterator[ProgramBlock]:
        """Yield every program, whole, in blocks of at most `size`, by document id, those greater
        than `after`.

        `where` has equalities, as in a `Query`. Billed 1 read each, and each page.
        """
        query = Query(self.paths.programs, where or {}, after=after)
        async for documents in document_blocks(self.store, query, size):
            yield await self._reads.block(documents)

    async def dirty(self) -> list[VersionedProgram]:
        """Return the programs with lessons that the maintainer has not considered. Billed 1 read
        each, 1 each page.
        """
        return await self._find(Query(self.paths.programs, {"dirty": True}))

    async def considered_in(self, run: int) -> list[VersionedProgram]:
        """Return the programs that the maintainer considered last in the run of this number.

        Billed 1 read each, and each page.
        """
        return await self._find(Query(self.paths.programs, {"run": run}))

    async def due_for_sweep(self, limit: int) -> ProgramBlock:
        """Return the programs that the decay sweep must look at first, at most `limit`.

        Billed 1 read each, and each page.
        """
        return await self._reads.block(
            await self.store.find(Query(self.paths.programs, order="sweepAfter", limit=limit))
        )

    async def newest_read_version(self) -> int:
        """Return the newest version of knowledge that any program has read. Billed 1 read."""
        newest = await self.store.find(Query(self.paths.programs, order="-readVersion", limit=1))
        return max([0, *(cast("int", document.fields["readVersion"]) for document in newest)])

    async def all(self) -> list[VersionedProgram]:
        """Return every program. Billed 1 read each, and each page."""
        return [versioned async for block in self.in_blocks() for versioned in block.programs]

    async def map_latest(self, look: Callable[[Program], _T], limit: int) -> list[_T]:
        """Return `look(program)` of the programs that changed last, the newest first, without their
        pages. Billed 1 read each.

        It runs in a thread: large programs take a second, and other calls go on.
        """
        query = Query(self.paths.programs, order="-lastUpdate", limit=limit)
        documents = await self.store.find(query)
        return await to_thread.run_sync(
            lambda: [look(versioned.program) for versioned in iter_versioned_programs(documents)]
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
        *,
        commit_id: str | None = None,
    ) -> list[Write]:
        """Return the writes that turn one program into the other, valid until another writes it.

        `after` is stamped already, or differs only in the maintainer's own marks (an entry's key,
        `pending`, `run`, vectors), which are no change of the program. With `commit_id` the program
        remembers this commit.
        """
        if after is before.program and not archived:
            return []
        fields = changed_fields(before, after)
        if fields and commit_id:
            commits: list[Json] = [*before.program.commits, commit_id]
            fields["commits"] = commits[-MAX_COMMITS:]
        change = Write(self.paths.program(after.program_id), fields, before.revision)
        records = {write.ref: write for write in map(self._record_write, archived)}
        pages = self._reads.pages.writes(before, after)
        return [*([change] if fields else ()), *pages, *records.values()]

    async def _find(self, query: Query) -> list[VersionedProgram]:
        return (await self._reads.block(await self.store.find(query))).programs

    def _record_write(self, record: ProgramRecord) -> Write:
        return (
            self.history.write(record)
            if isinstance(record, PastSummary)
            else self.archive.write(record)
        )

    async def _settle(self, program_id: str, turn: Turn) -> None:
        batch = [
            turn.waiting.popleft() for _ in range(min(MAX_CHANGES_PER_COMMIT, len(turn.waiting)))
        ]
        try:
            await self._commit_together(program_id, batch)
        except FleetMemoryError as error:
            for call in batch:
                call.error = call.error or error
        finally:
            turn.waiting.extendleft(call for call in reversed(batch) if not call.is_settled)

    async def _commit_together(
        self, program_id: str, batch: Sequence[QueuedCall[ChangeResult]]
    ) -> None:
        async def attempt() -> None:
            (before,) = await self._reads.heads(program_id)
            try:
                after, archived, outcomes = applied(before.program, batch)
            except PagesNeededError:
                (before,) = await self._reads.whole([before])
                after, archived, outcomes = applied(before.program, batch)
            await self.commit([VersionedChange(before, after, archived)])
            for call, outcome in outcomes:
                call.outcome = outcome

        await retry_conflicts(attempt, f"program {program_id}")


def _remembers(document: Document, commit_id: str) -> bool:
    return commit_id in cast("list[Json]", document.fields.get("commits") or [])
