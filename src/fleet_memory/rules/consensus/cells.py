"""Lessons of a large fleet in cells of near vectors, so that a lesson is compared with few of the others."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.comparison import Comparison, Flags, Indices, in_blocks
from fleet_memory.rules.text.vectors import Vectors, unit_rows

# Source of all: docs/decisions/proposing-in-cells.md
MAX_COMPARED_PAIRS: Final = 320_000_000  # comparisons of all lessons with lessons of near cells, up to 100,000 lessons
MIN_COMPARED_LESSONS: Final = 3_200  # lessons in as many cells of average size as one lesson is compared with
_CELLS_PER_ROOT: Final = 12  # n lessons have 12 × the root of n cells
MAX_CELLS: Final = 2**16  # those of 29 million lessons
SAMPLES_PER_CELL: Final = 5  # lessons that place one centre
ROUNDS: Final = 2  # of moving the centres


class Cells(NamedTuple):
    """c cells of the lessons that have a vector, those of cell k from `starts[k]` to `starts[k + 1]`.

    `near[firsts[i] : firsts[i + 1]]` are the cells that lesson i of the comparison is compared with, those with the
    nearest centres; `width` is how many lessons one lesson is compared with where cells are of average size.
    """

    lessons: Indices
    starts: Indices
    near: NDArray[np.uint16]
    firsts: Indices
    width: int

    def members(self, cell: int) -> Indices:
        """Return the lessons of a cell."""
        return self.lessons[self.starts[cell] : self.starts[cell + 1]]

    def nearest(self, lessons: Indices) -> Flags:
        """Return c×len(lessons): which cells each lesson is compared with."""
        flags = np.zeros((len(self.starts) - 1, len(lessons)), np.bool_)
        firsts = self.firsts[lessons]
        counts = self.firsts[lessons + 1] - firsts
        ends = np.cumsum(counts)
        places = np.repeat(firsts - ends + counts, counts) + np.arange(counts.sum())
        flags[self.near[places], np.repeat(np.arange(len(lessons)), counts)] = True
        return flags


def cells(lessons: Comparison) -> Cells:
    """Return the cells of the lessons that have a vector: spherical k-means, centres seeded at even strides."""
    comparable = np.flatnonzero(lessons.scales)
    count = min(MAX_CELLS, int(_CELLS_PER_ROOT * np.sqrt(len(comparable))))
    sample = unit_rows(lessons.rows[comparable[_strides(len(comparable), count * SAMPLES_PER_CELL)]])
    centres = sample[_strides(len(sample), count)]
    for _ in range(ROUNDS):
        centres = _moved(centres, sample)
    compared = max(MIN_COMPARED_LESSONS, MAX_COMPARED_PAIRS // len(comparable))
    nearest = min(len(centres), -(-compared * len(centres) // len(comparable)))
    near, counts = [], np.zeros(len(lessons.order) + 1, np.int64)
    homes = np.zeros(len(lessons.order), np.int64)
    for some in in_blocks(comparable, max(centres.shape)):
        cosines = unit_rows(lessons.rows[some]) @ centres.T
        homes[some] = np.argmax(cosines, axis=1)
        bars = np.partition(cosines, -nearest, axis=1)[:, -nearest, None]  # far faster than argpartition
        lesson, cell = np.divmod(np.flatnonzero(cosines >= bars), len(centres))
        counts[some + 1] = np.bincount(lesson)
        near.append(cell.astype(np.uint16))
    order = comparable[np.argsort(homes[comparable], kind="stable")]
    starts = np.searchsorted(homes[order], np.arange(len(centres) + 1))
    return Cells(order, starts, np.concatenate(near), np.cumsum(counts), nearest * len(comparable) // len(centres))


def _moved(centres: Vectors, sample: Vectors) -> Vectors:
    """Return the mean of the sample's rows nearest to each centre, as unit rows; a centre without any stays."""
    homes = np.argmax(sample @ centres.T, axis=1)
    order = np.argsort(homes, kind="stable")
    settled, starts = np.unique(homes[order], return_index=True)
    sums = np.add.reduceat(sample[order], starts, axis=0)
    moved = centres.copy()
    moved[settled] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6))
    return moved


def _strides(length: int, count: int) -> Indices:
    """Return up to `count` positions at even strides in 0..length - 1."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(np.int64))
