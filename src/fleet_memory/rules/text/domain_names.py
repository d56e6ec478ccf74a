"""When two names of domains are one domain. Only sure signs count: a wrong hint would join topics that differ."""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Final

MIN_SPELLING: Final = 0.85  # difflib's ratio of a word and its misspelling; Source: tests/test_domain_names.py
_MIN_SLIP_CHARS: Final = 5  # letters of a word that may be misspelt; a shorter one is soon another word
_MIN_LOST_CHARS: Final = 7  # letters, without "ing", of a word that lacks one: "caching" and "catching" differ
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Names of products and topics that only look like a form of another word.
_WHOLE: Final = frozenset({"accounting", "cors", "macos", "nats", "news", "paging", "staging", "windows"})
# Abbreviations with one meaning as a topic of software, and irregular plurals.
_FULL: Final = {
    "a11y": "accessibility",
    "apis": "api",
    "configs": "configuration",
    "config": "configuration",
    "db": "database",
    "dbs": "database",
    "deps": "dependency",
    "docs": "documentation",
    "i18n": "internationalization",
    "indices": "index",
    "infra": "infrastructure",
    "js": "javascript",
    "k8s": "kubernetes",
    "l10n": "localization",
    "matrices": "matrix",
    "o11y": "observability",
    "perf": "performance",
    "pg": "postgres",
    "postgresql": "postgres",
    "py": "python",
    "repo": "repository",
    "repos": "repository",
    "ts": "typescript",
}


def domain_hint(domain: str, own: Mapping[str, int], shared: Mapping[str, int]) -> str | None:
    """Return the name that others use for the same domain, the most used; None where `domain` is used as much.

    `own` and `shared` count the program's other lessons and the fleet's entries of each domain. A domain with entries
    of its own is no other name: `domain_hint("databases", {}, {"database": 4}) == "database"`.
    """
    if shared.get(domain):
        return None
    used = {name: (shared.get(name, 0), own.get(name, 0)) for name in {*own, *shared}}
    same = [name for name in used if name != domain and used[name] > used.get(domain, (0, 0))]
    return max(
        (name for name in sorted(same) if is_same_domain(domain, name)), key=lambda name: used[name], default=None
    )


def is_same_domain(a: str, b: str) -> bool:
    """Whether two names are one domain: the same words in any order, form or spelling, with any separators."""
    left, right = _words(a), _words(b)
    if "".join(left) == "".join(right):
        return True
    if len(left) != len(right):
        return False
    only_left = [word for word in left if not any(_is_same_word(word, other) for other in right)]
    only_right = [word for word in right if not any(_is_same_word(word, other) for other in left)]
    if not only_left and not only_right:
        return True
    return len(only_left) == len(only_right) == 1 and _is_slip(only_left[0], only_right[0])


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, abbreviations in full: "pgIndexes" is "postgres", "indexes"."""
    return tuple(_FULL.get(word, word) for word in _WORD.findall(_CAMEL.sub(" ", name).lower()))


def _is_same_word(a: str, b: str) -> bool:
    if a == b:
        return True
    if a[0] != b[0]:
        return False
    if not {a, b}.isdisjoint(_WHOLE):
        return False
    return not (_singulars(a) | _stems(a)).isdisjoint(_singulars(b)) or not _stems(b).isdisjoint(_singulars(a))


@lru_cache(maxsize=8192)
def _singulars(word: str) -> frozenset[str]:
    """Return a word and what it may be the plural of: "caches" of "cache", "boxes" of "box", "policies" of "policy"."""
    found = {word}
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        found.add(word[:-1])
        if word.endswith("ies"):
            found.add(word[:-3] + "y")
        if word.endswith(("ches", "shes", "ses", "xes", "zes", "oes")):
            found.add(word[:-2])
    return frozenset(found)


@lru_cache(maxsize=8192)
def _stems(word: str) -> frozenset[str]:
    """Return what a word in "-ing" may be made of: "caching" of "cache", "logging" of "log"; none for any other."""
    rest = word.removesuffix("ing")
    if rest == word or len(rest) < 3:
        return frozenset()
    return frozenset({rest, rest + "e", *([rest[:-1]] if rest[-1] == rest[-2] else [])})


def _is_slip(a: str, b: str) -> bool:
    """Whether one word is the other misspelt: two letters swapped, one doubled, one lost, or "s" for "z"."""
    short, long = sorted((a, b), key=len)
    if len(short) < _MIN_SLIP_CHARS or not (short + long).isalpha() or short[0] != long[0]:
        return False
    if SequenceMatcher(None, short, long).ratio() < MIN_SPELLING:
        return False
    if len(short) == len(long):
        return short.replace("z", "s") == long.replace("z", "s") or long in _swapped(short)
    lost = [at for at in range(len(long)) if long[:at] + long[at + 1 :] == short]
    if not lost:
        return False
    is_doubled = len(lost) > 1  # either of two equal letters may be the lost one
    inside = lost[0] < len(long) - 1
    return inside and (is_doubled or len(short.removesuffix("ing")) >= _MIN_LOST_CHARS)


def _swapped(word: str) -> set[str]:
    """Return the words with two neighbouring letters swapped."""
    return {word[:at] + b + a + word[at + 2 :] for at, (a, b) in enumerate(pairwise(word))}
