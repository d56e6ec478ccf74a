"""Vectors as documents keep them: one signed byte per number, as base64 text; and numpy, imported
at its first use: a server that lists its tools, and a command, need none of it.

`from fleet_memory.rules.text.vectors import np`; annotations of arrays stay strings.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from fleet_memory.schemas.patterns import Pattern

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    np = numpy
else:

    class _Numpy:
        def __getattr__(self, name: str) -> object:
            import numpy  # noqa: PLC0415 - see the module's docstring

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()

Vectors: TypeAlias = "NDArray[np.float32]"

# rows that are floats at once: 98 kB stay in a cache, and are no page of their own to malloc
_BLOCK_ROWS: Final = 64


def packed(vector: Vectors) -> str:
    """Return one vector, d numbers and not all zero, as base64 of d int8; its length is lost, its
    direction is not.

    A cosine of two packed vectors is off by .0004 on average, .0033 at most. Source: all pairs of
    5,000 texts.
    """
    scaled = vector * (127 / np.abs(vector).max())
    return b64encode(np.rint(scaled).astype(np.int8).tobytes()).decode("ascii")


def int8_matrix(rows: Sequence[bytes]) -> NDArray[np.int8]:
    """Return n rows of d numbers each, one a byte, as n×d; 0 by 0 when there are none.

    Raises ValueError when they are not equally long.
    """
    if len(set(map(len, rows))) > 1:
        raise ValueError("vectors of several lengths")
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), len(rows[0]) if rows else 0)


def cosines(rows: NDArray[np.int8], vector: Vectors) -> Vectors:
    """Return the cosine of each of n×d rows to a vector of length 1 and d numbers; 0 for a row of
    zeros.

    In blocks and on one processor: 2,500 rows take 0.5 ms, and threads would cost more than they
    save.
    """
    result = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS].astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        result[start : start + _BLOCK_ROWS] = np.einsum("ij,j->i", block, vector) / np.maximum(
            1, lengths
        )
    return result


def int8_rows(vectors: Iterable[tuple[bytes, str]], embedder: str) -> NDArray[np.int8]:
    """Return n (vector of one number a byte, its embedder) pairs as n×d; zeros for another embedder
    or length.
    """
    rows = [vector if name == embedder else b"" for vector, name in vectors]
    width = next((len(row) for row in rows if row), 1)
    return int8_matrix([row if len(row) == width else bytes(width) for row in rows]).reshape(
        len(rows), width
    )


def unit_row(numbers: bytes) -> Vectors:
    """Return a vector of one number a byte as d numbers of length 1; a row of zeros stays one."""
    row = np.frombuffer(numbers, np.int8).astype(np.float32)
    length = np.sqrt(np.add.reduce(row * row))
    return row / length if length else row


class LessonVectors(NamedTuple):
    """A lesson's packed vectors: that of its text, which lessons are compared by, and the one that
    questions meet.
    """

    vector: str = ""
    search_vector: str = ""


def search_vector(text: Vectors, context: Vectors, share: float, mark: str) -> str:
    """Return the marked, packed mix of the vectors of a text and, for this share, its context, each
    of length 1.
    """
    return mark + packed((1 - share) * text + share * context)


def with_search_vector(lesson: Pattern, *known: str) -> Pattern:
    """Return the lesson with its search vector, or the first of `known` that was made of what it
    has now.
    """
    for vector in known:
        if not lesson.search_vector and vector:
            lesson = replace(lesson, search_vector=vector)  # which keeps no other
    return lesson
