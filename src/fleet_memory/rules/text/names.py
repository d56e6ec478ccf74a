"""Names that are close to another: a typo or another word for one that exists, and a domain that
goes by two names.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

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


_WORD: Final = re.compile(r"[^\W_]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Words that stay as they are, with an "s" of their own or because their plural is another topic;
# abbreviations with one meaning in software, irregular plurals, topics by the verb or noun alike.
_WORDS: Final = """
    analytics arms atlas axios canvas cors cursors flasks goods graphics https jenkins keras
    kubernetes macos nats news nodes pandas postgres rails sales sparks stripes teams vaults
    windows a11y=accessibility apis=api configs=configuration config=configuration db=database
    dbs=database deps=dependency docs=documentation i18n=internationalization indices=index
    infra=infrastructure js=javascript k8s=kubernetes l10n=localization matrices=matrix
    o11y=observability perf=performance pg=postgres postgresql=postgres py=python repo=repository
    repos=repository ts=typescript caches=cache batching=batch benchmarking=benchmark caching=cache
    claiming=claim deploying=deployment indexing=index linting=lint logging=log migrating=migration
    mocking=mock queueing=queue queuing=queue rebasing=rebase releasing=release retrying=retry
    testing=test versioning=version
"""
_SAME: Final[dict[str, str]] = {
    word: same or word for word, same in re.findall(r"(\w+)=?(\w+)?", _WORDS)
}
# Between two words these give a direction: "python-to-rust" is another topic than "rust-to-python".
_DIRECTIONS: Final = re.compile(
    r"\b(after|as|before|by|for|from|in|into|on|over|than|to|under|via|without)\b"
)


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
    """Whether two names are one domain: the same words, plural or not, with any separators.

    The words may stand in any order, unless one of them is a direction such as "to".
    """
    if "".join(_WORD.findall(a)).lower() == "".join(_WORD.findall(b)).lower():
        return True
    left, right = _words(a), _words(b)
    is_directed = _DIRECTIONS.search(" ".join(left)) is not None
    return left == right or (not is_directed and sorted(left) == sorted(right))


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case and the singular, e.g. "postgres", "index" of
    "pgIndexes".
    """
    return tuple(map(_singular, _WORD.findall(_CAMEL.sub(" ", name).lower())))


def _singular(word: str) -> str:
    if (
        word in _SAME
        or len(word) < 4
        or not word.endswith("s")
        or word.endswith(("ss", "us", "is"))
    ):
        return _SAME.get(word, word)
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes", "oes")):
        return word[:-2]
    return _SAME.get(word[:-1], word[:-1])
