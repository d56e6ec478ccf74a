"""Reads of programs: without their pages, or whole, one by one or in blocks."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from anyio import to_thread

from fleet_memory.repositories.blocks import PROGRAMS_PER_BLOCK
from fleet_memory.repositories.decoded_documents import DecodedDocuments
from fleet_memory.repositories.pages import Pages
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import (
    VersionedProgram,
    absent_program,
    iter_versioned_programs,
    program_in,
    versioned_program,
)
from fleet_memory.repositories.unreadable import UnreadableDocument, decoded_or_raised
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Ref, Store


class ProgramBlock(NamedTuple):
    """Some programs of a fleet, and the documents among them that cannot be read, which are logged
    too.
    """

    programs: list[VersionedProgram]
    unreadable: list[UnreadableDocument]


class ProgramReads:
    """The reads of one fleet's programs, and their `pages`."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self.pages = Pages(store, paths)
        self._store = store
        self._paths = paths
        self._decoded = DecodedDocuments(program_in)

    async def heads(self, *program_ids: str) -> list[VersionedProgram]:
        """Return programs without their pages. Billed 1 read each.

        Raises DocumentRejectedError for one that cannot be read.
        """
        documents = await self._store.get(
            *(self._paths.program(program_id) for program_id in program_ids)
        )
        return list(map(self._head, program_ids, documents))

    async def head_and_other(
        self, program_id: str, other: Ref
    ) -> tuple[VersionedProgram, Document | None]:
        """Return a program as `heads` does and another document, read together. Billed 1 read
        each.
        """
        document, beside = await self._store.get(self._paths.program(program_id), other)
        return self._head(program_id, document), beside

    def _head(self, program_id: str, document: Document | None) -> VersionedProgram:
        return (
            decoded_or_raised(document, self._decoded.value)
            if document
            else absent_program(program_id)
        )

    async def unkept(self, *program_ids: str) -> list[VersionedProgram]:
        """Return programs with their pages, decoded in a thread, and not kept among those that were
        read last.

        Billed 1 read each, and each page. Raises DocumentRejectedError for one that cannot be read.
        """
        return await self._settled(
            await self.pages.joined_unkept(await self._unkept_heads(*program_ids))
        )

    async def _unkept_heads(self, *program_ids: str) -> list[VersionedProgram]:
        documents = await self._store.get(
            *(self._paths.program(program_id) for program_id in program_ids)
        )
        decoded = [
            partial(decoded_or_raised, document, versioned_program) if document else None
            for document in documents
        ]
        del documents
        return await to_thread.run_sync(
            lambda: [
                decode() if decode else absent_program(id_)
                for id_, decode in zip(program_ids, decoded, strict=True)
            ]
        )

    async def whole(self, heads: Sequence[VersionedProgram]) -> list[VersionedProgram]:
        """Return programs with their pages; one whose lessons moved meanwhile is read again. Billed
        1 read each page.

        Raises DocumentRejectedError for a page that cannot be read.
        """
        return await self._settled(await self.pages.joined(heads))

    async def _settled(self, joined: list[VersionedProgram]) -> list[VersionedProgram]:
        """Return programs as they are; one that seems to have lost lessons and has changed
        meanwhile is read again.
        """
        torn = {head.program.program_id: head.revision for head in joined if head.lost}
        heads = await self._unkept_heads(*torn) if torn else ()
        again = [head for head in heads if head.revision != torn[head.program.program_id]]
        renewed = await self._settled(await self.pages.joined_unkept(again)) if again else ()
        by_id = {versioned.program.program_id: versioned for versioned in renewed}
        return [by_id.get(versioned.program.program_id, versioned) for versioned in joined]

    async def block(self, documents: list[Document]) -> ProgramBlock:
        """Return the programs of documents, whole. Billed 1 read each page, those of a few programs
        at once.
        """
        programs, unreadable = await self.block_of_heads(documents)
        del documents
        whole: list[VersionedProgram] = []
        for start in range(0, len(programs), PROGRAMS_PER_BLOCK):
            some = programs[start : start + PROGRAMS_PER_BLOCK]
            whole += await self._settled(await self.pages.joined_readable(some, unreadable))
        return ProgramBlock(whole, unreadable)

    async def block_of_heads(self, documents: list[Document]) -> ProgramBlock:
        """Return the programs of documents without their pages, decoded in a thread: other calls go
        on meanwhile.
        """
        unreadable: list[UnreadableDocument] = []
        programs = iter_versioned_programs(documents, unreadable)
        del documents
        return ProgramBlock(await to_thread.run_sync(list, programs), unreadable)

    def know(self, before: Program, after: Program) -> None:
        """Take up the lessons and notes that a commit writes, so that the next read need not decode
        them.
        """
        self._decoded.know(self._paths.program(after.program_id), before, after)
