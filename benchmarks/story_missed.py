"""Why a fact that two agents share is not published: the fate of the pairs of its lessons."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from story import Story, ToldLesson
from story_counts import Reading
from telling import Chronicle

from fleet_memory.rules.entries import entry_state, voting
from fleet_memory.rules.pairs import questions
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair


class Missed(NamedTuple):
    """A shared fact that no agent reads, or that lost a teller: its lessons, and the fate of pairs
    and entries.
    """

    fact: str
    lessons: Sequence[ToldLesson]
    why: Sequence[str]


def missed(
    story: Story, chronicle: Chronicle, cosines: Mapping[frozenset[str], float]
) -> Iterator[Missed]:
    """Yield the shared facts that are not published; `cosines` has that of each two texts of a
    fact.
    """
    reading = Reading(story, chronicle)
    for fact in sorted(reading.shared.keys() - chronicle.days[-1]):
        lessons = reading.shared[fact]
        why = [_fate(reading, pair) for pair in reading.true_pairs(fact)]
        if not why:
            two = [
                cosines[frozenset((one.pattern, other.pattern))]
                for one, other in combinations(lessons, 2)
            ]
            why = [f"not proposed, cosine {', '.join(f'{cosine:.2f}' for cosine in two)}"]
        about = [
            entry for entry in chronicle.entries if reading.labels.fact(entry.value.pattern) == fact
        ]
        yield Missed(fact, lessons, [*why, *(_standing(reading, entry) for entry in about)])


def lost_tellers(story: Story, chronicle: Chronicle) -> Iterator[Missed]:
    """Yield the tellers of published facts whose lesson neither votes nor came after
    publication.
    """
    reading = Reading(story, chronicle)
    for fact in sorted(reading.shared.keys() & chronicle.days[-1]):
        for lesson in reading.shared[fact]:
            if reading.lot(lesson) == "lost":
                own = [
                    one
                    for one in reading.true_pairs(fact)
                    if lesson.agent in (one.a.program_id, one.b.program_id)
                ]
                about = [entry for entry in reading.published if reading.facts[entry.key] == fact]
                fates = [_fate(reading, pair) for pair in own] or ["no pair of its own"]
                yield Missed(
                    fact, [lesson], [*fates, *(_standing(reading, entry) for entry in about)]
                )


def _fate(reading: Reading, pair: Pair) -> str:
    """Return the state of a pair, its verdicts by judge, and whom it waits for."""
    showings = [
        showing for showing in reading.chronicle.showings if showing.pair_id == pair.pair_id
    ]
    said = [f"{one.program_id} said {one.verdict}" for one in pair.judgements]
    unanswered = {showing.agent for showing in showings} - {
        one.program_id for one in pair.judgements
    }
    asked = questions(pair)
    waits = [
        *asked.programs,
        *(["a third program"] if asked.third else ()),
        *(["people"] if asked.people else ()),
    ]
    parts = [
        f"{pair.state}, cosine {pair.cosine:.2f}, margin {pair.margin:.2f}",
        f"gives its judge orders: {pair.steering}" if pair.steering else "",
        f"shown {len(showings)} times" if showings else "never shown",
        *said,
        f"shown to {', '.join(sorted(unanswered))} without a verdict" if unanswered else "",
        f"waits for {' and '.join(waits)}" if waits else "",
    ]
    return "; ".join(filter(None, parts))


def _standing(reading: Reading, entry: Entry) -> str:
    """Return the state of an entry, its votes, and the lessons that have none in it."""
    votes = [line.program_id for line in voting(entry)]
    echoes = [
        f"{line.program_id} ({line.could_read or line.of_reason})"
        for line in entry.provenance
        if not line.is_discovery
    ]
    against = [word.program_id for word in entry.words if word.outcome == "contradicted"]
    parts = [
        f"entry is {entry_state(entry, reading.chronicle.now)}",
        f"votes: {', '.join(votes)}",
        f"without a vote: {', '.join(echoes)}" if echoes else "",
        f"against: {', '.join(against)}" if against else "",
    ]
    return "; ".join(filter(None, parts))
