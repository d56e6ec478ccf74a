"""What the facts say of one entry: origins, positions, publication, states."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.plain_facts import DAY, Text, Verdict, Word, agent, is_short, normalised

UNCONFIRMED_AFTER = 180 * DAY
_T = TypeVar("_T")


@dataclass(frozen=True)
class Contribution:
    """A lesson in an entry; `at` is when its program last stood by a text that joins it."""

    at: int
    stored: Text
    discovers: bool


@dataclass(frozen=True)
class Said:
    """A word about an entry that counts there; `own`: about a lesson of the same program."""

    at: int
    word: Word
    own: bool


Item = Contribution | Said


def source(item: Item) -> Text | Word:
    return item.stored if isinstance(item, Contribution) else item.word


def originals_and_copies(
    contributions: Iterable[Contribution],
) -> tuple[Sequence[Contribution], Sequence[tuple[Contribution, Contribution]]]:
    """Tell lessons from those that repeat their words and bring no evidence of their own.

    The original is the oldest lesson of these words with long evidence, else the oldest. A copy is
    of its original's origin, and links it with others of its own program.
    """
    originals: list[Contribution] = []
    copies: list[tuple[Contribution, Contribution]] = []
    for one in sorted(
        contributions, key=lambda one: (is_short(one.stored.evidence), one.stored.at)
    ):
        equal = [o for o in originals if normalised(o.stored.words) == normalised(one.stored.words)]
        evidence = normalised(one.stored.evidence)
        twins = [
            o for o in equal if is_short(evidence) or normalised(o.stored.evidence) == evidence
        ]
        if twins:
            copies.append((one, twins[0]))
        else:
            originals.append(one)
    return originals, copies


def same_origin(a: Text | Word, b: Text | Word) -> bool:
    return (
        agent(a.program) == agent(b.program)
        or (a.session is not None and a.session == b.session)
        or (isinstance(a, Text) and isinstance(b, Text) and a.imported and b.imported)
    )


def same_connection(a: Text | Word | Verdict, b: Text | Word | Verdict) -> bool:
    return a.connection is not None and a.connection == b.connection


def groups_of(items: Iterable[_T], linked: Callable[[_T, _T], bool]) -> list[list[_T]]:
    """Group what is linked, transitively."""
    groups: list[list[_T]] = []
    for item in items:
        near = [group for group in groups if any(linked(item, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([other for group in near for other in group] + [item])
    return groups


def origins_of(
    contributions: Sequence[Contribution], words: Iterable[Said], by_connection: bool
) -> list[list[Item]]:
    """Group what was contributed to an entry and said of it by origin.

    One unbound connection is one origin for words and confirmations; for discoveries by policy.
    """

    _, copies = originals_and_copies(contributions)

    def linked(a: Item, b: Item) -> bool:
        a_source, b_source = source(a), source(b)
        return (
            same_origin(a_source, b_source)
            or (by_connection and same_connection(a_source, b_source))
            or (a, b) in copies
            or (b, a) in copies
        )

    def over_one_connection(a: Sequence[Item], b: Sequence[Item]) -> bool:
        return any(same_connection(source(x), source(y)) for x in a for y in b)

    items: list[Item] = sorted([*contributions, *words], key=lambda item: (item.at, repr(item)))
    origins: list[list[Item]] = []
    for group in sorted(groups_of(items, linked), key=lambda group: not discovers(group)):
        # Open: a second name over the connection of several discoverers is one with the first.
        home = next((one for one in origins if over_one_connection(one, group)), None)
        if discovers(group) or home is None:
            origins.append(list(group))
        else:
            home.extend(group)
    return origins


def discovers(origin: Iterable[Item]) -> bool:
    return any(isinstance(item, Contribution) and item.discovers for item in origin)


def position(origin: Sequence[Item]) -> str | None:
    """The one position of an origin: its newest, where confirming undoes no discovery of its own."""
    # Open: a word about one's own lesson counts for the entry too without evidence, as a correction does.
    counting = [
        item
        for item in origin
        if isinstance(item, Contribution) or item.own or item.word.evidence.strip()
    ]
    if not counting:
        return None
    newest = sorted(counting, key=lambda item: (item.at, isinstance(item, Said)))[-1]
    if isinstance(newest, Said) and newest.word.outcome == "contradicted":
        return "contradicted"
    # Open: a discoverer that confirms stays a discoverer, otherwise no entry outlives reinforcement.
    return "discovered" if discovers(counting) else "confirmed"


@dataclass(frozen=True)
class Standing:
    """What the facts say of one entry; an origin is the names of its programs."""

    discovered: frozenset[frozenset[str]]
    confirmed: frozenset[frozenset[str]]
    contradicted: frozenset[frozenset[str]]
    discoveries: Sequence[Contribution]
    contributions: Sequence[Contribution]
    words: Sequence[Said]
    newest: int


def standing(
    contributions: Sequence[Contribution], words: Sequence[Said], by_connection: bool
) -> Standing:
    positions: dict[str | None, list[list[Item]]] = {}
    origins = origins_of(contributions, words, by_connection)
    for origin in origins:
        positions.setdefault(position(origin), []).append(origin)

    def named(which: str) -> frozenset[frozenset[str]]:
        return frozenset(
            frozenset(source(item).program for item in origin)
            for origin in positions.get(which, [])
        )

    return Standing(
        discovered=named("discovered"),
        confirmed=named("confirmed"),
        contradicted=named("contradicted"),
        discoveries=[
            item
            for origin in positions.get("discovered", [])
            for item in origin
            if isinstance(item, Contribution) and item.discovers
        ],
        contributions=contributions,
        words=words,
        newest=max([one.at for one in contributions] + [one.at for one in words], default=0),
    )


def is_enough(entry: Standing, threshold: int, tried: int) -> bool:
    """Say whether an entry has earned publication: by discoveries, or by one that was tried."""
    if len(entry.discovered) >= threshold:
        return True
    return bool(tried and entry.discovered and len(entry.confirmed) >= tried)


def counted_words(entry: Standing, outcome: str, since: int) -> dict[str, int]:
    """By agent, when it last said so with evidence (of its own lesson also without).

    A lesson that was stored since with evidence confirms, too.
    """
    said = [
        (one.at, one.word.program)
        for one in entry.words
        if one.word.outcome == outcome
        and (one.word.evidence.strip() or (outcome == "contradicted" and one.own))
    ]
    if outcome == "confirmed":
        said += [
            (one.stored.at, one.stored.program)
            for one in entry.contributions
            if one.stored.evidence.strip()
        ]
    return {agent(program): at for at, program in sorted(said) if at > since}


def open_words(entry: Standing, reinstated: int) -> Sequence[int]:
    """Times of the open words against an entry.

    A word is open until its origin takes it back or two others confirm with evidence after it;
    people who reinstate an entry close all that was said before.
    """
    against = {agent(name) for origin in entry.contradicted for name in origin}
    return sorted(
        at
        for speaker, at in counted_words(entry, "contradicted", reinstated).items()
        if speaker in against and len(counted_words(entry, "confirmed", at).keys() - {speaker}) < 2
    )


def is_voted_out(entry: Standing, reinstated: int) -> bool:
    """Two origins contradict, more than confirm since the first open word against the entry."""
    times = open_words(entry, reinstated)
    if not times:
        return False
    against = [
        origin
        for origin in entry.contradicted
        if {agent(name) for name in origin}
        & counted_words(entry, "contradicted", reinstated).keys()
    ]
    confirming = counted_words(entry, "confirmed", times[0]).keys() - {
        agent(name) for origin in against for name in origin
    }
    return len(against) >= 2 and len(against) > len(confirming)


def doubts(entry: Standing, now: int) -> frozenset[str]:
    """Why a published entry that nobody contradicts should be verified."""
    connections = {found.stored.connection for found in entry.discoveries}
    origins = len(entry.discovered) + len(entry.confirmed)
    reasons = {
        "tried": len(entry.discovered) < 2 and origins < 3,
        "one connection": len(connections) == 1 and None not in connections and not entry.confirmed,
        "unconfirmed": now - entry.newest > UNCONFIRMED_AFTER,
    }
    return frozenset(reason for reason, holds in reasons.items() if holds)
