"""Names of things in code: functions, files, flags, versions, regions.

A name that the other text spells as words is no other name: `max_connections` and "the maximum of
connections" differ, `max_connections` and "max connections" do not.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from fleet_memory.rules.text.tokens import stem, stems

_TOKEN = re.compile(r"[^\s,;!?()\[\]{}\"'`<>=|+~&\u2014\u201c\u201d\u2018\u2019]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_VERSION = re.compile(r"v\d+(?:\.\d+)*|\d+\.\d+\.\d[\w.-]*")
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+")  # sys.exit, main.py
_CAMEL = re.compile(r"[a-z][A-Z]")  # createStore, StopIteration
_MIXED = re.compile(r"[A-Za-z][\w-]*\d[\w-]*")  # us-east1, sha256


class Identifier(NamedTuple):
    """A name as written, the kind of thing it names, and the words it is made of, stemmed."""

    text: str
    kind: str
    parts: tuple[str, ...]


def other_identifier(one: str, other: str) -> str | None:
    """Return two names of one kind, each unknown to the other text; None when there are none."""
    left = [name for name in identifiers(one) if not _known(name, other)]
    right = [name for name in identifiers(other) if not _known(name, one)] if left else []
    pairs = (
        f"{mine.text} / {theirs.text}"
        for mine in left
        for theirs in right
        if mine.kind == theirs.kind
    )
    return next(pairs, None)


def other_name(one: str, other: str) -> str | None:
    """Return two proper names or acronyms that are the only difference between the texts; None when
    there is more.
    """
    left, right = one.split(), other.split()
    places = [
        at
        for at, pair in enumerate(zip(left, right, strict=False))
        if pair[0].lower() != pair[1].lower()
    ]
    if len(left) != len(right) or len(places) != 1:
        return None
    mine, theirs = (text[places[0]].strip(".,;:!?()\"'`") for text in (left, right))
    named = all(word.isupper() or (word[:1].isupper() and places[0] > 0) for word in (mine, theirs))
    headline = sum(word[0].isupper() for word in (*left, *right)) > len(
        left
    )  # there, a capital proves nothing
    related = mine[:2].lower() == theirs[:2].lower()  # "Egypt" and "Egyptian"
    return f"{mine} / {theirs}" if named and not headline and not related else None


def _known(name: Identifier, text: str) -> bool:
    spelled = name.kind != "version" and stems(text).issuperset(name.parts)
    return spelled or any(
        _same(name, theirs) or _same(theirs, name) for theirs in identifiers(text)
    )


def _same(short: Identifier, long: Identifier) -> bool:
    """Whether `main.py` may be `src/main.py`, `status` be `task.status` and `v2` be `v2.1`."""
    if short.kind == "version":
        return short.parts == long.parts[: len(short.parts)]
    qualified = "." in long.text or "/" in long.text
    return short.parts == (long.parts[-len(short.parts) :] if qualified else long.parts)


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
