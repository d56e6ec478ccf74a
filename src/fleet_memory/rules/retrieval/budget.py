"""Token budgets: how many items fit into an answer, counted on the answer as it is sent."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

DEFAULT_TOKENS: Final = 4_000
MIN_TOKENS: Final = 200
MAX_TOKENS: Final = 100_000


def size(value: object) -> int:
    """Return the bytes of a JSON value as it is sent: compact, UTF-8."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def tokens(value: object) -> int:
    """Return the tokens of a JSON value: its bytes / 4, rounded up. Source: docs/recall.md,
    "Budgets".
    """
    return -(-size(value) // 4)


def count_fitting(frame: Mapping[str, object], items: Iterable[object], max_tokens: int) -> int:
    """Return how many items, taken from the front, fit next to `frame` (the answer with empty
    lists).

    A prefix: a larger budget never returns less. The comma between items is counted.
    """
    left = max_tokens * 4 - size(frame)
    count = 0
    for item in items:
        left -= size(item) + 1
        if left < 0:
            break
        count += 1
    return count


class Section(NamedTuple):
    """A part of an answer: the bytes of its items, the first first, and the share of the room
    reserved for it.
    """

    sizes: Sequence[int]
    share: float


def shared(room: int, sections: Sequence[Section]) -> list[int]:
    """Return how many items of each section fit into `room` bytes together, taken from the front.

    Sections are served in order: each may take all that is not reserved for those after it. Shares
    add up to 1 at most; a section that needs less reserves less. More room never gives any section
    less.
    """
    reserved = [min(sum(section.sizes), room * section.share) for section in sections]
    free = room - sum(reserved)
    counts = []
    for section, least in zip(sections, reserved, strict=True):
        given = free + least
        counts.append(sum(taken <= given for taken in accumulate(section.sizes)))
        free = max(0.0, given - sum(section.sizes))
    return counts
