"""Lessons of a large fleet in cells of near vectors, so that a lesson is compared with few of the others."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from fleet_memory.rules.consensus.comparison import Comparison, Flags, Indices, in_blocks
from fleet_memory.rules.text.vectors import Vectors, unit_rows

# Source of all: docs/decisions/proposing-in-cells.md
MAX_COMPARED_PAIRS: Final = 270_000_000  # comparisons of all lessons with lessons of near cells, up to 100,000 lessons
MIN_COMPARED_LESSONS: Final = 2_700  # lessons in as many cells of average size as one lesson is compared with
_CELLS_PER_ROOT: Final = 8  # n lessons have 8 × the root of n cells
SAMPLES_PER_CELL: Final = 5  # lessons that place one centre
ROUNDS: Final = 2  # of moving the centres


class Cells(NamedTuple):
    """c cells: their centres, c unit rows, and their lessons, those of cell k from `starts[k]` to `starts[k + 1]`."""

    centres: Vectors
    lessons: Indices
    starts: Indices

    @property
    def compared(self) -> int:
        """How many lessons the cells that one lesson is compared with have, if they are of average size."""
        return max(MIN_COMPARED_LESSONS, MAX_COMPARED_PAIRS // len(self.lessons))

    def members(self, cell: int) -> Indices:
        """Return the lessons of a cell."""
        return self.lessons[self.starts[cell] : self.starts[cell + 1]]

    def nearest(self, rows: Vectors) -> Flags:
        """Return c×len(rows): which cells each unit row is compared with, those with the nearest centres."""
        cosines = rows @ self.centres.T
        count = -(-self.compared * len(self.centres) // len(self.lessons))
        if count >= len(self.centres):
            return np.ones(cosines.T.shape, np.bool_)
        near: Flags = cosines >= np.partition(cosines, -count, axis=1)[:, -count, None]
        return near.T


def cells(lessons: Comparison) -> Cells:
    """Return the cells of the lessons that have a vector: spherical k-means, centres seeded at even strides."""
    comparable = np.flatnonzero(lessons.scales)
    count = int(_CELLS_PER_ROOT * np.sqrt(len(comparable)))
    sample = unit_rows(lessons.rows[comparable[_strides(len(comparable), count * SAMPLES_PER_CELL)]])
    centres = sample[_strides(len(sample), count)]
    for _ in range(ROUNDS):
        centres = _moved(centres, sample)
    homes = np.concatenate(list(_homes(lessons, comparable, centres)))
    order = np.argsort(homes, kind="stable")
    return Cells(centres, comparable[order], np.searchsorted(homes[order], np.arange(len(centres) + 1)))


def _moved(centres: Vectors, sample: Vectors) -> Vectors:
    """Return the mean of the sample's rows nearest to each centre, as unit rows; a centre without any stays."""
    homes = np.argmax(sample @ centres.T, axis=1)
    order = np.argsort(homes, kind="stable")
    settled, starts = np.unique(homes[order], return_index=True)
    sums = np.add.reduceat(sample[order], starts, axis=0)
    moved = centres.copy()
    moved[settled] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6))
    return moved


def _homes(lessons: Comparison, comparable: Indices, centres: Vectors) -> Iterator[Indices]:
    for some in in_blocks(comparable, max(centres.shape)):
        yield np.argmax(unit_rows(lessons.rows[some]) @ centres.T, axis=1)


def _strides(length: int, count: int) -> Indices:
    """Return up to `count` positions at even strides in 0..length - 1."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(np.int64))
