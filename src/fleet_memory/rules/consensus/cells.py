"""Lessons of a large fleet in cells of near vectors, so that a lesson is compared with few of the others."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.comparison import Comparison, Flags, Indices, Int8Rows, in_blocks
from fleet_memory.rules.text.vectors import Vectors, unit_rows

# Source of all: docs/decisions/proposing-in-cells.md
MAX_NEAR_LESSONS: Final = 100_000_000  # lessons of the centres near each of all lessons, up to 100,000 lessons
MIN_NEAR_LESSONS: Final = 1_000  # lessons of so many centres, with average numbers of lessons, choose a lesson's cells
CENTRES_PER_ROOT: Final = 24  # n lessons have 24 × the root of n centres
MAX_CENTRES: Final = 2**16  # those of 7 million lessons
_CENTRES_PER_CELL: Final = 4
MAIN_AXES: Final = 128  # numbers of a lesson that choose its cells
SAMPLES_PER_CENTRE: Final = 5  # lessons that place one centre
ROUNDS: Final = 2  # of moving the centres
_SUMS: Final = 16  # calls that add the rows of centres up: each stops all threads, some 2 ms; one did for 36 ms


class Cells(NamedTuple):
    """c cells of the lessons that have a vector, those of cell k from `starts[k]` to `starts[k + 1]`.

    A cell has some four centres that are near each other, and the lessons that these are nearest to.
    `near[firsts[i] : firsts[i + 1]]` are the cells that lesson i of the comparison is compared with, some of them more
    than once: those of the centres nearest to it.
    """

    lessons: Indices
    starts: Indices
    near: NDArray[np.uint16]
    firsts: Indices

    @property
    def max_size(self) -> int:
        """How many lessons the largest cell has: thousands where so many are alike."""
        return int(np.diff(self.starts).max())

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
    count = min(MAX_CENTRES, int(CENTRES_PER_ROOT * np.sqrt(len(comparable))))
    sample = list(in_blocks(comparable[_strides(len(comparable), count * SAMPLES_PER_CENTRE)], count))
    axes = _main_axes(lessons.rows, sample)
    centres = _centres(np.concatenate([unit_rows(lessons.rows[some]) @ axes for some in sample]), count)
    groups = _nearest(centres, _centres(centres, -(-count // _CENTRES_PER_CELL)))
    compared = max(MIN_NEAR_LESSONS, MAX_NEAR_LESSONS // len(comparable))
    nearest = min(len(centres), -(-compared * len(centres) // len(comparable)))
    near, counts = [], np.zeros(len(lessons.order) + 1, np.int64)
    homes = np.zeros(len(lessons.order), np.int64)
    for some in in_blocks(comparable, max(len(centres), lessons.rows.shape[1])):
        cosines = unit_rows(lessons.rows[some]) @ axes @ centres.T
        homes[some] = groups[np.argmax(cosines, axis=1)]
        bars = np.partition(cosines, -nearest, axis=1)[:, -nearest, None]  # far faster than argpartition
        lesson, centre = np.divmod(np.flatnonzero(cosines >= bars), len(centres))
        counts[some + 1] = np.bincount(lesson)
        near.append(groups[centre].astype(np.uint16))
    order = comparable[np.argsort(homes[comparable], kind="stable")]
    starts = np.searchsorted(homes[order], np.arange(groups.max() + 2))
    return Cells(order, starts, np.concatenate(near), np.cumsum(counts))


def _main_axes(rows: Int8Rows, sample: Sequence[Indices]) -> Vectors:
    """Return d×a, the directions in which the rows of a sample, each of length 1, are longest, as columns."""
    squares = np.zeros((rows.shape[1], rows.shape[1]), np.float32)
    for some in sample:
        unit = unit_rows(rows[some])
        squares += unit.T @ unit
    axes: Vectors = np.linalg.eigh(squares)[1][:, -MAIN_AXES:]
    return axes


def _centres(rows: Vectors, count: int) -> Vectors:
    """Return up to so many centres of rows, most of them of length 1."""
    centres = rows[_strides(len(rows), count)]
    for _ in range(ROUNDS):
        centres = _moved(centres, rows)
    return centres


def _nearest(rows: Vectors, centres: Vectors) -> Indices:
    """Return the place of the centre nearest to each row."""
    blocks = in_blocks(np.arange(len(rows)), max(centres.shape))
    return np.concatenate([np.argmax(rows[some] @ centres.T, axis=1) for some in blocks])


def _moved(centres: Vectors, sample: Vectors) -> Vectors:
    """Return the mean of the sample's rows nearest to each centre, as unit rows; a centre without any stays."""
    homes = _nearest(sample, centres)
    order = np.argsort(homes, kind="stable")
    settled, starts = np.unique(homes[order], return_index=True)
    columns = np.array_split(sample[order], _SUMS, axis=1)
    sums = np.concatenate([np.add.reduceat(some, starts, axis=0) for some in columns], axis=1)
    moved = centres.copy()
    moved[settled] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6))
    return moved


def _strides(length: int, count: int) -> Indices:
    """Return up to `count` positions at even strides in 0..length - 1."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(np.int64))
