"""What texts are: credentials, names, keys, words, vectors; here counts in sentences."""

import re
from typing import Final

_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+")


def first_sentences(text: str, max_chars: int = 300) -> str:
    """Return the first whole sentences of a text that have at most so many characters together.

    `first_sentences("It broke. Twice in a row. And again.", 26) == "It broke. Twice in a row."`.
    """
    if len(text) <= max_chars:
        return text
    ends = [match.start() for match in _SENTENCE_END.finditer(text, 0, max_chars + 1)]
    return text[: ends[-1]] if ends else ""


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, e.g. "1 pair", "3 entries"; `many` is `one` with an "s" unless
    given.

    Both may go on, e.g. `counted(2, "pair waits", "pairs wait") == "2 pairs wait"`.
    """
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def utf16_length(text: str) -> int:
    """Return a text's length as JavaScript counts it, e.g. `utf16_length("\U0001f418") == 2`."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
