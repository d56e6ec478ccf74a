"""Migration of a memory that the version before wrote: one document at a time, under the
maintainer's lease.

Every commit leaves a memory that opens and answers. A run that ends early is continued by the next:
verdicts become pairs before the programs with them are rewritten, an entry and its open pairs are
one commit, and the note that all is done comes last.
"""

import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.jobs.log_lines import log_migration
from fleet_memory.jobs.older_verdicts import OlderTexts, VerdictPair
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.entry_codec import changed_entry_fields
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import (
    absent_program,
    changed_fields,
    versioned_program,
)
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.unreadable import UnreadableDocument, iter_readable
from fleet_memory.repositories.version_before import (
    PROGRAM_FIELDS_BEFORE,
    is_program_before,
    stored_verdicts,
)
from fleet_memory.rules.consensus.merged import membership_pairs, with_verdicts
from fleet_memory.rules.lifecycle.paging import moved_out
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Json, Query, Write

SCHEMA: Final = (
    2  # the form of a fleet's documents, as its policy's document notes it; 1 had no note
)
PAIRS_PER_COMMIT: Final = 50  # chosen

_logger = logging.getLogger(__name__)
CHECKED_AGAIN_AFTER: Final = timedelta(
    minutes=15
)  # an import may bring documents of the version before; chosen
_checked: Final = weakref.WeakKeyDictionary[
    Programs, datetime
]()  # when the note of a fleet of this process was read


class Migrated(NamedTuple):
    """Counts of one migration run, and the documents that it had to skip, as collection/id.

    `verdicts_dropped` are those about a text that is gone.
    """

    entries: int = 0
    programs: int = 0
    verdicts_kept: int = 0
    verdicts_dropped: int = 0
    pairs_opened: int = 0
    derived_deleted: int = 0
    skipped: tuple[str, ...] = ()


async def needs_migration(fleet: Fleet) -> bool:
    """Whether the fleet's memory may have documents of the version before. Billed 1 read; a False
    lasts 15 minutes.
    """
    checked, now = _checked.get(fleet.programs), fleet.now()
    if checked is not None and abs(now - checked) < CHECKED_AGAIN_AFTER:
        return False
    (document,) = await fleet.programs.store.get(fleet.programs.paths.policy)
    if document is None or document.fields.get("schema") != SCHEMA:
        return True
    _checked[fleet.programs] = now
    return False


async def migrate(fleet: Fleet, writer: FencedWriter) -> Migrated:
    """Bring every document of the fleet into the form of this version, and note that it is done.

    A document that cannot be read is skipped, logged and named; one that others write all the time
    is left to the next run. A memory of this version costs 3 reads and the note. Raises
    LeaseLostError and the store's errors; commits stay.
    """
    run = _Run(fleet, writer)
    if await _has_documents_before(fleet):
        await run.convert()
        figures = run.result()._asdict() | {
            "skipped": len(run.result().skipped)
        }  # each has a warning of its own
        log_migration(figures)
    if run.is_complete:
        await writer.commit(Write(fleet.programs.paths.policy, {"schema": SCHEMA}))
    return run.result()


async def _has_documents_before(fleet: Fleet) -> bool:
    """Whether there is any document of the version before. Billed at most 3 reads."""
    paths, store = fleet.programs.paths, fleet.programs.store
    queries = (
        Query(paths.programs, order="knowledgeSeen", limit=1),
        Query(paths.entries, order="status", limit=1),
        Query(paths.derived_before, limit=1),
    )
    for query in queries:
        if await store.find(query):
            return True
    return False


class _Run:
    """One migration run."""

    def __init__(self, fleet: Fleet, writer: FencedWriter) -> None:
        self.is_complete = True
        self._fleet = fleet
        self._writer = writer
        self._store = fleet.programs.store
        self._paths = fleet.programs.paths
        self._texts = OlderTexts()
        self._unreadable: list[UnreadableDocument] = []
        self._counts = Migrated()

    def result(self) -> Migrated:
        """Return the counts so far."""
        return self._counts._replace(
            skipped=tuple("/".join(unreadable.ref) for unreadable in self._unreadable)
        )

    async def convert(self) -> None:
        """Convert everything, in an order that loses no verdict wherever the run ends."""
        keys, programs = await self._read()
        await self._write_verdicts()
        for key in keys:
            await self._or_later(partial(self._convert_entry, key), f"entry {key}")
        for name in programs:
            await self._or_later(partial(self._convert_program, name), f"program {name}")
        if self.is_complete:
            await self._delete_derived()

    async def _read(self) -> tuple[list[str], list[str]]:
        """Read all texts and verdicts; return the keys of the entries and the programs of the
        version before.
        """
        entries = [
            versioned.entry
            for versioned in await self._fleet.knowledge.all(self._unreadable)
            if versioned.entry
        ]
        for entry in entries:
            self._texts.add_entry(entry)
        names: list[str] = []
        async for documents in document_blocks(self._store, Query(self._paths.programs)):
            names += [
                program.program_id
                for program in iter_readable(documents, self._noted, self._unreadable)
            ]
        for entry in entries:
            self._texts.add_contributions(entry)
        return [entry.key for entry in entries], names

    def _noted(self, document: Document) -> Program:
        program = _as_stored(document)
        verdicts = stored_verdicts(document.fields) if is_program_before(document.fields) else []
        self._texts.add_program(program, verdicts)
        return program

    async def _write_verdicts(self) -> None:
        verdicts = self._texts.verdict_pairs()
        self._counts = self._counts._replace(
            verdicts_kept=len(verdicts.kept), verdicts_dropped=verdicts.dropped
        )
        for start in range(0, len(verdicts.kept), PAIRS_PER_COMMIT):
            batch = verdicts.kept[start : start + PAIRS_PER_COMMIT]
            await self._or_later(partial(self._write_pairs, batch), "pairs")

    async def _write_pairs(self, verdicts: Iterable[VerdictPair]) -> None:
        by_id = {verdict.pair.pair_id: verdict for verdict in verdicts}
        missing = [
            versioned
            for versioned in await self._fleet.pairs.read(*by_id)
            if versioned.pair is None
        ]
        writes = [
            self._pair_write(
                versioned, by_id[versioned.pair_id].pair, is_asked=by_id[versioned.pair_id].is_asked
            )
            for versioned in missing
        ]
        if writes:
            await self._writer.commit(*writes)

    def _pair_write(self, before: VersionedPair, pair: Pair, *, is_asked: bool) -> Write:
        """Return the write of a pair; one that an older version settled asks no program."""
        write = self._fleet.pairs.write(before, pair)
        fields = write.fields or {}
        return (
            write
            if is_asked
            else write._replace(
                fields={name: value for name, value in fields.items() if name not in ASKING_FIELDS}
            )
        )

    async def _convert_entry(self, key: str) -> None:
        (versioned,) = await self._fleet.knowledge.read_versioned(key)
        if versioned.entry is None:
            return
        after = with_verdicts(versioned.entry, self._texts.same_pairs)
        wanted = membership_pairs(after, self._fleet.now())
        missing = (
            [
                versioned
                for versioned in await self._fleet.pairs.read(*wanted)
                if versioned.pair is None
            ]
            if wanted
            else []
        )
        writes = [
            self._fleet.pairs.write(versioned, wanted[versioned.pair_id]) for versioned in missing
        ]
        if versioned.is_converted or after is not versioned.entry:
            fields = changed_entry_fields(versioned, replace(after, unpublished=True))
            writes.append(Write(self._paths.entry(key), fields, versioned.revision))
        if writes:
            await self._writer.commit(*writes)
        counts = self._counts
        self._counts = counts._replace(
            entries=counts.entries + versioned.is_converted,
            pairs_opened=counts.pairs_opened + len(missing),
        )

    async def _convert_program(self, program_id: str) -> None:
        ref = self._paths.program(program_id)
        (document,) = await self._store.get(ref)
        if document is None or not is_program_before(document.fields):
            return
        after = with_free_lessons_pending(_as_stored(document))
        removed: dict[str, Json] = dict.fromkeys(
            name for name in PROGRAM_FIELDS_BEFORE if name in document.fields
        )
        fields = changed_fields(absent_program(program_id), after) | removed
        await self._writer.commit(Write(ref, fields, document.revision))
        self._counts = self._counts._replace(programs=self._counts.programs + 1)

    async def _delete_derived(self) -> None:
        async for documents in document_blocks(self._store, Query(self._paths.derived_before)):
            if documents:
                await self._writer.commit(*(Write(document.ref, None) for document in documents))
            self._counts = self._counts._replace(
                derived_deleted=self._counts.derived_deleted + len(documents)
            )

    async def _or_later(self, attempt: Callable[[], Awaitable[None]], name: str) -> None:
        """Convert something; if others write it all the time, the next run does."""
        try:
            await retry_conflicts(attempt, name)
        except ConflictError as busy:
            _logger.warning("%s is left to the next migration run: %s", name, busy)
            self.is_complete = False


ASKING_FIELDS: Final = frozenset({"askA", "askB", "openRank", "askThird", "forPeople"})


def with_free_lessons_pending(program: Program) -> Program:
    """Return the program with every lesson that is in no entry pending, so that the first run
    considers it.
    """
    free = [id_ for id_, pattern in program.patterns.items() if pattern.knowledge_key is None]
    return replace(program, pending=tuple(dict.fromkeys([*program.pending, *free])))


def _as_stored(document: Document) -> Program:
    """Return a program with every lesson of its document at hand, those too that move to a page
    later.
    """
    versioned = versioned_program(document)
    program, leaving = versioned.program, versioned.outgoing
    return replace(
        program, patterns={**program.patterns, **leaving}, paged=moved_out(program.paged, leaving)
    )
