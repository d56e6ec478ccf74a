"""What a plain memory says of its entries: who stands where, what is published, in which state."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from tests.law_world import EntryView
from tests.plain_facts import Decided, Key, Reading, Showing, Word, normalised
from tests.plain_law import (
    Contribution,
    Said,
    Standing,
    doubts,
    is_enough,
    is_voted_out,
    open_words,
    standing,
)
from tests.plain_views import Entry, Lesson, Views


class Knowledge(Views):
    """The entries of one set of facts at one time."""

    @cached_property
    def through(self) -> Mapping[Key, Entry]:
        """The older entry of the same meaning that an entry is read through."""
        # Open: an entry is read through one of its own project that stands alone, so there is no chain.
        through: dict[Key, Entry] = {}
        alone: list[Entry] = []
        for entry in sorted(
            self.entries, key=lambda entry: (self.first_fact(entry), str(entry.key))
        ):
            older = next((one for one in alone if self._are_same(one, entry)), None)
            if older:
                through[entry.key] = older
            else:
                alone.append(entry)
        return through

    def _are_same(self, a: Entry, b: Entry) -> bool:
        pairs = {frozenset((x, y)) for x in a.words for y in b.words}
        return a.key.project == b.key.project and bool(pairs & self.same)

    def first_fact(self, entry: Entry) -> int:
        times = [text.at for lesson, _ in self.members[entry.key] for text in lesson.texts.values()]
        return min([*times, *(word.at for word in self.words_about(entry))], default=entry.made)

    def words_about(self, entry: Entry) -> Sequence[Word]:
        """Words about any text of an entry, but those about a lesson of their program that is not in it."""
        texts = self.texts_of(entry)
        members = [lesson for lesson, _ in self.members[entry.key]]

        def is_about(word: Word) -> bool:
            words = normalised(word.words)
            own = [
                one for one in self.lessons if one.program == word.program and words in one.texts
            ]
            return words in texts and (not own or any(one in members for one in own))

        return [word for word in self.words if is_about(word)]

    def group(self, entry: Entry) -> Sequence[Entry]:
        """An entry and those that are read through it."""
        return [entry, *(one for one in self.entries if self.through.get(one.key) == entry)]

    def contributions(self, entry: Entry) -> Sequence[Contribution]:
        """The lessons of an entry; one that could have read the older entry does not discover."""
        # Open: what a lesson was shown of the older entry's texts is not asked again.
        older = self.through.get(entry.key)
        return [
            Contribution(
                at=lesson.current.at,
                stored=lesson.texts.get(joined.words, lesson.current),
                discovers=joined.discovers
                and not (older and self.could_have_read_published(lesson, joined.words, [older])),
            )
            for lesson, joined in self.members[entry.key]
        ]

    @cached_property
    def standings(self) -> Mapping[Key, Standing]:
        return {entry.key: self._standing(entry) for entry in self.entries}

    def _standing(self, entry: Entry) -> Standing:
        entries = self.group(entry)
        words = {word for one in entries for word in self.words_about(one)}
        return standing(
            [one for each in entries for one in self.contributions(each)],
            [
                Said(word.at, word, self.is_own(word.program, normalised(word.words)))
                for word in sorted(words, key=lambda word: (word.at, repr(word)))
            ],
            by_connection=self.policy.origins == "connection",
        )

    def last(self, key: Key, *kinds: str) -> Decided | None:
        return next((one for one in reversed(self.decided(key)) if one.what in kinds), None)

    def is_published(self, key: Key) -> bool:
        """Say whether an entry was published and not withdrawn, by what was decided so far."""
        last = self.last(key, "published", "withdrawn")
        return last is not None and last.what == "published"

    def is_retired(self, key: Key) -> bool:
        last = self.last(key, "retired", "reinstated")
        return last is not None and last.what == "retired"

    def reinstated(self, key: Key) -> int:
        last = self.last(key, "reinstated")
        return last.at if last else 0

    def threshold(self, key: Key) -> int:
        """The threshold that an entry was published with, until people apply another; else the policy's."""
        last = self.last(key, "published", "threshold")
        return last.threshold if last and self.is_published(key) else self.policy.threshold

    def is_earned(self, key: Key) -> bool:
        return is_enough(self.standings[key], self.threshold(key), self.policy.tried)

    def should_publish(self, key: Key) -> bool:
        return self.is_earned(key) and not self.is_retired(key) and key not in self.through

    def should_retire(self, key: Key) -> bool:
        return not self.is_retired(key) and is_voted_out(self.standings[key], self.reinstated(key))

    def is_contested(self, key: Key) -> bool:
        return bool(open_words(self.standings[key], self.reinstated(key)))

    def state(self, key: Key) -> tuple[str, frozenset[str]]:
        if self.is_retired(key):
            return "retired", frozenset()
        if not self.is_earned(key):
            return "candidate", frozenset()
        if self.is_contested(key):
            return "contested", frozenset()
        reasons = doubts(self.standings[key], self.now)
        return ("verify" if reasons else "fresh"), reasons

    def is_held(self, entry: Entry) -> bool:
        """Say whether any lesson or word is left of an entry."""
        return bool(self.members[entry.key] or self.words_about(entry))

    def view(self, entry: Entry) -> EntryView:
        found = self.standings[entry.key]
        state, reasons = self.state(entry.key)
        older = self.through.get(entry.key)

        def named(origins: frozenset[frozenset[str]]) -> frozenset[str]:
            return frozenset(min(origin) for origin in origins)

        return EntryView(
            text=entry.text,
            state=state,
            project=entry.key.project,
            discovered=named(found.discovered),
            confirmed=named(found.confirmed),
            contradicted=named(found.contradicted),
            reasons=reasons,
            read_through=older.text if older else None,
        )

    # What a program could have read

    def periods(self, key: Key) -> Sequence[tuple[int, int]]:
        """From when to when an entry was published."""
        periods: list[tuple[int, int]] = []
        begun: int | None = None
        for one in self.decided(key):
            if one.what == "published" and begun is None:
                begun = one.at
            elif one.what == "withdrawn" and begun is not None:
                periods.append((begun, one.at))
                begun = None
        return periods if begun is None else [*periods, (begun, self.now + 1)]

    def could_have_read(
        self, lesson: Lesson, words: str, entry: Entry, joining: frozenset[str]
    ) -> str | None:
        """Why a lesson's author could have had these words from the entry: stored, read, shown; or None.

        `joining` are the texts of all lessons that join the entry now.
        """
        older = self.through.get(entry.key, entry)
        texts = self.texts_of(entry) | self.texts_of(older) | joining
        shown = any(
            one.program == lesson.program
            and one.at < lesson.texts[words].at
            and normalised(one.words) in texts
            for one in self.of(Showing)
        )
        read = self.could_have_read_published(lesson, words, [entry, older])
        return read or ("shown" if shown else None)

    def could_have_read_published(
        self, lesson: Lesson, words: str, entries: Sequence[Entry]
    ) -> str | None:
        stored = lesson.texts[words].at if words in lesson.texts else lesson.current.at
        periods = [period for entry in entries for period in self.periods(entry.key)]
        versions = [
            one.version
            for one in self.of(Reading)
            if one.program == lesson.program and one.at <= stored and one.version
        ]
        if any(begin <= stored < end for begin, end in periods):
            return "stored"
        if any(
            begin <= max(versions) and min(versions) < end for begin, end in periods if versions
        ):
            return "read"
        return None
