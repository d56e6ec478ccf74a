"""Names that are close to another: a typo or another word for one that exists, and a domain that
goes by two names.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher
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
    return "".join(_WORD.findall(name)).lower().removesuffix("s")
