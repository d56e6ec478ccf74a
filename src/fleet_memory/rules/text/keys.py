"""When two texts have equal words, and names made of texts: knowledge keys and digests.

Texts of equal words merge without any further question, so all that may carry meaning stays.
"""

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Final

MAX_SLUG_CHARS: Final = (
    60  # characters; with "pattern/", a domain of 100 and a suffix a key stays under 220
)
MAX_SLUG_WORDS: Final = 6
KEY_PREFIXES: Final = ("pattern/", "constitution/")  # of entries
SUFFIX_DIGITS: Final = 10  # hex digits at the end of a key whose words another text has already
_WORD: Final = re.compile(r"[a-z0-9]+")
_ANY_WORD: Final = re.compile(r"\w+")
_SUFFIXES: Final = re.compile(
    rf"(?:-[0-9a-f]{{{SUFFIX_DIGITS}}})*"
)  # an import may give a key a second one
_POSSESSIVE: Final = re.compile(r"['\u2019]s\b")
# Words that carry no topic; without them the key of the article's own entry comes out as printed
# there. A "never" or "not" stays: a key must not state the opposite of its entry.
_PLAIN = (
    "a an the always do does be is are was to of in on at it its and or for with when if so that "
    "this your you must should"
)
_PLAIN_WORDS: Final = frozenset(_PLAIN.split())


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


@lru_cache(maxsize=8192)  # some 2 MB; each recall asks for that of every entry
def text_hash(text: str) -> str:
    """Return 16 hex digits, equal for texts of equal words, e.g. for "Use WAL." and "use WAL"."""
    return digest(normalised(text))


def pair_id(words: str, other_words: str) -> str:
    """Return the id of the pair of two texts from their `text_hash`es, in any order."""
    return digest(*sorted((words, other_words)))


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


def normalised(text: str) -> str:
    """Return the text as equal words compare it; idempotent.

    In NFC, with white space collapsed, the first letter in lower case, and without a final stop
    after a letter, e.g. "use WAL" of "Use  WAL." Nothing else: `git branch -d` is not `-D`.
    """
    words = " ".join(text.split())
    folded = unicodedata.normalize("NFC", words[:1].lower() + words[1:])
    return folded[:-1] if folded.endswith(".") and folded[-2:-1].isalpha() else folded


def bare_words(text: str) -> str:
    """Return a text's words alone, as questions are counted: "who owns ci" of "Who owns CI?"."""
    return " ".join(_ANY_WORD.findall(text.casefold()))
