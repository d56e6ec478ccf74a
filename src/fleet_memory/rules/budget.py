"""Token budgets: what fits into an answer, counted on the answer as it is sent."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

DEFAULT_TOKENS: Final = 4_000
LEAST_TOKENS: Final = 200
MOST_TOKENS: Final = 100_000


def size(value: object) -> int:
    """Return the bytes of a JSON value as it is sent: compact, UTF-8."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def tokens(value: object) -> int:
    """Return the tokens of a JSON value: its bytes / 4, rounded up. Source: DESIGN section 6."""
    return -(-size(value) // 4)


def fitting(frame: Mapping[str, object], items: Iterable[object], max_tokens: int) -> int:
    """Return how many items, taken from the front, fit beside `frame` (the answer with empty lists).

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
