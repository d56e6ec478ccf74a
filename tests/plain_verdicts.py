"""What the verdicts on two texts come to, and who is asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.plain_facts import Verdict, agent
from tests.plain_law import groups_of, same_connection

NEGATIONS = {"not", "no", "never", "without", "don't", "doesn't", "cannot"}


def differs(a: str, b: str) -> str | None:
    """A hint for the reader that decides nothing: the texts differ in figures, or in a negation."""
    if set(re.findall(r"\d+", a)) != set(re.findall(r"\d+", b)):
        return "figures"
    return (
        "negation"
        if len({bool(NEGATIONS & set(t.casefold().split())) for t in (a, b)}) == 2
        else None
    )


@dataclass(frozen=True)
class Opinion:
    """The newest verdict of one origin; `sides` (0, 1) are those whose author it is."""

    at: int
    programs: frozenset[str]
    sides: frozenset[int]
    verdict: str


@dataclass(frozen=True)
class Outcome:
    """`state`: open, same, different, contradict or review; then who should be asked."""

    state: str
    ask_sides: frozenset[int] = frozenset()
    ask_others: bool = False


def opinions_of(
    verdicts: Sequence[Verdict], sides: Sequence[str], authors: Sequence[frozenset[str]]
) -> Sequence[Opinion]:
    """Let the newest verdict of each origin count; a judge is one origin, whatever its name.

    `authors` are the programs of each side now; one that was an author when it judged still is.
    """

    def one_origin(a: Verdict, b: Verdict) -> bool:
        if a.role or b.role:
            return a.role == b.role
        return agent(str(a.program)) == agent(str(b.program)) or same_connection(a, b)

    opinions = []
    for group in groups_of([said for said in verdicts if said.program is not None], one_origin):
        newest = max(group, key=lambda said: said.at)
        programs = frozenset(str(said.program) for said in group)
        spoken_for = frozenset(
            side
            for side in (0, 1)
            for said in group
            if not said.role and (said.program in authors[side] or sides[side] in said.author_of)
        )
        opinions.append(Opinion(newest.at, programs, spoken_for, newest.verdict))
    return sorted(opinions, key=lambda opinion: opinion.at)


def word_of_people(verdicts: Sequence[Verdict]) -> str | None:
    """A person's newest verdict is final; `unsure` takes it back."""
    said = [verdict for verdict in verdicts if verdict.program is None]
    newest = max(said, key=lambda verdict: verdict.at).verdict if said else "unsure"
    return None if newest == "unsure" else newest


def answered_sides(
    opinions: Sequence[Opinion], authors: Sequence[frozenset[str]]
) -> frozenset[int]:
    """Give each side to another origin: one that wrote both texts answers for one of them."""
    # Open: where an origin is an author of both sides it answers for the one that nobody else does.
    answered: set[int] = set()
    for opinion in sorted(opinions, key=lambda one: (len(one.sides), one.at)):
        own = {agent(program) for program in opinion.programs}
        free = sorted(
            opinion.sides - answered,
            key=lambda side: (any(agent(name) not in own for name in authors[side]), side),
        )
        answered |= set(free[:1])
    return frozenset(answered)


def outcome(
    verdicts: Sequence[Verdict],
    sides: Sequence[str],
    authors: Sequence[frozenset[str]],
    silent: frozenset[int],
) -> Outcome:
    """Decide a pair; `silent` are the sides whose authors were asked long enough, or are gone."""
    final = word_of_people(verdicts)
    if final:
        return Outcome(final)
    opinions = opinions_of(verdicts, sides, authors)
    by_authors = [opinion for opinion in opinions if opinion.sides]
    answered = answered_sides([one for one in by_authors if one.verdict != "unsure"], authors)
    # Open: an author's `unsure` leaves its side to another program, as silence does.
    unsure = answered_sides(by_authors, authors) - answered
    waiting = frozenset((0, 1)) - answered - silent - unsure
    if any(opinion.verdict == "contradict" for opinion in by_authors):
        return Outcome("contradict", waiting)
    said = {opinion.verdict for opinion in by_authors} - {"unsure"}
    if len(said) == 2:
        return _by_another(opinions, None, waiting)
    if said and len(answered) == 2:
        return Outcome(said.pop())
    if waiting:
        return Outcome("open", waiting)
    return _by_another(opinions, said.pop(), waiting) if said else Outcome("review")


def _by_another(opinions: Sequence[Opinion], said: str | None, waiting: frozenset[int]) -> Outcome:
    """Let other programs decide: the first, or where it differs from the one side that spoke, the second."""
    # Open: the `contradict` of a program that wrote neither text is a `different`.
    others = [
        "different" if one.verdict == "contradict" else one.verdict
        for one in opinions
        if not one.sides and one.verdict != "unsure"
    ]
    if others and said in (None, others[0]):
        return Outcome(others[0], waiting)
    if len(others) >= 2:
        return Outcome(others[1], waiting)
    return Outcome("open", waiting, ask_others=True)
