"""The order of items in groups by their scores, and their places in it."""

import numpy as np

from fleet_memory.rules.consensus.comparison import Indices
from fleet_memory.rules.text.vectors import Vectors


def best_first(groups: Indices, scores: Vectors) -> Indices:
    """Return the order by group, in it by score, best first; `scores` are positive, as are their
    bits' values then.
    """
    order: Indices = np.argsort((groups << 32) - scores.view(np.int32))
    return order


def places(groups: Indices) -> Indices:
    """Return the place of each item in its group, from 0; the items of a group are neighbours."""
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])[: len(groups)]
    inside: Indices = np.arange(len(groups)) - np.repeat(
        starts, np.diff(np.r_[starts, len(groups)])
    )
    return inside
