"""The note of an answer in which nothing fits: so it is, and how to go on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from fleet_memory.rules.retrieval.ranking import Ranked, fits_well

Scope: TypeAlias = Literal["own", "shared", "all"]

NEAREST: Final = "Nothing fits well; the nearest come first."
EMPTY: Final[Mapping[Scope, str]] = {
    "own": "You have stored nothing yet.",
    "shared": "The fleet has no lesson yet that several agents learnt.",
    "all": "You have stored nothing yet, and the fleet has no lesson that several agents learnt.",
}
WIDER: Final = "scope all"
QUERY: Final = "a query"  # a way that helps where lessons lie on pages
MAX_DOMAINS_CHARS: Final = (
    60  # of the domains that a note names; a note fits into the smallest budget
)
MAX_SUGGESTIONS_CHARS: Final = 200  # of the close names of an answer, likewise


def finding_note(
    best: Sequence[Ranked],
    *,
    asked: bool,
    ways: Sequence[str],
    domains: Iterable[str],
    scope: Scope,
) -> str | None:
    """Return that nothing fits a question well, or how to go on when nothing was found at all; else
    None.

    `ways` are worth a try, e.g. "other words". `domains` has one for each lesson of the scope;
    an empty one has a note of its own, unless a query finds lessons that were not read.
    """
    if best:
        return NEAREST if asked and not fits_well(best) else None
    common = [name for name, _ in Counter(sorted(domains)).most_common()]
    has_lessons = bool(common) or QUERY in ways
    opening = "Nothing matched." if has_lessons else EMPTY[scope]
    helpful = ways if has_lessons else [way for way in ways if way == WIDER]
    advice = f"Try {' or '.join(helpful)}." if helpful else ""
    named = ", ".join(fitting_names(common, MAX_DOMAINS_CHARS))
    return " ".join(
        part for part in (opening, advice, f"Domains: {named}." if named else "") if part
    )


def fitting_names(names: Sequence[str], max_chars: int) -> tuple[str, ...]:
    """Return the first names that have at most so many characters together, with two between
    each.
    """
    lengths = accumulate(len(name) + 2 for name in names)
    return tuple(
        name for name, length in zip(names, lengths, strict=True) if length - 2 <= max_chars
    )
