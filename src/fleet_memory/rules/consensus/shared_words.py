"""How many words the texts of a pair share."""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from fleet_memory.rules.consensus.comparison import Indices
from fleet_memory.rules.text.tokens import content
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson

_AT_ONCE: Final = 4_096  # pairs whose words are in memory at once


def shared_words(lessons: Sequence[ComparableLesson], ends: Indices) -> Vectors:
    """Return which part of the content words of the shorter text the other has too, for m×2
    positions in `lessons`.

    As numbers: the words of 100,000 lessons as sets are 100 MB.
    """
    known: defaultdict[str, int] = defaultdict()
    known.default_factory = known.__len__
    counts = np.zeros(len(lessons), np.int64)
    codes = array("i")
    used = np.zeros(len(lessons), np.bool_)
    used[ends] = True
    for position in np.flatnonzero(used).tolist():
        some = sorted(map(known.__getitem__, content(lessons[position].text)))
        counts[position] = len(some)
        codes.extend(some)
    every = np.repeat(np.arange(len(lessons)) << 32, counts)
    every |= np.array(codes, np.int32)
    firsts = np.cumsum(counts) - counts
    shares = [
        _shares(every, firsts, counts, ends[at : at + _AT_ONCE])
        for at in range(0, len(ends), _AT_ONCE)
    ]
    return np.concatenate([np.zeros(0, np.float32), *shares])


def _shares(words: Indices, firsts: Indices, counts: Indices, ends: Indices) -> Vectors:
    """Return the shares of m×2 positions; the words of position i are at `firsts[i]`, `counts[i]`
    of them, in order.
    """
    lengths = counts[ends]
    rows = np.arange(len(ends))
    shorter = np.argmin(lengths, axis=1)
    fewest = lengths[rows, shorter]
    pairs = np.repeat(rows, fewest)
    places = np.arange(len(pairs)) + np.repeat(
        firsts[ends[rows, shorter]] - np.cumsum(fewest) + fewest, fewest
    )
    wanted = (ends[rows, 1 - shorter] << 32)[pairs] | (words[places] & 0xFFFFFFFF)
    has = words[np.minimum(np.searchsorted(words, wanted), len(words) - 1)] == wanted
    return np.asarray(
        np.bincount(pairs[has], minlength=len(ends)) / np.maximum(fewest, 1), np.float32
    )
