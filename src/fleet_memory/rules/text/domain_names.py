"""When two names of domains are one domain. Only sure signs count: a wrong hint would join topics
that differ.
"""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import Final

MIN_SPELLING: Final = (
    0.85  # difflib's ratio of a word and its misspelling; Source: tests/test_domain_names.py
)
_MIN_SLIP_CHARS: Final = (
    7  # letters of a word that may be misspelt; a shorter one is soon another: "trial", "trail"
)
_MIN_LOST_CHARS: Final = (
    7  # letters, without "ing", of a word that lacks one: "caching" and "catching" differ
)
_MIN_DOUBLED_CHARS: Final = (
    6  # the same of a word that lacks one of two equal letters: "scraping", "scrapping"
)
_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Names of products and topics that only look like a form of another word, or with a plural of
# another meaning.
_WHOLE: Final = frozenset(
    {
        *(
            "analytics",
            "arm",
            "atlas",
            "axios",
            "canvas",
            "cors",
            "cursor",
            "flask",
            "goods",
            "graphics",
            "https",
        ),
        *(
            "jenkins",
            "keras",
            "lens",
            "macos",
            "nats",
            "news",
            "node",
            "pandas",
            "rails",
            "sales",
            "sentry",
        ),
        *("spark", "stripe", "teams", "vault", "windows"),
    }
)
# Topics by the verb or the noun alike. Other pairs differ: "market" and "marketing", "race" and
# "racing".
_NOUNS: Final = {
    "batching": "batch",
    "benchmarking": "benchmark",
    "caching": "cache",
    "claiming": "claim",
    "deploying": "deployment",
    "indexing": "index",
    "linting": "lint",
    "logging": "log",
    "migrating": "migration",
    "mocking": "mock",
    "queueing": "queue",
    "queuing": "queue",
    "rebasing": "rebase",
    "releasing": "release",
    "retrying": "retry",
    "testing": "test",
    "versioning": "version",
}
# Between two words these give a direction: "python-to-rust" is another topic than "rust-to-python".
_DIRECTIONS: Final = frozenset(
    {
        "after",
        "as",
        "before",
        "by",
        "for",
        "from",
        "in",
        "into",
        "on",
        "over",
        "than",
        "to",
        "under",
        "via",
        "without",
    }
)
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
    """Return the name that others use for the same domain, the most used; None where `domain` is
    used as much.

    `own` and `shared` count the program's other lessons and the fleet's entries of each domain. A
    domain with entries of its own is no other name: `domain_hint("databases", {}, {"database": 4})
    == "database"`.
    """
    if shared.get(domain):
        return None
    used = {name: (shared.get(name, 0), own.get(name, 0)) for name in {*own, *shared}}
    same = [name for name in used if name != domain and used[name] > used.get(domain, (0, 0))]
    return max(
        (name for name in sorted(same) if is_same_domain(domain, name)),
        key=lambda name: used[name],
        default=None,
    )


def is_same_domain(a: str, b: str) -> bool:
    """Whether two names are one domain: the same words in other forms or another spelling, with any
    separators.

    The words may stand in any order, unless one of them is a direction such as "to".
    """
    left, right = _words(a), _words(b)
    if "".join(left) == "".join(right):
        return True
    if len(left) != len(right):
        return False
    if _DIRECTIONS.isdisjoint(left):
        only_left = [
            word for word in left if not any(_is_same_word(word, other) for other in right)
        ]
        only_right = [
            word for word in right if not any(_is_same_word(word, other) for other in left)
        ]
    else:
        differing = [pair for pair in zip(left, right, strict=True) if not _is_same_word(*pair)]
        only_left, only_right = [word for word, _ in differing], [word for _, word in differing]
    if not only_left and not only_right:
        return True
    return len(only_left) == len(only_right) == 1 and _is_slip(only_left[0], only_right[0])


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, abbreviations in full: "pgIndexes" is "postgres",
    "indexes".
    """
    return tuple(_FULL.get(word, word) for word in _WORD.findall(_CAMEL.sub(" ", name).lower()))


def _is_same_word(a: str, b: str) -> bool:
    if a == b:
        return True
    return a[0] == b[0] and {a, b}.isdisjoint(_WHOLE) and not _forms(a).isdisjoint(_forms(b))


@lru_cache(maxsize=8192)
def _forms(word: str) -> frozenset[str]:
    """Return a word, its noun, and its possible singulars: "cache" of "caching" and of "caches"."""
    forms = {word, _NOUNS.get(word, word)}
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        forms.add(word[:-1])
        if word.endswith("ies"):
            forms.add(word[:-3] + "y")
        if word.endswith(("ches", "shes", "ses", "xes", "zes", "oes")):
            forms.add(word[:-2])
    return frozenset(forms)


def _is_slip(a: str, b: str) -> bool:
    """Whether one word is the other misspelt: two letters swapped, one doubled, one lost, or "s"
    for "z".
    """
    short, long = sorted((a, b), key=len)
    if not {a, b}.isdisjoint(_WHOLE):
        return False
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
    least = _MIN_DOUBLED_CHARS if is_doubled else _MIN_LOST_CHARS
    return lost[0] < len(long) - 1 and len(short.removesuffix("ing")) >= least


def _swapped(word: str) -> set[str]:
    """Return the words with two neighbouring letters swapped."""
    return {word[:at] + b + a + word[at + 2 :] for at, (a, b) in enumerate(pairwise(word))}
