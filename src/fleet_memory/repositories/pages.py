"""Pages: documents of their own for the lessons that the cap moved out of a program's document."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from anyio import to_thread

from fleet_memory.repositories.decoded_documents import DecodedDocuments
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import (
    Entries,
    VersionedProgram,
    changed_entries,
    decoded_entries,
    outgoing_lessons,
    pattern_key,
)
from fleet_memory.repositories.unreadable import UnreadableDocument, decoded, decoded_or_raised
from fleet_memory.rules.lifecycle.paging import moved_out
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import PagedLesson, Program
from fleet_memory.stores import ABSENT, Document, Json, Ref, Store, Write


class Page(NamedTuple):
    """A page of a program: its lessons by id, and the revision that a commit must expect."""

    program_id: str
    number: int
    patterns: Mapping[str, Pattern]
    revision: str


def page_of(document: Document) -> Page:
    """Return the page in a document. Raises ValueError, KeyError, TypeError or AttributeError for
    any other shape.
    """
    return _page_in(document, decoded_entries(document))


def _page_in(document: Document, entries: Entries) -> Page:
    fields = document.fields
    patterns = {pattern.id: pattern for pattern in entries.patterns.values()}
    return Page(
        str(fields["programId"]), int(cast("int", fields["page"])), patterns, document.revision
    )


class Pages:
    """The pages of one fleet's programs."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self.store = store
        self.paths = paths
        self._decoded = DecodedDocuments(_page_in)

    async def joined(self, heads: Sequence[VersionedProgram]) -> list[VersionedProgram]:
        """Return programs with the lessons of their pages. Billed 1 read each page.

        The program's own document decides which lessons are on which page. Those that it names and
        no page has are `lost` and not in `paged`. Raises DocumentRejectedError for a page that
        cannot be read.
        """
        documents = await self._documents(heads)
        pages = {
            ref: decoded_or_raised(document, self._decoded.value)
            for ref, document in documents.items()
        }
        return [self._with_pages(head, pages) for head in heads]

    async def joined_unkept(self, heads: Sequence[VersionedProgram]) -> list[VersionedProgram]:
        """Like `joined`, decoded in a thread, and not kept among the pages that were read last."""
        documents = await self._documents(heads)
        pages = await to_thread.run_sync(_pages_or_raised, documents) if documents else {}
        return [self._with_pages(head, pages) for head in heads]

    async def joined_readable(
        self, heads: Sequence[VersionedProgram], unreadable: list[UnreadableDocument]
    ) -> list[VersionedProgram]:
        """Return programs as `joined` does but those with a page that cannot be read, which is
        added to `unreadable`.

        Pages are decoded in a thread: other calls go on meanwhile.
        """
        documents = await self._documents(heads)
        values = await to_thread.run_sync(_decoded_pages, documents) if documents else {}
        bad = {ref: value for ref, value in values.items() if isinstance(value, UnreadableDocument)}
        unreadable += bad.values()
        pages = {ref: value for ref, value in values.items() if isinstance(value, Page)}
        return [
            self._with_pages(head, pages)
            for head in heads
            if not bad.keys() & set(self._refs(head))
        ]

    async def with_revisions(self, before: VersionedProgram, after: Program) -> VersionedProgram:
        """Return a program with the revisions of the pages that a change writes and that were not
        read.

        Billed 1 read for each of these.
        """
        changed = _changed_lessons(before, after, _on_pages(before, after))
        refs = {
            number: self.paths.page(after.program_id, number)
            for number in changed
            if number not in before.pages
        }
        if not refs:
            return before
        documents = await self.store.get(*refs.values())
        known = {
            number: document.revision if document else ABSENT
            for number, document in zip(refs, documents, strict=True)
        }
        return before._replace(pages={**before.pages, **known})

    def writes(self, before: VersionedProgram, after: Program) -> list[Write]:
        """Return the writes of the pages whose lessons a change moves or changes; one without
        lessons is removed.
        """
        writes: list[Write] = []
        after_paged = _on_pages(before, after)
        left = {lesson.page for lesson in after_paged.values()}
        for number, lessons in _changed_lessons(before, after, after_paged).items():
            ref, revision = (
                self.paths.page(after.program_id, number),
                before.pages.get(number, ABSENT),
            )
            if number not in left:
                writes += [Write(ref, None, revision)] if revision != ABSENT else []
            elif revision == ABSENT:
                patterns: dict[str, Json] = {
                    key: text for key, text in lessons.items() if text is not None
                }
                fields: dict[str, Json] = {
                    "programId": after.program_id,
                    "page": number,
                    "patterns": patterns,
                }
                writes.append(Write(ref, fields, ABSENT))
            else:
                writes.append(
                    Write(ref, {f"patterns.{key}": text for key, text in lessons.items()}, revision)
                )
        return writes

    async def _documents(self, heads: Sequence[VersionedProgram]) -> dict[Ref, Document]:
        refs = [ref for head in heads for ref in self._refs(head)]
        documents = await self.store.get(*refs) if refs else []
        return {
            ref: document
            for ref, document in zip(refs, documents, strict=True)
            if document is not None
        }

    def _refs(self, head: VersionedProgram) -> list[Ref]:
        numbers = sorted(
            {lesson.page for lesson in moved_out(head.program.paged, head.outgoing).values()}
        )
        return [self.paths.page(head.program.program_id, number) for number in numbers]

    def _with_pages(self, head: VersionedProgram, pages: Mapping[Ref, Page]) -> VersionedProgram:
        program = head.program
        if not program.paged:
            return head
        own = [page for ref in self._refs(head) if (page := pages.get(ref))]
        there = {
            id_: pattern
            for page in own
            for id_, pattern in page.patterns.items()
            if id_ not in head.outgoing
            and (lesson := program.paged.get(id_))
            and lesson.page == page.number
        }
        # in the order that they have once they are on their pages: of two equal ones the first
        # leads
        if head.outgoing:
            there = dict(
                sorted(
                    {**there, **head.outgoing}.items(), key=lambda item: _place(program, item[1])
                )
            )
        lost = {id_: lesson for id_, lesson in program.paged.items() if id_ not in there}
        paged = {id_: program.paged[id_] for id_ in there} if lost else program.paged
        whole = replace(program, patterns={**program.active, **there}, paged=paged)
        return head._replace(
            program=whole, pages={page.number: page.revision for page in own}, lost=lost
        )


def _place(program: Program, lesson: Pattern) -> tuple[int, float, str]:
    return program.paged[lesson.id].page, lesson.stored_s, lesson.id


def _decoded_pages(documents: Mapping[Ref, Document]) -> dict[Ref, Page | UnreadableDocument]:
    return {ref: decoded(document, page_of) for ref, document in documents.items()}


def _pages_or_raised(documents: Mapping[Ref, Document]) -> dict[Ref, Page]:
    return {ref: decoded_or_raised(document, page_of) for ref, document in documents.items()}


def _on_pages(before: VersionedProgram, after: Program) -> Mapping[str, PagedLesson]:
    """Return the lessons that pages store after a change: those on pages but the ones that stay
    outgoing.
    """
    return moved_out(after.paged, outgoing_lessons(before, after))


def _changed_lessons(
    versioned: VersionedProgram, after: Program, after_paged: Mapping[str, PagedLesson]
) -> dict[int, dict[str, str | None]]:
    """Return the stored texts of the lessons on pages that differ, by page and by their keys in its
    map.

    None for a lesson that left its page. `after_paged` are those that pages store after the change.
    """
    changed: defaultdict[int, dict[str, str | None]] = defaultdict(dict)
    before, before_paged = versioned.program, moved_out(versioned.program.paged, versioned.outgoing)
    for id_, old in changed_entries(after_paged, before_paged).items():
        if (now := after_paged.get(id_)) is None or now.page != old.page:
            changed[old.page][pattern_key(id_)] = None
    entered = {
        id_
        for id_, paged_lesson in changed_entries(before_paged, after_paged).items()
        if (was := before_paged.get(id_)) is None or was.page != paged_lesson.page
    }
    patterns = {**versioned.outgoing, **after.patterns}
    for id_ in [id_ for id_ in patterns if id_ in after_paged]:
        if id_ in entered or patterns[id_] is not before.patterns.get(id_):
            changed[after_paged[id_].page][pattern_key(id_)] = patterns[id_].stored_text
    return dict(sorted(changed.items()))
