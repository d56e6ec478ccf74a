"""A text as words, stems, the words that carry content, and names of things in code. English."""

import re
from functools import lru_cache
from typing import NamedTuple

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
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_VERSION = re.compile(r"v\d+(?:\.\d+)*|\d+\.\d+\.\d[\w.-]*")
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+")  # sys.exit, main.py
_CAMEL = re.compile(r"[a-z][A-Z]")  # createStore, StopIteration
_MIXED = re.compile(r"[A-Za-z](?:[^\W\d]|-)*\d[\w-]*")  # us-east1, sha256


class Identifier(NamedTuple):
    """A name as written, the kind of thing it names, and the words it is made of, stemmed."""

    text: str
    kind: str
    parts: tuple[str, ...]


@lru_cache(maxsize=1024)
def identifiers(text: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a text in order."""
    in_order = []
    for token in _TOKEN.findall(text):
        if token.isalpha() and (token.islower() or token.istitle()):
            continue  # a plain word, as most are
        bare = token.strip(".:*").removesuffix("'s")
        if kind := _kind(bare):
            in_order.append(
                Identifier(bare, kind, tuple(stem(part.lower()) for part in _PART.findall(bare)))
            )
    return tuple(in_order)


def _kind(token: str) -> str:
    if "/" in token:
        parts = token.split("/")
        rooted = parts[0] in ("", ".", "..", "https:", "http:")
        return (
            "path" if rooted or any(set(part) & set("._@0123456789") for part in parts) else ""
        )  # "and/or"
    if _FLAG.fullmatch(token):
        return "flag"
    if _VERSION.fullmatch(token):
        return "version"
    named = ("_" in token and token.strip("_").isidentifier()) or _DOTTED.fullmatch(token)
    return "name" if named or _CAMEL.search(token) or _MIXED.fullmatch(token) else ""
