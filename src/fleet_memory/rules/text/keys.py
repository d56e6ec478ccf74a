"""When two texts are letter by letter the same, and names made of texts: knowledge keys and digests.

Texts of equal normal form merge without any further question, so where punctuation may carry
meaning it stays.
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


_SPELLINGS = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019\u201a", "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-")
    | dict.fromkeys("\u2014\u2015", " - ")
    | dict.fromkeys(
        "\u00ad\u200b\u2060\ufeff", ""
    )  # soft hyphen, zero-width space, word joiner, byte order mark
)
_BULLETS = frozenset("-*\u2022")


def normalised(text: str) -> str:
    """Return the text with Unicode form (NFKC), case, spacing and the punctuation of prose folded;
    idempotent.

    Folded: quotes around words, a parenthesis around several, the comma, colon or stop after a
    word, a bullet, the text's last "!" or "?". Kept, since a lesson may hang on it: signs (-1),
    operators (!=), versions (v2.1), flags (--force), C++, *.py, f(), "5" next to 5, and every token
    that is symbols alone.
    """
    folded = unicodedata.normalize("NFKC", _apart(text)).translate(_SPELLINGS).casefold()
    words = [_bare(word) for word in unicodedata.normalize("NFKC", folded).split()]
    if len(words) > 1 and words[0] in _BULLETS and words[1][0].isalpha():
        words = words[1:]
    while words and _has_letter_or_digit(words[-1]) and words[-1][-1] in "!?":
        words[-1] = _bare(words[-1][:-1])
    return " ".join(words)


def _apart(text: str) -> str:
    """Keep NFKC from joining a raised digit or a fraction to the number before it: 10 squared is
    not 102.
    """
    if text.isascii():
        return text
    joined = ("<super>", "<fraction>")
    return "".join(
        f" {mark}" if unicodedata.decomposition(mark).startswith(joined) else mark for mark in text
    )


def _has_letter_or_digit(token: str) -> bool:
    return any(mark.isalnum() for mark in token)


def _bare(token: str) -> str:
    """Strip the punctuation of prose from a token's ends; a token of symbols alone is an operator
    and stays.
    """
    while _has_letter_or_digit(token):
        first, last = token[0], token[-1]
        if (
            first == last
            and first in "\"'`"
            and (first == "`" or any(mark.isalpha() for mark in token))
        ):
            token = token[1:-1]
        elif (
            last in ".,;:"
            or (last in "\"'`" and token.count(last) % 2)
            or (last == ")" and _opened(token) < 0)
        ):
            token = token[:-1]
        elif (first in "\"'`" and token.count(first) % 2) or (first == "(" and _opened(token) > 0):
            token = token[1:]
        else:
            break
    return token


def _opened(token: str) -> int:
    return token.count("(") - token.count(")")
