"""Counts in sentences: a number and its noun."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, e.g. "1 pair", "3 entries"; `many` is `one` with an "s" unless given.

    Both may go on, e.g. `counted(2, "pair waits", "pairs wait") == "2 pairs wait"`.
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"
