"""Documents many at once: read in blocks, decoded or skipped, written in batches."""

import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar, cast
from weakref import WeakValueDictionary

from fleet_memory.errors import DocumentRejectedError
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.tokens import is_token_id
from fleet_memory.schemas.value import Value
from fleet_memory.stores import ABSENT, MAX_COMMIT_BYTES, Document, Json, Query, Ref, Store, Write

DOCUMENTS_PER_BLOCK: Final = (
    50  # chosen: 50 documents of 900,000 bytes at most are 45 MB in memory at once
)
PROGRAMS_PER_BLOCK: Final = 20  # of 900,000 bytes at most; chosen


async def document_blocks(
    store: Store, query: Query, size: int = DOCUMENTS_PER_BLOCK
) -> AsyncIterator[list[Document]]:
    """Yield the documents that match, by ascending id, in blocks of at most `size`; at least one,
    maybe empty.

    `query` has no order; it may begin after an id. Billed 1 read each.
    """
    while True:
        documents = await store.find(query._replace(limit=size))
        is_last = len(documents) < size
        query = query._replace(after=documents[-1].ref.id) if documents else query
        yield documents
        if is_last:
            return
        del documents


_T = TypeVar("_T")
_R = TypeVar("_R")
_V = TypeVar("_V", bound=Value)


def batches(writes: Iterable[Write]) -> list[list[Write]]:
    """Return writes in as few commits as their size in UTF-8 allows, in order; a write is never
    split.
    """
    commits: list[list[Write]] = [[]]
    room = MAX_COMMIT_BYTES
    for write in writes:
        bytes_ = size(dict(write.fields or {}))
        if commits[-1] and bytes_ > room:
            commits.append([])
            room = MAX_COMMIT_BYTES
        commits[-1].append(write)
        room -= bytes_
    return [commit for commit in commits if commit]


def changed(document: Document, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a write that makes these the fields of a document."""
    gone: dict[str, Json] = dict.fromkeys(document.fields.keys() - fields.keys())
    return gone | {
        name: value for name, value in fields.items() if document.fields.get(name) != value
    }


def groups_of(size: int, items: Collection[_T]) -> Iterator[list[_T]]:
    """Yield the items in order, `size` at once and at last the others, e.g. 2, "abc" -> ["a", "b"],
    ["c"].
    """
    left = iter(items)
    while group := list(islice(left, size)):
        yield group


_UNREADABLE: Final = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)  # of codecs, for fields of another shape

_logger = logging.getLogger(__name__)


_VALUES: Final = WeakValueDictionary[tuple[type[Value], str], Value]()


def value_of(kind: type[_V], text: str) -> _V:
    """Return the value of a stored text: the same object as long as anybody has it, so that what is
    derived from one is derived once. Raises ValueError for any other text.
    """
    if (known := _VALUES.get((kind, text))) is None:
        _VALUES[kind, text] = known = kind.from_stored(text)
    return cast("_V", known)


def text_of(value: Value) -> str:
    """Return the text to store, which `value_of` reads as this value."""
    _VALUES.setdefault((type(value), value.stored_text), value)
    return value.stored_text


class UnreadableDocument(NamedTuple):
    """A document that cannot be decoded, and why in a few words, without its content."""

    ref: Ref
    reason: str

    def __str__(self) -> str:
        """Return it in one line, e.g. "programs/basher cannot be read: KeyError"."""
        return (
            f"{self.ref.collection.rsplit('/', 1)[-1]}/{self.ref.id} cannot be read: {self.reason}"
        )


def decoded(document: Document, decode: Callable[[Document], _T]) -> _T | UnreadableDocument:
    """Return the value of a document, or why it has none."""
    try:
        return decode(document)
    except _UNREADABLE as error:
        return UnreadableDocument(document.ref, type(error).__name__)


def decoded_or_raised(document: Document, decode: Callable[[Document], _T]) -> _T:
    """Return the value of a document. Raises DocumentRejectedError, which names the document, if it
    has none.
    """
    try:
        return decode(document)
    except _UNREADABLE as error:
        raise DocumentRejectedError(
            f"The document {document.ref.id!r} cannot be read. An operator sees more with "
            "fleet-memory doctor store.",
            operator_detail=f"{document.ref.collection}/{document.ref.id}: {type(error).__name__}",
        ) from error


class Versioned(NamedTuple, Generic[_R]):
    """A value as it was read, and the revision that a commit must expect (`ABSENT` where there is
    no document).
    """

    value: _R
    revision: str


def versioned(kind: type[_V]) -> Callable[[Document], Versioned[_V]]:
    """Return the decoder of documents whose fields are a value's. It raises ValueError for fields
    of another shape.
    """
    return lambda document: Versioned(kind.from_fields(document.fields), document.revision)


async def read_versioned(store: Store, ref: Ref, absent: _V) -> Versioned[_V]:
    """Return the value of a document, `absent` where there is none. Billed 1 read. Raises
    DocumentRejectedError when it cannot be read.
    """
    (document,) = await store.get(ref)
    if document is None:
        return Versioned(absent, ABSENT)
    return decoded_or_raised(document, versioned(type(absent)))


def iter_readable(
    documents: Iterable[Document],
    decode: Callable[[Document], _T],
    unreadable: list[UnreadableDocument] | None = None,
) -> Iterator[_T]:
    """Yield the values of documents, and let go of each document before the next: both take much
    memory.

    One that cannot be decoded is skipped, logged as a warning, and added to `unreadable`.
    """
    left = deque(documents)
    del documents
    while left:
        value = decoded(left.popleft(), decode)
        if not isinstance(value, UnreadableDocument):
            yield value
            continue
        _logger.warning("skipped: %s", value)
        if unreadable is not None:
            unreadable.append(value)


# Members that hold vectors, hashes or random ids: letters there are no text
_NO_TEXT: Final = frozenset(
    {
        *("vector", "readingVector", "searchVector", "embedder", "words", "connection", "calls"),
        *("call", "shown", "asked", "pair", "pairId", "ledger", "at", "writer", "stateWriter"),
    }
)
# Members whose `token` the server writes, the id of a caller's token; "" is the document itself: a
# line of the ledger.
_OF_SERVER: Final = frozenset({"", "source", "provenance", "words", "judgements"})
_OF_AGENTS: Final = frozenset(
    {"config", "baselines", "contextSummary"}
)  # any name below them is an agent's


def plain(value: Json) -> Json:
    """Return a document's value with the JSON that is stored as text read: lessons, answers, rows
    of a snapshot.
    """
    if isinstance(value, str) and value.startswith(("{", "[")):
        return _parsed(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def texts_of(value: Json, within: str = "") -> Json:
    """Return a document's value as `plain` does, without vectors, hashes and random ids, those of
    tokens too.

    `within` is the member that it is read from, e.g. "source"; "" for the document itself.
    """
    match plain(value):
        case dict() as members:
            is_of_agents = within in _OF_AGENTS
            return {
                name: texts_of(item, within if is_of_agents else name)
                for name, item in members.items()
                if is_of_agents or _may_be_text(within, name, item)
            }
        case list() as items:
            return [texts_of(item, within) for item in items]
        case other:
            return other


def _may_be_text(within: str, name: str, item: Json) -> bool:
    if name == "token" and within in _OF_SERVER and isinstance(item, str):
        return not is_token_id(item)
    # `words` are the hash of a lesson's, or as a list the words about an entry, with evidence
    return name not in _NO_TEXT or (name == "words" and isinstance(item, list))


def _parsed(text: str) -> Json:
    rows: list[Json] = []
    for line in text.split("\n"):
        try:
            rows.append(json.loads(line) if line else "")
        except ValueError:
            return text
    return rows[0] if len(rows) == 1 else rows
