"""A text as words, stems, the words that carry content, and names of things in code. English."""

import re
from functools import lru_cache

from fleet_memory.moment import FRAME_WORDS, stem

_WORD = re.compile(r"[a-z0-9]+(?:[-'_.][a-z0-9]+)*|[,;:.!?()]")
_NEGATED = {"won't": "will", "can't": "can", "cannot": "can", "shan't": "shall"}


@lru_cache(maxsize=1024)
def words(text: str) -> tuple[str, ...]:
    """Return the lower-case words and the punctuation between them, in order; "don't" becomes "do",
    "not".
    """
    text = text.lower().replace("\u2019", "'")
    if "'" not in text and "cannot" not in text:
        return tuple(_WORD.findall(text))
    parts: list[str] = []
    for token in _WORD.findall(text):
        if token in _NEGATED:
            parts += [_NEGATED[token], "not"]
        elif token.endswith("n't"):
            parts += [token[:-3], "not"]
        else:
            parts.append(token.removesuffix("'s"))
    return tuple(parts)


@lru_cache(maxsize=1024)
def content(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text."""
    return frozenset(
        stem(word) for word in words(text) if word[0].isalnum() and word not in FRAME_WORDS
    )


def alike(one: str, other: str) -> bool:
    """Whether the texts talk about the same things: only then does an opposite word oppose them."""
    left, right = content(one), content(other)
    shared, fewer = len(left & right), min(len(left), len(right))
    return shared > 0 and shared >= 0.5 * fewer and shared >= 0.3 * len(left | right)


_TOKEN = re.compile(r"[^\s,;!?()\[\]{}\"'`<>=|+~&\u2014\u201c\u201d\u2018\u2019]+")
_WHOLE = re.compile(
    r"--?[A-Za-z][\w-]*"  # a flag
    r"|v\d+(?:\.\d+)*|\d+\.\d+\.\d[\w.-]*"  # a version
    r"|[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+"  # sys.exit, main.py
    r"|[A-Za-z](?:[^\W\d]|-)*\d[\w-]*"  # us-east1, sha256
)
_CAMEL = re.compile(r"[a-z][A-Z]")  # createStore, StopIteration


@lru_cache(maxsize=1024)
def identifiers(text: str) -> tuple[str, ...]:
    """Return the names of things in code in a text, in order: paths, flags, versions, names."""
    bare = (token.strip(".:*").removesuffix("'s") for token in _TOKEN.findall(text))
    return tuple(filter(_is_name, bare))


def _is_name(token: str) -> bool:
    if "/" in token:  # but not "and/or"
        first, *rest = token.split("/")
        rooted = first in ("", ".", "..", "https:", "http:")
        return rooted or any(set(part) & set("._@0123456789") for part in (first, *rest))
    if "_" in token and token.strip("_").isidentifier():
        return True
    return bool(_WHOLE.fullmatch(token) or _CAMEL.search(token))
