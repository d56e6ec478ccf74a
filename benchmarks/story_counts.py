"""The outcome of a story: which facts became knowledge, rightly or wrongly, at how many pairs and
questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import ceil
from typing import Final

from story import Labels, Story, ToldLesson
from telling import READ, Chronicle, facts_said, strangers

from fleet_memory.rules.entries import entry_state, voting
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryState
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import Pattern

GOAL: Final = 0.9  # of the shared facts


@dataclass(frozen=True)
class Counts:
    """Counts of a story, or sums of several.

    `shared` facts were stored by two agents or more; of them `published` are entries with two
    tellers, fresh or verify, and `fresh`. `contested`: of the others, those that an agent's word
    stands against. `twice`: published in two entries. An entry is `wrong` if it has a contribution
    of another fact than its text's, `ever_wrong` if it had one at the end of some day; a
    `wrong_echo` is such a lesson without a vote. `unasked`: contributions in other words without a
    verdict `same`. `never_offered`: shared facts, no pair of them shown. `gone` pairs were replaced
    or dropped. `questions` are showings of a pair to an agent, `distinct` counts each pair once for
    each agent. `tellers` stored a published fact: they vote, are `late` (an echo after publication)
    or `lost`. `lag_days` sums the days from a fact's second agent to its publication.
    """

    lessons: int
    agents: int
    sessions: int
    shared: int
    published: int
    fresh: int
    contested: int
    twice: int
    wrong_fresh: int
    wrong_verify: int
    wrong_contested: int
    ever_wrong_fresh: int
    ever_wrong: int
    wrong_echoes: int
    unasked: int
    never_offered: int
    pairs: int
    gone: int
    offered: int
    questions: int
    distinct: int
    verdicts: int
    refused: int
    true_pairs: int
    false_pairs: int
    tellers: int
    voters: int
    late: int
    lost: int
    lag_days: int

    def __add__(self, other: "Counts") -> "Counts":
        """Return the sums."""
        mine, others = asdict(self), asdict(other)
        return Counts(**{one.name: mine[one.name] + others[one.name] for one in fields(self)})


class Reading:
    """A chronicle with its labels; `published` are the entries that agents read, `facts` their
    facts, by key.
    """

    def __init__(self, story: Story, chronicle: Chronicle) -> None:
        self.story, self.chronicle, self.labels = story, chronicle, Labels(story)
        self.shared = story.shared()
        self.shown = {showing.pair_id for showing in chronicle.showings}
        self.published = [one for one in chronicle.entries if self.state(one) in READ]
        self.facts = {one.key: self.labels.fact(one.value.pattern) for one in self.published}
        self._patterns = {
            (name, pattern.words): pattern
            for name, program in chronicle.programs.items()
            for pattern in program.patterns.values()
        }

    def pattern(self, lesson: ToldLesson) -> Pattern:
        """Return the stored lesson."""
        return self._patterns[lesson.agent, text_hash(lesson.pattern)]

    def lot(self, lesson: ToldLesson) -> str:
        """Return the lot of a published fact's teller: a voter, late (after publication), or
        lost.
        """
        pattern = self.pattern(lesson)
        entry = next((one for one in self.published if one.key == pattern.knowledge_key), None)
        if entry is None:
            return "lost"
        if any(line.program_id == lesson.agent for line in voting(entry)):
            return "voter"
        line = next(
            (one for one in entry.provenance if one.pattern_id == pattern.id and one.could_read),
            None,
        )
        return "late" if line is not None and "published" in line.could_read else "lost"

    def state(self, entry: Entry) -> EntryState:
        """Return the state of an entry at the end."""
        return entry_state(entry, self.chronicle.now)

    def is_true(self, pair: Pair) -> bool:
        """Whether both texts are of one fact."""
        return self.labels.verdict(pair.a.text, pair.b.text) == "same"

    def true_pairs(self, fact: str) -> list[Pair]:
        """Return the pairs with both texts of this fact."""
        pairs = self.chronicle.pairs.values()
        return [
            pair for pair in pairs if self.labels.fact(pair.a.text) == fact and self.is_true(pair)
        ]

    def unasked(self, entry: Entry) -> list[Contribution]:
        """Return the contributions in other words that no judge called `same`."""
        pairs = self.chronicle.pairs
        words = text_hash(entry.value.pattern)
        return [
            line
            for line in entry.provenance
            if text_hash(line.pattern) != words
            and (
                line.pair not in pairs
                or all(one.verdict != "same" for one in pairs[line.pair].judgements)
            )
        ]


def counted(story: Story, chronicle: Chronicle) -> Counts:
    """Return the outcome of a story."""
    reading = Reading(story, chronicle)
    wrong = [
        reading.state(entry) for entry in reading.published if strangers(entry, reading.labels)
    ]
    ends = chronicle.days[-1] & reading.shared.keys()
    said = [*reading.facts.values()]
    contested = facts_said(chronicle, reading.labels, "contested") & reading.shared.keys()
    tellers = [reading.lot(lesson) for fact in ends for lesson in reading.shared[fact]]
    return Counts(
        lessons=len(story.lessons),
        agents=len(story.agents),
        sessions=len(story.agents) * len(chronicle.days),
        shared=len(reading.shared),
        published=len(ends),
        fresh=len(ends & facts_said(chronicle, reading.labels, "fresh")),
        contested=len(contested - ends),
        twice=sum(said.count(fact) > 1 for fact in ends),
        wrong_fresh=wrong.count("fresh"),
        wrong_verify=wrong.count("verify"),
        wrong_contested=wrong.count("contested"),
        ever_wrong_fresh=sum(state == "fresh" for _, state in chronicle.mixed),
        ever_wrong=len({key for key, _ in chronicle.mixed}),
        wrong_echoes=sum(_is_wrong_echo(reading, lesson) for lesson in story.lessons),
        unasked=sum(len(reading.unasked(entry)) for entry in reading.published),
        never_offered=sum(
            not any(pair.pair_id in reading.shown for pair in reading.true_pairs(fact))
            for fact in reading.shared
        ),
        **_asking(reading),
        tellers=len(tellers),
        voters=tellers.count("voter"),
        late=tellers.count("late"),
        lost=tellers.count("lost"),
        lag_days=sum(_lag(reading, fact) for fact in ends),
    )


def _asking(reading: Reading) -> Mapping[str, int]:
    chronicle = reading.chronicle
    true = [pair for pair in chronicle.pairs.values() if reading.is_true(pair)]
    false = [pair for pair in chronicle.pairs.values() if not reading.is_true(pair)]
    return {
        "pairs": len(chronicle.pairs),
        "gone": sum(pair.state == "gone" for pair in chronicle.pairs.values()),
        "offered": len(reading.shown),
        "questions": len(chronicle.showings),
        "distinct": len({(showing.agent, showing.pair_id) for showing in chronicle.showings}),
        "verdicts": sum(not given.error for given in chronicle.verdicts),
        "refused": sum(bool(given.error) for given in chronicle.verdicts),
        "true_pairs": len(true),
        "false_pairs": len(false),
    }


def _is_wrong_echo(reading: Reading, lesson: ToldLesson) -> bool:
    pattern = reading.pattern(lesson)
    said = reading.facts.get(pattern.knowledge_key or "")
    return said is not None and said != lesson.fact


def _second_day(lessons: Sequence[ToldLesson]) -> int:
    """Return the day on which a second agent stored a fact."""
    return min(lesson.day for lesson in lessons if lesson.agent != lessons[0].agent)


def _lag(reading: Reading, fact: str) -> int:
    """Return the days from a fact's second agent to the day at whose end it was published for the
    first time.
    """
    first = next(day for day, facts in enumerate(reading.chronicle.days, 1) if fact in facts)
    return first - _second_day(reading.shared[fact])


def goal_day(story: Story, days: Sequence[frozenset[str]]) -> int | None:
    """Return the first day with .9 of all shared facts, from the facts of each day; an agent has a
    session a day.
    """
    shared = story.shared().keys()
    wanted = ceil(GOAL * len(shared))
    return next((day for day, facts in enumerate(days, 1) if len(facts & shared) >= wanted), None)


def curve(story: Story, chronicle: Chronicle) -> list[tuple[int, int]]:
    """Return, for the end of each day, how many facts two agents had stored, and how many of these
    were published.
    """
    told = [story.shared(day).keys() for day in range(1, len(chronicle.days) + 1)]
    return [
        (len(known), len(facts & known)) for known, facts in zip(told, chronicle.days, strict=True)
    ]
