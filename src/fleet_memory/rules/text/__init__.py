"""What texts are: credentials, names, keys, words, vectors; here counts in sentences."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, e.g. "1 pair", "3 entries"; `many` is `one` with an "s" unless
    given.

    Both may go on, e.g. `counted(2, "pair waits", "pairs wait") == "2 pairs wait"`.
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def utf16_length(text: str) -> int:
    """Return a text's length as JavaScript counts it, e.g. `utf16_length("\U0001f418") == 2`."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
