"""Where documents live: four verbs that every engine speaks, and the values they exchange.

The docstrings of this module are the specification; `emulator-tests/test_store_*.py` check every
engine against them.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple, Protocol, TypeAlias

from fleet_memory.errors import StoreError

Scalar: TypeAlias = str | int | float | bool
Json: TypeAlias = Scalar | list["Json"] | dict[str, "Json"] | None

SHAPE: Final = 7
"""The name of the shape that documents have, and of their rows in a file. A store carries it, each
change of shape renews it, and every verb refuses a store of another one.
"""
ABSENT: Final = "ABSENT"  # Write.expect: the document must not exist yet

_PLAIN = re.compile(r"[A-Za-z0-9-]")
_MAX_ID_BYTES = (
    128  # bytes; Firestore takes 1,500, an index entry and a log line are better off with less
)


class Ref(NamedTuple):
    """Where one document is: a flat collection path and an id of `[A-Za-z0-9_-]{1,128}`; see
    `document_id`.
    """

    collection: str
    id: str


class Document(NamedTuple):
    """One document as it was read. `revision` is opaque: it moves with every commit that touches
    the document.

    A document never has the same one again, not even after it was deleted and created. Values are
    read as they were written: 1.0 and 1e22 stay floats, a text may have NUL characters. The entries
    of a map have no order.
    """

    ref: Ref
    fields: dict[str, Json]
    revision: str


class Query(NamedTuple):
    """A question to ONE flat collection.

    `where` has equalities on top-level scalars (texts up to 200 characters, one type per field); 3
    equals 3.0. `order` is the name of such a field, descending with a leading "-"; documents
    without that field are left out. Ties go by document id, in the same direction; without `order`
    documents come by ascending id. Numbers are ordered by value, texts and ids by their UTF-8
    bytes, whatever the locale: "Z" < "a" < "é". `limit` is at least 1.

    `after` reads a collection in blocks: only ids greater than this one, which need not exist. It
    takes `where` and `limit` and never `order`. Example: `Query(collection, after="basher",
    limit=100)`.
    """

    collection: str
    where: Mapping[str, Scalar] = {}
    order: str | None = None
    limit: int | None = None
    after: str | None = None


class Write(NamedTuple):
    """One change to one document.

    Each named top-level field is replaced whole and the others stay; a value of None removes the
    field. `fields=None` deletes the document. `expect` is `ABSENT`, a revision, or None for any
    state. With a revision, and only then, a name may be "map.key": only that entry of the map is
    set or removed (key `[A-Za-z0-9_]+`).

    A write names at least one field, and it must change something: an unchanged document may keep
    its revision. Values are JSON, with no list directly in a list; integers have 64 bits, numbers
    are finite, texts have no half characters (lone surrogates).
    """

    ref: Ref
    fields: Mapping[str, Json] | None
    expect: str | None = None


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The state of the data, as `fleet-memory doctor store` shows it.

    `schema_version` is the store's `SHAPE`. `documents` counts the documents per collection
    group, the last part of the path, e.g. {"programs": 12}.
    """

    schema_version: int
    intact: bool
    documents: dict[str, int]


class Store(Protocol):
    """The specification of an engine. All errors are of `fleet_memory.errors`, none of the engine's
    library.

    Any verb may raise StoreUnavailableError (nothing was written, try again later) or
    StoreRejectedError (it will fail the same way again); of these DocumentRejectedError is about
    one document, and the others can still be read and written. Messages are for clients and name
    neither the store's place nor a document; `operator_detail` does.

    An engine is made without I/O: its first verb opens the store, and creates there what is
    missing, while other processes may do the same. A failure is not remembered: the next verb opens
    again, so that a server which was restarted, or a problem that was solved, needs no restart of
    ours. So does a verb after `close`. Verbs run at the same time, of one store or of many in any
    number of processes, and none blocks the event loop.
    """

    async def get(self, *refs: Ref) -> list[Document | None]:
        """Read documents in the order of `refs`, None where absent. Billed 1 read per ref.

        They need not be of one moment: compare the contents of several that belong together.
        """

    async def find(self, query: Query) -> list[Document]:
        """Read every match. Billed 1 read per document returned, at least 1."""

    async def total(self, query: Query, field: str | None = None) -> int:
        """Sum the integers in `field` over the matches, or count them without one; limit and after
        are ignored.

        `order` leaves out documents without that field, as in `find`. Documents where `field` is
        missing or no number count as 0. Billed 1 read per 1,000 matches, at least 1.
        """

    async def commit(self, *writes: Write) -> datetime:
        """Apply all writes or none; durable when it returns. At most one write per document.

        Commits are serializable, whoever makes them: of two that expect the same revision one
        conflicts, and two without `expect` both take effect. Up to `messages.MAX_COMMIT_BYTES` of
        values fit into one.

        Returns the store's time of the commit, in UTC: by its server's clock, for a file by this
        machine's. A commit without writes does nothing and returns this machine's time. A commit
        that has begun is finished even when the caller is cancelled.

        Raises ConflictError when any `expect` is not met (nothing was applied), OutcomeUnknownError
        when the answer was lost (it may have been applied, and still may be), DocumentRejectedError
        when a document would exceed `messages.MAX_DOCUMENT_BYTES` or has values that `Write`
        excludes. The sentences of these are in `messages`.
        """

    async def scrub(self) -> bool:
        """Remove what was deleted or replaced from the engine's own files too; False when others
        keep it from that.

        It waits a while for them; the same call later finishes. No document changes. True at once
        where the engine has no files here. Raises StoreError when there is no room for it.
        """

    async def check(self) -> StoreHealth:
        """Read everything and report. Raises StoreError when that is not possible."""

    async def close(self) -> None:
        """Release files and connections; calling it twice is fine."""


@lru_cache(maxsize=1024)  # the same few programs, call after call
def document_id(name: str) -> str:
    """Return a document id for any text: readable where possible, injective, never raw user text.

    Letters, digits and "-" stay, every other character becomes `_` and the hex of its UTF-8 bytes
    with a closing `_`; ids past 128 characters are hashed instead (`_h_` cannot come out of the
    escape: "h" is no hex digit).
    """
    escaped = "".join(
        char if _PLAIN.fullmatch(char) else f"_{char.encode().hex()}_" for char in name
    )
    if 0 < len(escaped) <= _MAX_ID_BYTES:
        return escaped
    return "_h_" + hashlib.sha256(name.encode()).hexdigest()


# Limits of documents and commits, and messages of refused ones, the same for every engine

# `document_bytes` of the fields; Source: Firestore's 1 MiB for a document, less its path, so that a
# memory fits each
MAX_DOCUMENT_BYTES: Final = 1_048_000
# bytes of values; Source: Firestore's emulator refuses requests of 4 MiB, and names and revisions
# add to the values
MAX_COMMIT_BYTES: Final = 2_500_000


def document_bytes(value: Json | Mapping[str, Json]) -> int:
    """Return the bytes of fields, or of a value, as Firestore counts them. Raises ValueError for
    half characters.
    """
    if isinstance(value, str):
        return len(value.encode()) + 1
    if isinstance(value, Mapping):
        return sum(document_bytes(name) + document_bytes(each) for name, each in value.items())
    if isinstance(value, list):
        return sum(map(document_bytes, value))
    return 8


Failure: TypeAlias = tuple[type[StoreError], str]
"""The error to raise, and its message."""

CONFLICT: Final = (
    "Someone else changed this memory at the same moment; nothing was written. Call again."
)
DOCUMENT_TOO_LARGE: Final = (
    "A document would grow beyond 1 MiB; nothing was written. Store less in it."
)
UNFIT: Final = (
    "A document holds half a character, NaN or an integer over 64 bits, which no store "
    "keeps; nothing was written."
)
OTHER_SHAPE: Final = (
    "Another version of fleet-memory wrote this store, in a shape that this one does not read: run "
    "`fleet-memory export FILE` with that version (0.2.0 is commit 2d52425a), then `fleet-memory "
    "import FILE` with this one into a new store; nothing was changed."
)
