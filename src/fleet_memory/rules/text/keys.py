"""When two texts have equal words, names made of texts (knowledge keys and digests), and names that
are close to another.

Texts of equal words merge without any further question, so all that may carry meaning stays.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
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


# Names that are close to another

_PARTS: Final = re.compile(r"[^\W_]+")
MIN_CLOSENESS: Final = 0.6  # 0..1; difflib's own default
MAX_COMPARED: Final = (
    50  # known names, of the most letters in common, of which the order counts too; chosen
)
_MIN_PART_CHARS: Final = (
    3  # a shorter part, e.g. "ci", is inside of words that have nothing to do with it
)


def close_names(name: str, known: Iterable[str], limit: int = 3) -> tuple[str, ...]:
    """Return up to `limit` known names, the closest first: spelt alike, or one a part of the other.

    Letter case does not count: `close_names("Claims", ["git", "task-claims"]) == ("task-claims",)`.
    """
    wanted = name.casefold()
    matcher = SequenceMatcher(None, b=wanted, autojunk=False)
    letters, near = list[tuple[float, str]](), dict[str, float]()
    for other in dict.fromkeys(known):
        matcher.set_seq1(folded := other.casefold())
        if matcher.real_quick_ratio() >= MIN_CLOSENESS:
            letters.append((matcher.quick_ratio(), other))
        if _is_part(*sorted((wanted, folded), key=len)):
            near[other] = MIN_CLOSENESS
    for _, other in sorted(letters, reverse=True)[:MAX_COMPARED]:
        matcher.set_seq1(other.casefold())
        if (ratio := matcher.ratio()) >= MIN_CLOSENESS:
            near[other] = ratio
    return tuple(sorted(near, key=lambda each: (-near[each], each))[:limit])


def _is_part(short: str, long: str) -> bool:
    return len(short) >= _MIN_PART_CHARS and short in long


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
    """Whether two names are one domain: the same letters and figures, with any separators, with or
    without an "s" at the end.

    `is_same_domain("taskClaims", "task-claim")`; "k8s" and "kubernetes" are two.
    """
    return _bare(a) == _bare(b)


def _bare(name: str) -> str:
    return "".join(_PARTS.findall(name)).lower().removesuffix("s")
