"""A text as words, stems, the words that carry content, and names of things in code. English."""

import re
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[a-z0-9]+(?:[-'_.][a-z0-9]+)*|[,;:.!?()]")
_UNINFLECTED = frozenset({"https", "less"})  # without their last letters they would be other words
_NEGATED = {"won't": "will", "can't": "can", "cannot": "can", "shan't": "shall"}

# Grammatical words: they do not show a sentence's subject. Source: the closed word classes of
# English.
FRAME_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about all almost also always am an and any anyone anything are as at be because been being
        both but by can could did do does doing each either else ever every everyone everything few
        for from get gets getting had has have having he her here hers him his how i if in into is
        it its just keep let many may me might more most much must my never no nobody none nor not
        nothing of on once one only onto or other our out own please rather same shall she should
        since so some somebody someone something such than that the their them then there these they
        this those though thus to too under until up upon us very via was we were what when where
        whether which while who whom whose why will with within without would yet you your before
        after over instead above below
        """,
    )
)


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


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the word without its inflection: "retries", "retried" and "retry" meet, "agent" and
    "agency" do not.
    """
    if word in _UNINFLECTED:
        return word
    if len(word) < 4 or not word.isalpha():
        return word.removesuffix("e")
    for ending, replacement in (
        ("ies", "y"),
        ("ied", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
    ):
        if word.endswith(ending):
            return _base(word.removesuffix(ending) + replacement)
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if (
            rest != word
            and len(rest) > 1
            and set(rest) & set("aeiouy")
            and not word.endswith("eed")
        ):
            return _base(rest)
    return _base(word.removesuffix("ly") if len(word) > 5 else word)


def _base(word: str) -> str:
    if len(word) > 2 and word[-1] == word[-2]:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") else word.removesuffix("e")


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
