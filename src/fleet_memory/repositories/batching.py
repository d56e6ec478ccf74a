"""Many writes in few commits."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from fleet_memory.rules.retrieval.budget import size
from fleet_memory.stores import Write
from fleet_memory.stores.limits import MAX_COMMIT_BYTES

_T = TypeVar("_T")


def batches(writes: Iterable[Write]) -> list[list[Write]]:
    """Return writes in as few commits as their size in UTF-8 allows, in order; a write is never
    split.
    """
    commits: list[list[Write]] = [[]]
    room = MAX_COMMIT_BYTES
    for write in writes:
        bytes_ = size(dict(write.fields or {}))
        if commits[-1] and bytes_ > room:
            commits.append([])
            room = MAX_COMMIT_BYTES
        commits[-1].append(write)
        room -= bytes_
    return [commit for commit in commits if commit]


def groups_of(size: int, items: Collection[_T]) -> Iterator[list[_T]]:
    """Yield the items in order, `size` at once and at last the others, e.g. 2, "abc" -> ["a", "b"],
    ["c"].
    """
    left = iter(items)
    while group := list(islice(left, size)):
        yield group
