"""Texts of agents as lines of a context, which they must not get out of."""

import re
from typing import Final

# A tag: one that closes anything, or one that opens and is no generic type as in `Vec<u8>`
_TAG: Final = re.compile(
    r"<(?=\s*/\s*[A-Za-z][\w:.-]*\s*>)|(?<!\w)<(?=[A-Za-z!?][\w:.-]*(?:\s[^<>]*)?/?>)", re.ASCII
)


def context_line(text: str) -> str:
    """Return a text on one line, its tags with `&lt;` for `<`: none closes the client's tags around
    the context.
    """
    return _TAG.sub("&lt;", " / ".join(text.splitlines()))
