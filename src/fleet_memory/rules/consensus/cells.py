"""Lessons of a large fleet in cells of near vectors, so that a lesson is compared with few of the
others.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.comparison import Comparison, Flags, Indices, Int8Rows, in_blocks
from fleet_memory.rules.text.vectors import Vectors, unit_rows

# Source of all: docs/decisions/proposing-in-cells.md
MAX_NEAR_LESSONS: Final = (
    100_000_000  # lessons of the centres near each of all lessons, up to 70,000 lessons
)
MIN_NEAR_LESSONS: Final = (
    1_400  # lessons of so many centres, with average numbers of lessons, choose a lesson's cells
)
CENTRES_PER_ROOT: Final = 24  # n lessons have 24 × the root of n centres
MAX_CENTRES: Final = 2**16  # those of 7 million lessons
_CENTRES_PER_CELL: Final = 4
MAIN_AXES: Final = 128  # numbers of a lesson that choose its cells
NEAR_AXES: Final = 240  # numbers of a lesson that choose its near lessons
MAX_SHORTFALL: Final = 0.03  # of a cosine by these numbers, for nearly all pairs
SAMPLES_PER_CENTRE: Final = 10  # lessons that place one centre
ROUNDS: Final = 3  # of moving the centres
_HOME_PROGRAMS: Final = (
    24  # programs with a lesson of a lesson's own cell above the bar of the lesson
)
_MAX_BARRED: Final = (
    4_000  # lessons of a cell that get bars: all are compared with all for them. Chosen
)
_ROWS_AT_ONCE: Final = (
    128  # lessons whose nearest centres are found at once: 4 MB, which stay in a cache
)
# calls that add the rows of centres up: each stops all threads, some 2 ms; one did for 36 ms
_SUMS: Final = 32
_UNIT: Final = 127  # whole numbers of length 1


class Cells(NamedTuple):
    """c cells of the lessons that have a vector, those of cell k from `starts[k]` to `starts[k +
    1]`.

    A cell has some four centres that are near each other, and the lessons that these are nearest
    to. `near[firsts[i] : firsts[i + 1]]` are the cells that lesson i of the comparison is compared
    with, some of them more than once: those of the centres nearest to it. `rows` are the lessons
    along the axes in which they are longest, the longest first, as whole numbers; `bars[i]` is the
    least cosine that a lesson near lesson i has by these.
    """

    lessons: Indices
    starts: Indices
    near: NDArray[np.uint16]
    firsts: Indices
    rows: Int8Rows
    bars: Vectors

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

    def cosines(self, one: Indices, other: Indices) -> Vectors:
        """Return len(one)×len(other) cosines along the main axes: some .01 too low."""
        dots: Vectors = (
            self.rows.take(one, axis=0).astype(np.float32)
            @ self.rows.take(other, axis=0).astype(np.float32).T
        )
        dots *= np.float32(1 / _UNIT**2)
        return dots


def cells(lessons: Comparison, least: float) -> Cells:
    """Return the cells of the lessons that have a vector: spherical k-means, centres seeded at even
    strides.

    No bar is below `least`, a cosine along the main axes.
    """
    comparable = np.flatnonzero(lessons.scales)
    count = min(MAX_CENTRES, int(CENTRES_PER_ROOT * np.sqrt(len(comparable))))
    sample = comparable[_strides(len(comparable), count * SAMPLES_PER_CENTRE)]
    rows = _along_main_axes(lessons.rows, sample)
    centres = _placed(rows[sample, :MAIN_AXES].astype(np.float32), count)
    groups = _nearest(centres, _centres(centres, -(-count // _CENTRES_PER_CELL)))
    compared = max(MIN_NEAR_LESSONS, MAX_NEAR_LESSONS // len(comparable))
    nearest = min(len(centres), -(-compared * len(centres) // len(comparable)))
    near, counts = [], np.zeros(len(lessons.order) + 1, np.int64)
    homes = np.zeros(len(lessons.order), np.int64)
    for start in range(0, len(comparable), _ROWS_AT_ONCE):
        some = comparable[start : start + _ROWS_AT_ONCE]
        cosines = rows[some, :MAIN_AXES].astype(np.float32) @ centres.T
        homes[some] = groups[np.argmax(cosines, axis=1)]
        bars = np.partition(cosines, -nearest, axis=1)[
            :, -nearest, None
        ]  # far faster than argpartition
        lesson, centre = np.divmod(np.flatnonzero(cosines >= bars), len(centres))
        counts[some + 1] = np.bincount(lesson)
        near.append(groups[centre].astype(np.uint16))
    order = comparable[np.argsort(homes[comparable], kind="stable")]
    starts = np.searchsorted(homes[order], np.arange(groups.max() + 2))
    lowest = np.full(len(lessons.order), least, np.float32)
    return _with_bars(
        Cells(order, starts, np.concatenate(near), np.cumsum(counts), rows, lowest),
        lessons.programs,
    )


def _with_bars(made: Cells, programs: Indices) -> Cells:
    """Return the cells with higher bars for the lessons that are near those of enough other
    programs at home.

    A lesson below the bar is hardly ever among the best once all are known: it is not collected.
    """
    bars = made.bars.copy()
    for cell in range(len(made.starts) - 1):
        own = made.members(cell)
        of = programs[own]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        if len(starts) > _HOME_PROGRAMS and len(own) <= _MAX_BARRED:
            for some in in_blocks(
                np.arange(len(own)), 8 * len(own)
            ):  # `maximum.reduceat` stops all threads
                cosines = made.cosines(own[some], own)
                cosines[of[some, None] == of] = 0
                tops = np.maximum.reduceat(cosines, starts, axis=1)
                best = np.partition(tops, -_HOME_PROGRAMS, axis=1)[:, -_HOME_PROGRAMS]
                bars[own[some]] = np.maximum(bars[own[some]], best)
    return made._replace(bars=bars)


def _along_main_axes(rows: Int8Rows, sample: Indices) -> Int8Rows:
    """Return n×a, the rows along the directions in which those of a sample are longest, the longest
    first.

    As whole numbers, so that a cosine does not depend on the block in which it is computed.
    """
    squares = np.zeros((rows.shape[1], rows.shape[1]), np.float32)
    for some in in_blocks(sample, rows.shape[1]):
        unit = unit_rows(rows[some])
        squares += unit.T @ unit
    axes: Vectors = np.linalg.eigh(squares)[1][:, : -NEAR_AXES - 1 : -1]
    blocks = in_blocks(np.arange(len(rows)), rows.shape[1])
    return np.concatenate(
        [np.rint(unit_rows(rows[some]) @ axes * _UNIT).astype(np.int8) for some in blocks]
    )


def _placed(rows: Vectors, count: int) -> Vectors:
    """Return up to so many centres of rows, those of each region alone: all at once need products
    with every one.
    """
    regions = _nearest(rows, _centres(rows, max(1, int(np.sqrt(count) / 2))))
    counts = np.diff(np.cumsum(np.bincount(regions)) * count // len(rows), prepend=0)
    return np.concatenate(
        [_centres(rows[regions == at], many) for at, many in enumerate(counts.tolist()) if many]
    )


def _centres(rows: Vectors, count: int) -> Vectors:
    """Return up to so many centres of rows."""
    centres = rows[_strides(len(rows), count)]
    for _ in range(ROUNDS):
        centres = _moved(centres, rows)
    return centres


def _nearest(rows: Vectors, centres: Vectors) -> Indices:
    """Return the place of the centre nearest to each row."""
    blocks = in_blocks(np.arange(len(rows)), max(centres.shape))
    return np.concatenate([np.argmax(rows[some] @ centres.T, axis=1) for some in blocks])


def _moved(centres: Vectors, sample: Vectors) -> Vectors:
    """Return the mean of the sample's rows nearest to each centre, as unit rows; a centre without
    any stays.
    """
    homes = _nearest(sample, centres)
    order = np.argsort(homes, kind="stable")
    settled, starts = np.unique(homes[order], return_index=True)
    columns = np.array_split(sample[order], _SUMS, axis=1)
    sums = np.concatenate([np.add.reduceat(some, starts, axis=0) for some in columns], axis=1)
    moved = centres.copy()
    moved[settled] = sums / np.maximum(
        np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-6)
    )
    return moved


def _strides(length: int, count: int) -> Indices:
    """Return up to `count` positions at even strides in 0..length - 1."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).astype(np.int64))
