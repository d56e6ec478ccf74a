"""The pairs over a floor among millions of comparisons, in as little room as they need."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fleet_memory.rules.consensus.comparison import Comparison, Indices
from fleet_memory.rules.text.vectors import Vectors

Block: TypeAlias = tuple[Indices, Indices]  # places among some lessons, and lessons that are all compared with these


class NearPairs(NamedTuple):
    """m pairs of some lessons, in numbers of 4 bytes, because there are millions at once.

    Each has a number for its lesson and the program of its partner: the place of the lesson, times all programs, plus
    that program.
    """

    runs: NDArray[np.int32]
    partners: NDArray[np.int32]
    cosines: Vectors


def near_pairs(fleet: Comparison, rows: Indices, blocks: Iterator[Block], floor: float) -> NearPairs:
    """Return the pairs of `rows` over the floor: partners, their rivals, and lessons of one program."""
    programs = fleet.programs.astype(np.int32)
    first_runs = np.arange(len(rows), dtype=np.int32) * np.int32(len(fleet.starts))
    parts = []
    for at, columns in blocks:
        cosines = fleet.cosines(rows.take(at), columns).ravel()
        close = np.flatnonzero(cosines >= floor)  # far faster than nonzero of a matrix, as is `take` than indexing
        places = close // len(columns)
        partners = columns.astype(np.int32).take(close - places * len(columns))
        runs = first_runs.take(at).take(places) + programs.take(partners)
        parts.append(NearPairs(runs, partners, cosines.take(close)))
    return NearPairs(*map(np.concatenate, zip(*parts, strict=True)))
