"""One pass over a fleet that erases: traces of the texts first, then the texts."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.erasing.documents import (
    entry_writes,
    holds_text,
    ledger_writes,
    page_writes,
    pair_writes,
    policy_writes,
    program_writes,
    record_writes,
    removal_writes,
    token_writes,
    trace_writes,
)
from fleet_memory.jobs.erasing.findings import Findings
from fleet_memory.jobs.erasing.plan import Plan
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.stored_json import plain
from fleet_memory.repositories.unreadable import UnreadableDocument, decoded
from fleet_memory.rules.erasing.targets import Erasure
from fleet_memory.stores import ABSENT, Document, Query, Write

_WritesOf: TypeAlias = Callable[[Document], Sequence[Write]]
_ProgramWritesOf: TypeAlias = Callable[[Fleet, VersionedProgram, Erasure], list[Write]]


@dataclass
class ErasingRound:
    """One pass over a fleet that erases, or counts under a writer that writes nothing."""

    fleet: Fleet
    writer: FencedWriter
    plan: Plan
    documents: Counter[str] = field(default_factory=Counter)
    found: Findings = field(default_factory=Findings)

    @property
    def erasure(self) -> Erasure:
        """What goes."""
        return self.plan.erasure

    async def run(self) -> None:
        """Erase traces of the texts, then the texts."""
        paths, erasure = self.fleet.knowledge.paths, self.erasure
        if not self.writer.is_dry_run:
            await self._programs(trace_writes)
        await self._each(
            "pairs", paths.pairs, lambda document: pair_writes(self.fleet, document, erasure)
        )
        await self._each("ledger", paths.ledger, lambda document: ledger_writes(document, erasure))
        for group in ("history", "receipts", "waiting", "archive"):
            await self._each(
                group, paths.collection(group), lambda document: record_writes(document, erasure)
            )
        await self._each("tokens", paths.tokens, lambda document: token_writes(document, erasure))
        for document in filter(None, await self.fleet.knowledge.store.get(paths.policy)):
            await self._one(
                "policy", document, lambda document: policy_writes(self.fleet, document, erasure)
            )
        await self._maintenance()
        await self.writer.commit()  # renews the lease
        await self._programs(program_writes)
        await self.writer.commit()
        if not self.writer.is_dry_run:
            await self._each("pages", paths.pages, lambda document: page_writes(document, erasure))
        await self._entries()
        await self._snapshot()
        await self._program()

    async def _each(self, kind: str, collection: str, writes_of: _WritesOf) -> None:
        async for documents in document_blocks(self.fleet.knowledge.store, Query(collection)):
            for document in documents:
                await self._one(kind, document, writes_of)

    async def _one(self, kind: str, document: Document, writes_of: _WritesOf) -> None:
        writes = decoded(document, writes_of)
        if isinstance(writes, UnreadableDocument):
            self.plan.unreadable.append(writes)
        elif writes:
            self.documents[kind] += 1
            self.found.document(kind, writes)
            await self._commit(writes, partial(self._writes_again, document, writes_of))

    async def _writes_again(self, document: Document, writes_of: _WritesOf) -> Sequence[Write]:
        (now,) = await self.fleet.knowledge.store.get(document.ref)
        return writes_of(now) if now else []

    async def _commit(
        self, writes: Sequence[Write], again: Callable[[], Awaitable[Sequence[Write]]]
    ) -> None:
        """Commit, and decide again as long as somebody else writes first. A dry run writes
        nothing.
        """
        if self.writer.is_dry_run or await self.writer.try_commit(*writes):
            return

        async def attempt() -> None:
            if writes := await again():
                await self.writer.commit(*writes)

        await retry_conflicts(attempt, "a document that is to be erased")

    async def _maintenance(self) -> None:
        """Remove the sums, which have questions, and a note of a model's run that names a pair that
        goes.
        """
        paths = self.fleet.knowledge.paths
        for document in await self.fleet.knowledge.store.get(paths.sums, paths.model_run):
            if document is not None and (
                document.ref == paths.sums or record_writes(document, self.erasure)
            ):
                await self.writer.try_commit(Write(document.ref, None))

    async def _programs(self, writes_of: _ProgramWritesOf) -> None:
        async for block in self.fleet.programs.in_blocks():
            for versioned in block.programs:
                name = versioned.program.program_id
                if self.erasure.is_program(name):
                    continue
                if writes := writes_of(self.fleet, versioned, self.erasure):
                    if writes_of is program_writes:
                        self.documents["programs"] += 1
                        self.found.program(versioned.program, self.erasure)
                    await self._commit(writes, partial(self._program_again, name, writes_of))

    async def _program_again(self, name: str, writes_of: _ProgramWritesOf) -> Sequence[Write]:
        (versioned,) = await self.fleet.programs.read_many(name)
        return writes_of(self.fleet, versioned, self.erasure)

    async def _entries(self) -> None:
        for versioned in await self.fleet.knowledge.all():
            if versioned.entry is None:
                continue
            key = versioned.entry.key
            if writes := await self._entry_writes(key):
                self.documents["entries"] += 1
                self.found.entry(versioned.entry, self.erasure)
                await self._commit(writes, partial(self._entry_writes, key))

    async def _entry_writes(self, key: str) -> Sequence[Write]:
        (versioned,) = await self.fleet.knowledge.read_versioned(key)
        policy = await self.fleet.policies.read(self.fleet.now())
        return entry_writes(self.fleet, versioned, self.erasure, policy, self.fleet.now())

    async def _snapshot(self) -> None:
        """Write the snapshot without the rows of keys and texts that go, and remove the shards of
        earlier ones.
        """
        snapshots, erasure = self.fleet.knowledge.snapshots, self.erasure
        known = {
            versioned.entry.key
            for versioned in await self.fleet.knowledge.all()
            if versioned.entry is not None
        } - {erasure.key}
        gone = {
            row.key
            for row in (await snapshots.read()).rows
            if row.key not in known or holds_text(plain(row.stored_text), erasure)
        }
        if gone:
            self.documents["snapshots"] += 1
        if self.writer.is_dry_run:
            return
        if gone or await snapshots.behind():
            await self.writer.publish(without=gone)
        for write in await snapshots.leftovers():
            await self.writer.try_commit(write)

    async def _program(self) -> None:
        """Remove a program that goes; its own writes meanwhile go with it."""
        name = self.erasure.program_id
        if name is None or not self.erasure.is_program(name):
            return
        (versioned,) = await self.fleet.programs.read_many(name)
        if versioned.revision == ABSENT:
            return
        self.documents["programs"] += 1
        self.found.whole(versioned.program)
        await self._commit(removal_writes(self.fleet, versioned), partial(self._removal, name))

    async def _removal(self, name: str) -> Sequence[Write]:
        (versioned,) = await self.fleet.programs.read_many(name)
        return removal_writes(self.fleet, versioned) if versioned.revision != ABSENT else []
