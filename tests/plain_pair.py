"""Pairs of the plain model: the verdicts about two texts, the decision that they make, and who is
asked next.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from tests.plain_entry import folded

Side = tuple[str, ...]

MAX_SHOWINGS = 3
MAX_THIRDS = 2
ONE_SHOWING = timedelta(hours=1)
COUNTS_FOR = timedelta(days=30)
ANSWERS_WITHIN = timedelta(days=14)


@dataclass
class Voice:
    """One verdict of one judge; a judge of None is a person. `contributed`: it has a part in one of
    the sides.
    """

    judge: str | None
    verdict: str  # same | different | contradict | unsure
    at: datetime
    connection: str | None
    contributed: bool = False

    def is_of(self, judge: str | None, connection: str | None) -> bool:
        """Return whether this judge answers again: the same program, or the same unbound
        connection.
        """
        same_connection = connection is not None and self.connection == connection
        return self.judge == judge or (
            same_connection and self.judge is not None and judge is not None
        )


@dataclass
class Showings:
    """How often a program was shown a pair; showings that are not more than an hour apart are
    one.
    """

    times: int = 0
    counted_at: datetime | None = None
    last_at: datetime | None = None

    def is_new(self, at: datetime) -> bool:
        return self.counted_at is None or at - self.counted_at > ONE_SHOWING

    def show(self, at: datetime) -> None:
        if self.is_new(at):
            self.times, self.counted_at = self.times + 1, at
        self.last_at = at

    def counts(self, at: datetime) -> bool:
        """Return whether a verdict counts: the pair was shown within 30 days."""
        return self.last_at is not None and at - self.last_at <= COUNTS_FOR


class Asked(NamedTuple):
    """Who is asked about a pair now: programs with a side, as they write themselves; any without
    one; people alone.
    """

    programs: frozenset[str] = frozenset()
    third: bool = False
    people: bool = False


@dataclass
class Pair:
    """Two texts and the verdicts about them; `sides` once a run has opened it, with the program of
    each.
    """

    voices: list[Voice] = field(default_factory=list)
    authors: set[str | None] = field(
        default_factory=set
    )  # judges of their own rewrite: no word about another entry
    sides: tuple[Side, Side] | None = None
    programs: tuple[str, ...] = ()
    steering: str = ""
    likely: bool = False
    is_closed: bool = False  # until the next run
    thirds: int | None = (
        None  # programs that could be a third, as the last run counted them; None for enough
    )
    shown: dict[str, Showings] = field(default_factory=dict)  # by program as it writes itself

    @property
    def is_for_people(self) -> bool:
        return bool(self.steering)

    def by_person(self) -> Voice | None:
        return next(
            (voice for voice in self.voices if voice.judge is None and voice.verdict != "unsure"),
            None,
        )

    def count(self, *verdicts: str) -> int:
        return sum(voice.verdict in verdicts for voice in self.voices)

    def decision(self) -> str:
        """Return same, different or open; a person decides alone, otherwise the majority does."""
        person = self.by_person()
        if person:
            return "same" if person.verdict == "same" else "different"
        same, contrary = self.count("same"), self.count("different", "contradict")
        if same == contrary:
            return "open"
        if same < contrary:
            return "different"
        return "same"

    def is_sure(self) -> bool:
        """Return whether `same` depends on more than one judge, or on a person."""
        return self.decision() == "same" and (
            self.by_person() is not None or self.count("same") > 1
        )

    def contradicts(self) -> bool:
        """Return whether both texts cannot be followed, as it is decided."""
        person = self.by_person()
        if person is not None:
            return person.verdict == "contradict"
        return self.decision() == "different" and self.count("contradict") > 0

    # Who is asked

    def asked(self) -> Asked:
        """Return who is asked now: "a third program where a pair needs one", then people."""
        if self.by_person() or self._is_settled():
            return Asked()
        if self.is_for_people:
            return Asked(people=True)
        left = frozenset(one for one in self.programs if not self.has_answered(one))
        if self._needs_second_question():
            return Asked(left)
        thirds = sum(voice.judge is not None and not voice.contributed for voice in self.voices)
        third = thirds < (MAX_THIRDS if self.thirds is None else self.thirds) and not left
        return Asked(left, third, people=not left and not third and self.decision() == "open")

    def has_answered(self, program: str) -> bool:
        return any(voice.judge == folded(program) for voice in self.voices)

    def _is_settled(self) -> bool:
        if self.decision() == "different":
            return not self._needs_second_question()
        return self.is_sure()

    def _needs_second_question(self) -> bool:
        """Return whether a single `different` about a likely pair is asked once more, of the other
        side.
        """
        opinions = [voice for voice in self.voices if voice.verdict != "unsure"]
        is_single = [voice.verdict for voice in opinions] == ["different"] and opinions[
            0
        ].judge is not None
        return (
            self.likely and is_single and any(not self.has_answered(one) for one in self.programs)
        )
