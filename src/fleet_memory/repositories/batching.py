"""Many writes in few commits."""

from collections.abc import Iterable

from fleet_memory.stores import Write
from fleet_memory.stores.limits import MAX_COMMIT_BYTES


def batches(writes: Iterable[Write]) -> list[list[Write]]:
    """Return writes in as few commits as their size allows, in order."""
    commits: list[list[Write]] = [[]]
    size = 0
    for write in writes:
        bytes_ = sum(len(str(value)) for value in (write.fields or {}).values())
        if commits[-1] and size + bytes_ > MAX_COMMIT_BYTES:
            commits.append([])
            size = 0
        commits[-1].append(write)
        size += bytes_
    return [commit for commit in commits if commit]
