"""The pairs over a floor among millions of comparisons, in as little room as they need."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.comparison import Comparison, Indices
from fleet_memory.rules.text.vectors import Vectors

Block: TypeAlias = tuple[
    Indices, Indices
]  # places among some lessons, and lessons that are all compared with these


class NearPairs(NamedTuple):
    """m pairs of some lessons, in numbers of 4 bytes, because there are millions at once.

    Each has a number for its lesson and the program of its partner: the place of the lesson, times
    all programs, plus that program.
    """

    runs: NDArray[np.int32]
    partners: NDArray[np.int32]
    cosines: Vectors


def near_pairs(
    fleet: Comparison,
    rows: Indices,
    blocks: Iterator[Block],
    cosines_of: Callable[[Indices, Indices], Vectors],
    floors: Vectors,
) -> NearPairs:
    """Return the pairs of each row over its floor: partners, their rivals, and lessons of one
    program.
    """
    programs = fleet.programs.astype(np.int32)
    first_runs = np.arange(len(rows), dtype=np.int32) * np.int32(len(fleet.starts))
    parts = []
    for at, columns in blocks:
        cosines = cosines_of(rows.take(at), columns)
        close = np.flatnonzero(
            cosines >= floors.take(at)[:, None]
        )  # far faster than nonzero of a matrix
        places = close // len(columns)
        partners = columns.astype(np.int32).take(
            close - places * len(columns)
        )  # `take` is faster than indexing
        runs = first_runs.take(at).take(places) + programs.take(partners)
        parts.append(NearPairs(runs, partners, cosines.ravel().take(close)))
    return NearPairs(*map(np.concatenate, zip(*parts, strict=True)))
