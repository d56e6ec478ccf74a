"""The documents of a journal: its head, its events many to a document, a document a distillate."""

import secrets
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeVar

from fleet_memory.errors import DocumentRejectedError
from fleet_memory.fleet import Collection, Fleet
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.rules.erasing import DocumentFields, Erasure, fields_after
from fleet_memory.stores import ABSENT, Json, Ref, Write, document_id
from fleet_memory.tools.journal.rules import Distillate, Event, Journal, Past, UnreadError

JOURNALS: Final = "journals"
JOURNAL_EVENTS: Final = "journalEvents"
DISTILLATES: Final = "journalDistillates"
_TEXTS: Final = frozenset(("content", "sessionId", "groupId", "narrative", "facts"))
_T = TypeVar("_T")


class StoredJournal(NamedTuple):
    """A journal as it was read, and the revision of its head."""

    journal: Journal
    revision: str


class Journals(NamedTuple):
    """The journals of a fleet."""

    fleet: Fleet

    def _ref(self, collection: str, *names: object) -> Ref:
        return Ref(self.fleet.paths.collection(collection), document_id("#".join(map(str, names))))

    async def read(self, program_id: str) -> StoredJournal:
        """Return a program's journal, an empty one where it has none. Billed 1 read."""
        (document,) = await self.fleet.store.get(self._ref(JOURNALS, program_id))
        if document is None:
            return StoredJournal(Journal(program_id=program_id, id=secrets.token_hex(4)), ABSENT)
        stored = document.fields["pages"]
        pages = stored if isinstance(stored, dict) else {}
        in_order = [pages[f"p{number}"] for number in range(len(pages))]
        journal = Journal.from_fields({**document.fields, "pages": in_order})
        return StoredJournal(journal, document.revision)

    async def events(self, journal: Journal, pages: Sequence[int]) -> dict[int, Event]:
        """Return the events of some documents, by seq. Billed 1 read each."""
        documents = await self.fleet.store.get(
            *(self._ref(JOURNAL_EVENTS, journal.id, n) for n in pages)
        )
        pages_read = [it.fields["events"] for it in documents if it is not None]
        stored = [it for page in pages_read if isinstance(page, dict) for it in page.values()]
        events = [Event.from_fields(it) for it in stored if isinstance(it, dict)]
        return {event.seq: event for event in events}

    async def distillates(self, journal: Journal, ids: Sequence[str]) -> dict[str, Distillate]:
        """Return distillates by id. Billed 1 read each."""
        refs = [self._ref(DISTILLATES, journal.id, id_) for id_ in ids]
        documents = await self.fleet.store.get(*refs)
        read = [Distillate.from_fields(it.fields) for it in documents if it is not None]
        return {it.id: it for it in read}

    async def resolved(self, journal: Journal, decide: Callable[[Past], _T]) -> _T:
        """Return a rule's decision, reading the documents that it asks for. Billed 1 read for each
        document. Raises DocumentRejectedError when one of them is missing.
        """
        past = Past(journal)
        while True:
            try:
                return decide(past)
            except UnreadError as unread:
                events = await self.events(journal, unread.pages)
                distillates = await self.distillates(journal, unread.distillates)
            if not events and not distillates:
                raise DocumentRejectedError(
                    f"A part of {journal.program_id}'s journal is missing; restore a backup."
                )
            past = Past(journal, {**past.events, **events}, {**past.distillates, **distillates})

    async def append(self, known: StoredJournal, after: Journal, events: Sequence[Event]) -> None:
        """Commit the events of an append. Billed 1 read, where their document is there, and 2
        writes. Raises ConflictError when another appended first.
        """
        number = len(after.pages) - 1
        ref = self._ref(JOURNAL_EVENTS, after.id, number)
        fields: dict[str, Json] = {f"e{event.seq}": event.wire() for event in events}
        page = Write(ref, {"programId": after.program_id, "events": fields}, ABSENT)
        if number < len(known.journal.pages):
            (document,) = await self.fleet.store.get(ref)
            entries = {f"events.{name}": event for name, event in fields.items()}
            page = Write(ref, entries, document.revision if document else ABSENT)
        await commit_settled(self.fleet.store, page, self._write(known, after))

    async def distil(self, known: StoredJournal, after: Journal, distillate: Distillate) -> None:
        """Commit a distillate. Billed 2 writes."""
        fields: dict[str, Json] = {"programId": after.program_id, **distillate.wire()}
        write = Write(self._ref(DISTILLATES, after.id, distillate.id), fields, ABSENT)
        await commit_settled(self.fleet.store, write, self._write(known, after))

    def _write(self, known: StoredJournal, after: Journal) -> Write:
        """Return the write of a head: with only the changed pages."""
        before, fields = known.journal.pages, after.wire()
        pages: dict[str, Json] = {
            f"p{number}": page.wire()
            for number, page in enumerate(after.pages)
            if page not in before[number : number + 1]
        }
        fields["pages"] = pages
        if known.revision != ABSENT:
            del fields["pages"]
            fields |= {f"pages.{name}": page for name, page in pages.items()}
        return Write(self._ref(JOURNALS, after.program_id), fields, known.revision)


def after_erasure(fields: DocumentFields, erasure: Erasure) -> DocumentFields | None:
    """Return a document of a journal with the mark in place of each erased text, None for an erased
    program's: an event keeps its seq, kind and time.
    """
    if erasure.is_program(fields["programId"]):
        return None
    after = _texts_after(fields, erasure)
    events = {key: _texts_after(it, erasure) for key, it in fields.get("events", {}).items()}
    return {**after, "events": events} if events else after


def _texts_after(fields: DocumentFields, erasure: Erasure) -> DocumentFields:
    texts = {name: text for name, text in fields.items() if name in _TEXTS}
    return {**fields, **(fields_after(texts, erasure) or {})}


def longer(here: DocumentFields, there: DocumentFields) -> DocumentFields:
    """Return the longer head or page of two copies of one journal; else this store's."""
    is_one = here.get("id") == there.get("id")
    return max(here, there, key=_length) if is_one else here


def _length(fields: DocumentFields) -> tuple[int, int]:
    return fields.get("head", len(fields.get("events", ()))), fields.get("revision", 0)


JOURNAL_COLLECTIONS: Final = (
    Collection(JOURNALS, ("pages", "roots", "requests"), longer, after_erasure),
    Collection(JOURNAL_EVENTS, ("events",), longer, after_erasure),
    Collection(DISTILLATES, ("narrative", "facts", "children"), erased=after_erasure),
)
