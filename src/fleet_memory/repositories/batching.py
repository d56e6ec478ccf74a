"""Many writes in few commits."""

from collections.abc import Iterable

from fleet_memory.rules.retrieval.budget import size
from fleet_memory.stores import Write
from fleet_memory.stores.limits import MAX_COMMIT_BYTES


def batches(writes: Iterable[Write]) -> list[list[Write]]:
    """Return writes in as few commits as their size in UTF-8 allows, in order; a write is never split."""
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
