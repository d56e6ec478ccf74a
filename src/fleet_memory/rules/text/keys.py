"""Names made from texts: the readable part of pattern ids and knowledge keys, and digests."""

import hashlib
import re
from functools import lru_cache
from typing import Final

from fleet_memory.rules.text.normalisation import normalised

MAX_SLUG_CHARS: Final = (
    60  # characters; with "pattern/", a domain of 100 and a suffix a key stays under 220
)
MAX_SLUG_WORDS: Final = 6
MAX_ID_WORDS: Final = (
    4  # each answer with the lesson repeats it; Source: docs/recall.md, "The shape of a hit"
)
SUFFIX_DIGITS: Final = 10  # hex digits at the end of a key whose words another text has already
_WORD: Final = re.compile(r"[a-z0-9]+")
_SUFFIXES: Final = re.compile(
    rf"(?:-[0-9a-f]{{{SUFFIX_DIGITS}}})*"
)  # an import may give a key a second one
_POSSESSIVE: Final = re.compile(r"['\u2019]s\b")
# Words that carry no topic; without them the key of the article's own entry comes out as printed
# there. A "never" or "not" stays: a key must not state the opposite of its entry.
_PLAIN_WORDS: Final = frozenset(
    {
        "a",
        "an",
        "the",
        "always",
        "do",
        "does",
        "be",
        "is",
        "are",
        "was",
        "to",
        "of",
        "in",
        "on",
        "at",
    }
    | {
        "it",
        "its",
        "and",
        "or",
        "for",
        "with",
        "when",
        "if",
        "so",
        "that",
        "this",
        "your",
        "you",
        "must",
        "should",
    }
)


def slug(text: str, max_words: int = MAX_SLUG_WORDS) -> str:
    """Return the first topic words of `text`, lower case, joined by "-"; "lesson" when it has
    none.
    """
    words = [
        word
        for word in _WORD.findall(_POSSESSIVE.sub("", text.lower()))
        if word not in _PLAIN_WORDS
    ]
    return "-".join(words[:max_words])[:MAX_SLUG_CHARS].strip("-") or "lesson"


def digest(*parts: str) -> str:
    """Return 16 hex digits that stand for these texts, in this order."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


@lru_cache(maxsize=1024)  # a store asks for that of its lesson several times
def text_hash(text: str) -> str:
    """Return 16 hex digits, equal for texts of equal words, e.g. for "Use WAL." and "use WAL"."""
    return digest(normalised(text))


def pair_id(words: str, other_words: str) -> str:
    """Return the id of the pair of two texts from their `text_hash`es, in any order."""
    return digest(*sorted((words, other_words)))


@lru_cache(maxsize=1024)  # the same
def pattern_id(text: str) -> str:
    """Return the id of a pattern that its agent did not name: readable, and the same for the same
    words.
    """
    return f"{slug(text, MAX_ID_WORDS)}-{text_hash(text)[:6]}"


def knowledge_key(domain: str, text: str) -> str:
    """Return the key under which the fleet knows a lesson, e.g.
    `pattern/task-claiming/check-status`.
    """
    return f"pattern/{domain}/{slug(text)}"


def is_key_of(key: str, domain: str, text: str) -> bool:
    """Whether a key has this text's words alone, e.g. `pattern/claims/check-status-3f1c9a04b2` of
    "Check status".
    """
    own = knowledge_key(domain, text)
    return key.startswith(own) and _SUFFIXES.fullmatch(key, len(own)) is not None


def domain_of_key(key: str) -> str:
    """Return the domain that a key names, e.g. `task-claiming`; "" for a key of another form, e.g.
    of a seed file.
    """
    tier, _, rest = key.partition("/")
    return rest.rpartition("/")[0] if tier == "pattern" else ""
