"""Documents that cannot be decoded: skipped and named, so that one of them never stops a job."""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple, TypeVar

from fleet_memory.errors import DocumentRejectedError
from fleet_memory.stores import Document, Ref

_UNREADABLE: Final = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
)  # of codecs, for fields of another shape

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)


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
            "fleet-memory check.",
            operator_detail=f"{document.ref.collection}/{document.ref.id}: {type(error).__name__}",
        ) from error


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
