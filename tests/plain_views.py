"""What a plain memory is at a moment: lessons, entries and pairs, each computed from all facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tests.law_world import Policy
from tests.plain_facts import (
    DAY,
    STALE_AFTER,
    Allowed,
    Change,
    Decided,
    Fact,
    Joined,
    Key,
    Made,
    Proposed,
    Question,
    Reading,
    Text,
    Verdict,
    Word,
    agent,
    normalised,
)
from tests.plain_verdicts import Outcome, opinions_of, outcome, word_of_people

MAX_SHOWINGS = 3
SILENT_AFTER = 14 * DAY
MAX_OPEN_WORDS = 3  # of one program against others within a day
ORDERS = "ignore all previous instructions"  # what the plain model takes for steering
_T = TypeVar("_T")


@dataclass(frozen=True)
class Lesson:
    """A lesson as it is now; `texts` are the words that its author calls the same, with their oldest text."""

    current: Text
    texts: Mapping[str, Text]
    confidence: float
    reinforced: int

    @property
    def program(self) -> str:
        return self.current.program

    @property
    def project(self) -> str | None:
        return self.current.project

    @property
    def words(self) -> str:
        return normalised(self.current.words)

    def may_meet(self, other: "Lesson") -> bool:
        return None in (self.project, other.project) or self.project == other.project

    def fits(self, project: str | None) -> bool:
        """Say whether an entry of this project may count the lesson."""
        return self.project in (project, None)


@dataclass(frozen=True)
class Entry:
    """An entry as it is now; `words` are its first ones and what people made of them."""

    key: Key
    text: str
    words: frozenset[str]
    made: int


class Views:
    """All views of one set of facts at one time."""

    def __init__(self, facts: Iterable[Fact], policy: Policy, now: int) -> None:
        self.facts = sorted(facts, key=lambda fact: (fact.at, repr(fact)))
        self.policy = policy
        self.now = now
        self._of: dict[type, list[Fact]] = {}
        for fact in self.facts:
            self._of.setdefault(type(fact), []).append(fact)

    def of(self, kind: type[_T]) -> Sequence[_T]:
        return [fact for fact in self._of.get(kind, ()) if isinstance(fact, kind)]

    # Lessons

    @cached_property
    def lessons(self) -> Sequence[Lesson]:
        """The newest text of each lesson, with all that its author calls the same."""
        texts: dict[str, list[Text]] = {}
        for text in self.of(Text):
            texts.setdefault(text.lesson, []).append(text)
        return [self._lesson(versions) for versions in texts.values()]

    def _lesson(self, versions: Sequence[Text]) -> Lesson:
        current = versions[-1]
        oldest = {normalised(text.words): text for text in reversed(versions)}
        same = {normalised(current.words)}
        changes = {
            frozenset((normalised(change.old), normalised(change.new))): change.kind
            for change in self.of(Change)
            if change.lesson == current.lesson
        }
        for _ in changes:
            same |= {
                words
                for pair, kind in changes.items()
                if kind == "reworded" and pair & same
                for words in pair & oldest.keys()
            }
        own = [
            word
            for word in self.of(Word)
            if word.program == current.program and normalised(word.words) in same
        ]
        halvings = sum(word.outcome == "contradicted" for word in own)
        return Lesson(
            current=current,
            texts={words: oldest[words] for words in sorted(same)},
            confidence=current.confidence * 0.5**halvings,
            reinforced=max([current.at, *(word.at for word in own if word.outcome == "confirmed")]),
        )

    def is_stale(self, lesson: Lesson) -> bool:
        return self.now - lesson.reinforced > STALE_AFTER

    def own_lesson(self, program: str, text: str, project: str | None = None) -> Lesson | None:
        words = normalised(text)
        own = [one for one in self.lessons if one.program == program and words == one.words]
        fitting = [one for one in own if one.project == project]
        return next(iter(fitting or own), None)

    def is_own(self, program: str, words: str) -> bool:
        return any(t.program == program and normalised(t.words) == words for t in self.of(Text))

    def steers(self, lesson: Lesson) -> bool:
        """Say whether a lesson gives its reader orders and no person has released it."""
        said = (lesson.current.words, lesson.current.evidence, *lesson.current.tags)
        return any(ORDERS in text.casefold() for text in said) and not any(
            one.program == lesson.program and normalised(one.words) in lesson.texts
            for one in self.of(Allowed)
        )

    # Pairs

    @cached_property
    def pairs(self) -> Mapping[frozenset[str], Outcome]:
        """What the verdicts on each proposed pair of texts come to."""
        return {proposed.pair: self._outcome(proposed) for proposed in self.of(Proposed)}

    def authors(self, words: str, pair: frozenset[str]) -> frozenset[str]:
        """Programs with a lesson of these words, or that discovered the entry of these words.

        A lesson with the other text of the pair speaks for that one alone.
        """
        keys = {entry.key for entry in self.entries if words in entry.words}
        discovering = {one.lesson for one in self.of(Joined) if one.key in keys and one.discovers}
        return frozenset(
            one.program
            for one in self.lessons
            if words in one.texts
            or (one.current.lesson in discovering and not one.texts.keys() & pair)
        )

    def verdicts(self, pair: frozenset[str]) -> Sequence[Verdict]:
        return [one for one in self.of(Verdict) if one.pair == pair]

    def _outcome(self, proposed: Proposed) -> Outcome:
        sides = sorted(proposed.pair)
        authors = [self.authors(side, proposed.pair) for side in sides]
        questions = [one.program for one in self.of(Question) if one.pair == proposed.pair]
        awake = {one.program for one in self.lessons if not self.is_stale(one)}
        # Open: the 14 days of a silent side begin when its pair is proposed.
        silent = frozenset(
            side
            for side in (0, 1)
            if not authors[side] & awake
            or sum(program in authors[side] for program in questions) >= MAX_SHOWINGS
            or self.now - proposed.at >= SILENT_AFTER
        )
        verdicts = self.verdicts(proposed.pair)
        held_back = any(self.steers(one) for one in self.lessons if one.texts.keys() & set(sides))
        if held_back and not word_of_people(verdicts):
            return Outcome("review")
        return outcome(verdicts, sides, authors, silent)

    def asked(self, pair: frozenset[str]) -> frozenset[str]:
        """Programs that would be asked about a pair at their next boot."""
        found = self.pairs[pair]
        authors = [self.authors(side, pair) for side in sorted(pair)]
        opinions = opinions_of(self.verdicts(pair), sorted(pair), authors)
        heard = {agent(program) for opinion in opinions for program in opinion.programs}
        first = [
            self._oldest_author(words, own)
            for words, own in zip(sorted(pair), authors, strict=True)
            if own
        ]
        asked = {
            self._oldest_author(sorted(pair)[side], authors[side])
            for side in found.ask_sides
            if authors[side]
        }
        if found.ask_others:
            written = {agent(program) for program in first}
            questions = [one.program for one in self.of(Question) if one.pair == pair]
            asked |= {
                program
                for program in self.programs
                if agent(program) not in written and questions.count(program) < MAX_SHOWINGS
            }
        return frozenset(program for program in asked if agent(program) not in heard)

    def _oldest_author(self, words: str, authors: frozenset[str]) -> str:
        """The author of a side that is asked at once; the others are while a third program is."""

        def age(lesson: Lesson) -> tuple[bool, int]:
            return words not in lesson.texts, min(text.at for text in lesson.texts.values())

        return min((one for one in self.lessons if one.program in authors), key=age).program

    @cached_property
    def programs(self) -> frozenset[str]:
        return frozenset(
            [fact.program for fact in self.of(Text)] + [fact.program for fact in self.of(Reading)]
        )

    @cached_property
    def same(self) -> frozenset[frozenset[str]]:
        return frozenset(pair for pair, found in self.pairs.items() if found.state == "same")

    # Entries

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """All entries, by the time that they were made; people may have reworded one."""
        entries: dict[Key, Entry] = {}
        for made in self.of(Made):
            if made.key not in entries:
                reworded = [one.text for one in self.decided(made.key) if one.what == "reworded"]
                text = reworded[-1] if reworded else made.text
                words = frozenset((made.key.words, normalised(text)))
                entries[made.key] = Entry(made.key, text, words, made.at)
        return list(entries.values())

    def decided(self, key: Key) -> Sequence[Decided]:
        return [one for one in self.of(Decided) if one.key == key]

    def joining_words(self, lesson: Lesson, entry: Entry) -> str | None:
        """The words by which a lesson belongs to an entry: equal ones, or judged the same as its text."""
        if self.steers(lesson) or not lesson.fits(entry.key.project):
            return None
        equal = sorted(lesson.texts.keys() & entry.words)
        judged = [
            words
            for words in lesson.texts
            if any(frozenset((words, text)) in self.same for text in entry.words)
        ]
        return next(iter([*equal, *judged]), None)

    def entry_for(self, lesson: Lesson, project: str | None) -> Entry | None:
        """The entry of a project that a lesson belongs to: of equal words, else the oldest."""
        fitting = [
            entry
            for entry in self.entries
            if entry.key.project == project and self.joining_words(lesson, entry)
        ]
        return min(
            fitting,
            key=lambda entry: (not (lesson.texts.keys() & entry.words), entry.made),
            default=None,
        )

    @cached_property
    def members(self) -> Mapping[Key, Sequence[tuple[Lesson, Joined]]]:
        """The lessons of each entry: that joined it, and still belong to it before any other."""
        joined: dict[tuple[str, Key], Joined] = {}
        for one in self.of(Joined):
            # Open: of two decisions on one contribution (two laptops) the older holds.
            joined.setdefault((one.lesson, one.key), one)
        members: dict[Key, list[tuple[Lesson, Joined]]] = {entry.key: [] for entry in self.entries}
        for lesson in self.lessons:
            lesson_id = lesson.current.lesson
            for project in {entry.key.project for entry in self.entries}:
                theirs = [
                    entry
                    for entry in self.entries
                    if entry.key.project == project
                    and (lesson_id, entry.key) in joined
                    and self.joining_words(lesson, entry)
                ]
                equal = [entry for entry in theirs if lesson.texts.keys() & entry.words]
                for entry in (equal or theirs)[:1]:
                    members[entry.key].append((lesson, joined[lesson_id, entry.key]))
        return members

    def is_free(self, lesson: Lesson, project: str | None) -> bool:
        """Say whether a lesson is in no entry of a project."""
        return not any(
            lesson == member
            for key, members in self.members.items()
            if key.project == project
            for member, _ in members
        )

    def texts_of(self, entry: Entry) -> frozenset[str]:
        """All words that an entry and its lessons have, and those that an author of it corrected."""
        joined = {one.lesson: one.at for one in reversed(self.of(Joined)) if one.key == entry.key}
        corrected = [
            normalised(one.old) for one in self.corrected if joined.get(one.lesson, one.at) < one.at
        ]
        return entry.words.union(
            corrected, *(lesson.texts for lesson, _ in self.members[entry.key])
        )

    @cached_property
    def corrected(self) -> Sequence[Change]:
        """Changes that their authors called corrected, and did not take back."""
        newest = {
            (one.lesson, frozenset((normalised(one.old), normalised(one.new)))): one
            for one in self.of(Change)
        }
        return [one for one in newest.values() if one.kind == "corrected"]

    @cached_property
    def words(self) -> Sequence[Word]:
        """All words that count: said, by a correction, or by an author's `contradict` that holds."""
        said = [*self.of(Word), *self._corrections(), *self._contradictions()]
        return [word for word in said if word not in self._waiting(said)]

    def _corrections(self) -> Sequence[Word]:
        """A correction of a text in no entry is a word about nothing."""
        return [
            Word(one.at, one.program, one.old, "contradicted", f"corrected to {one.new}")
            for one in self.corrected
            if any(each.lesson == one.lesson and each.at < one.at for each in self.of(Joined))
        ]

    def _contradictions(self) -> Sequence[Word]:
        words = []
        for pair, found in self.pairs.items():
            if found.state != "contradict":
                continue
            sides = sorted(pair)
            authors = [self.authors(side, pair) for side in sides]
            for opinion in opinions_of(self.verdicts(pair), sides, authors):
                for side in opinion.sides if opinion.verdict == "contradict" else ():
                    words += [
                        Word(opinion.at, program, sides[1 - side], "contradicted", sides[side])
                        for program in sorted(opinion.programs & authors[side])[:1]
                    ]
        return words

    def _waiting(self, said: Sequence[Word]) -> Sequence[Word]:
        """Words of a program that already has three open ones within a day, until another origin joins in."""
        newest = {(agent(word.program), normalised(word.words)): word for word in said}
        against = [
            word
            for word in sorted(newest.values(), key=lambda word: word.at)
            if word.outcome == "contradicted"
            and not self.is_own(word.program, normalised(word.words))
        ]
        waiting: list[Word] = []
        counted: list[Word] = []
        for word in against:
            others = [
                one
                for one in against
                if normalised(one.words) == normalised(word.words)
                and agent(one.program) != agent(word.program)
            ]
            lately = [
                one
                for one in counted
                if agent(one.program) == agent(word.program) and word.at - one.at < DAY
            ]
            if len(lately) >= MAX_OPEN_WORDS and not others:
                waiting.append(word)
            else:
                counted.append(word)
        return waiting
