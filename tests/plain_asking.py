"""Who is asked about a pair in the plain model: the pairs that boots and commits show, and notes on
ignored ones.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from tests.plain_entry import Contribution, Entry, Lesson, RefusedError, folded, words_of
from tests.plain_judging import PlainJudging
from tests.plain_memory import STALE_AFTER
from tests.plain_pair import ANSWERS_WITHIN, MAX_SHOWINGS, Pair, Showings, Side, Voice

MAX_SHOWN = 3
MAX_REWRITES = 1  # of them
MAX_VERDICTS_A_CALL = 6

Texts = frozenset[str]
Answer = tuple[Iterable[str], str]
"""The two texts of a pair and the verdict about them."""


class Proposal(NamedTuple):
    """A pair that numbers proposed: its sides with the program of each, and how it is marked.

    `unanswered` are the programs that a run found to owe their answer, and when. `thirds` is how
    many programs the run found that could be a third, None for enough.
    """

    texts: Texts
    sides: tuple[Side, Side]
    programs: tuple[str, str]
    steering: str
    likely: bool
    unanswered: Sequence[tuple[str, datetime]] = ()
    thirds: int | None = None


class Judged(NamedTuple):
    """The pairs that a call shows, and which of the verdicts it took."""

    shown: list[Texts]
    taken: list[bool]


class Questions(NamedTuple):
    """The pairs that a program may be shown, ordered by kind: own rewrites, own pairs, pairs for a
    third program.
    """

    rewrites: list[Texts]
    own: list[Texts]
    third: list[Texts]
    ignored: list[Texts]
    own_sides: dict[
        Texts, Side
    ]  # the program's own side of its pairs: a call asks about each of its lessons once
    optional: list[
        Texts
    ]  # pairs that the next run closes or renews: a side is stale, or has joined an entry since

    def first(self) -> list[Texts]:
        """Return those that a call shows; which of one kind come first is a matter of numbers."""
        each = {self.own_sides[texts]: texts for texts in reversed(self.own)}
        return [
            *self.rewrites[:MAX_REWRITES],
            *(one for one in self.own if one in each.values()),
            *self.third,
        ][:MAX_SHOWN]

    def allow(self, shown: Sequence[Texts]) -> bool:
        """Return whether a call may show these: as many as fit, no pair of a later kind before one
        of an earlier.
        """
        rewrites = [texts for texts in shown if texts in self.rewrites]
        if len(rewrites) != min(MAX_REWRITES, len(self.rewrites)):
            return False
        left, room = [texts for texts in shown if texts not in rewrites], MAX_SHOWN - len(rewrites)
        for kind in (self.own, self.third):
            chosen = [texts for texts in left if texts in kind]
            left = [texts for texts in left if texts not in kind]
            room -= len(chosen)
            asked = [self.own_sides[texts] for texts in chosen if kind is self.own]
            if room < 0 or len(asked) != len(set(asked)):
                return False
            missing = {*kind} - {*chosen, *self.optional}
            if room > 0 and any(self.own_sides.get(texts) not in asked for texts in missing):
                return False
            if room == 0:
                break
        return not left and len(shown) == len(set(shown))


class PlainAsking(PlainJudging):
    """The pairs that a run opened, and the calls of programs that are asked about them."""

    def ask(
        self,
        one: Side,
        other: Side,
        *,
        steering: str = "",
        likely: bool = False,
        at: datetime,  # noqa: ARG002  # the package dates its pairs
    ) -> None:
        """Open a pair, as a run does where numbers propose it."""
        left, right = self.resolve(one, other), self.resolve(other, one)
        texts = self._texts_to_judge(one, other, left, right)
        if left is right:
            raise RefusedError("both are in one entry")
        programs = self._program_of(left), self._program_of(right)
        if folded(programs[0]) == folded(programs[1]):
            raise RefusedError("lessons of one program are no pair")
        known = self.pairs.get(texts)
        if known is not None and known.voices:
            steering, likely = known.steering, known.likely
        self.adopt(
            Proposal(texts, (self._side_of(left), self._side_of(right)), programs, steering, likely)
        )

    def propose(self, at: datetime) -> None:
        """Run, which closes pairs with a side that has joined an entry, and opens pairs with one
        that has left it.
        """
        super().propose(at)
        for texts, pair in self.pairs.items():
            pair.is_closed = not self.is_current(texts)

    def adopt(self, proposal: Proposal) -> None:
        """Take a pair as a run has opened it."""
        pair = self.pairs.setdefault(proposal.texts, Pair())
        _, pair.sides, pair.programs, pair.steering, pair.likely, unanswered, pair.thirds = proposal
        for program, at in unanswered:
            if not pair.has_answered(program):
                sides = {folded(name) for name in pair.programs}
                answers = [one.at for one in pair.voices if one.judge in sides]
                assert at - max(answers) >= ANSWERS_WITHIN, (proposal, answers)
                self._record(
                    proposal.texts, Voice(folded(program), "unsure", at, None, contributed=True)
                )

    def _side_of(self, resolved: Entry | Lesson) -> Side:
        if isinstance(resolved, Entry):
            return ("entry", resolved.text)
        return ("lesson", resolved.program, resolved.lesson_id)

    def _program_of(self, resolved: Entry | Lesson) -> str:
        """Return the program that is asked about this side: an entry's is its oldest
        contributor.
        """
        if isinstance(resolved, Lesson):
            return resolved.program
        return min(resolved.contributions, key=self._stored_at).program

    def _stored_at(self, contribution: Contribution) -> tuple[bool, datetime]:
        return contribution.echo, self.lessons[
            contribution.program, contribution.lesson_id
        ].stored_at

    # Calls

    def boot(self, program: str, at: datetime, chosen: Sequence[Texts] | None = None) -> Judged:
        """Begin a session: show the program at most 3 pairs of its own, and then for a third one;
        `chosen` are those that numbers put first.
        """
        questions = self.questions(program, at, third=True)
        if program not in {name for name, _ in self.lessons}:  # perhaps it never stored anything
            questions = questions._replace(optional=[*questions.optional, *questions.third])
        return Judged(self._show_questions(program, questions, at, chosen), [])

    def verdict(
        self,
        judge: str | None,
        one: Side,
        other: Side | None = None,
        verdict: str = "same",
        *,
        at: datetime,
        connection: str | None = None,
    ) -> Judged:
        """Take the verdict of a person, or of a program that ends a session with it alone."""
        if judge is None:
            self.judge(None, one, other, verdict, at=at)
            return Judged([], [True])
        texts = self._texts_of(one, other)
        if texts is None:
            raise RefusedError("there is no such pair")
        return self.commit(judge, at, [(texts, verdict)], connection)

    def commit(
        self,
        program: str,
        at: datetime,
        answers: Sequence[Answer] = (),
        connection: str | None = None,
    ) -> Judged:
        """End a session with verdicts; it asks nothing."""
        return Judged([], self._take(program, answers, at, connection))

    def consolidate(
        self,
        program: str,
        at: datetime,
        answers: Sequence[Answer] = (),
        chosen: Sequence[Texts] | None = None,
        proposed: Sequence[Proposal] = (),
    ) -> Judged:
        """Judge, run, which opens the proposals of numbers, and be shown own pairs.

        A call with refused verdicts alone does nothing.
        """
        taken = self._take(program, answers, at, None)
        if taken and not any(taken):
            return Judged([], taken)
        self.propose(at)
        for proposal in proposed:
            self.adopt(proposal)
        return Judged(self._show_questions(program, self.questions(program, at), at, chosen), taken)

    def _take(
        self, program: str, answers: Sequence[Answer], at: datetime, connection: str | None
    ) -> list[bool]:
        taken = []
        for pair, verdict in answers[:MAX_VERDICTS_A_CALL]:
            try:
                self.judge(
                    program,
                    *self._sides_of(program, _words(pair)),
                    verdict,
                    at=at,
                    connection=connection,
                )
            except RefusedError:
                taken.append(False)
            else:
                taken.append(True)
        return [*taken, *(False for _ in answers[MAX_VERDICTS_A_CALL:])]

    def _sides_of(self, program: str, texts: Texts) -> tuple[Side, Side | None]:
        """Return the sides of a pair as it was opened, or the rewrite of the program that it is
        about.
        """
        for lesson in self.lessons.values():
            if lesson.program == program and texts in self._rewrites_of(lesson):
                return ("rewrite", lesson.program, lesson.lesson_id), None
        pair = self.pairs.get(texts)
        if pair is None or pair.sides is None:
            raise RefusedError("there is no such pair")
        if not self.is_current(texts):
            pair.is_closed = True
            raise RefusedError("its texts changed")
        return pair.sides

    def _rewrites_of(self, lesson: Lesson) -> list[Texts]:
        return [
            frozenset({one.words, lesson.words})
            for _, one in self._places(lesson)
            if one.words != lesson.words and not one.echo
        ]

    def _show_questions(
        self, program: str, questions: Questions, at: datetime, chosen: Sequence[Texts] | None
    ) -> list[Texts]:
        shown = questions.first() if chosen is None else list(chosen)
        if not questions.allow(shown):
            raise AssertionError(f"{program} was shown {written(shown)} of {questions}")
        for texts in questions.ignored:
            self._record(
                texts, Voice(folded(program), "unsure", at, None, self._has_side(program, texts))
            )
        for texts in shown:
            if texts in questions.rewrites:
                self.pairs.setdefault(texts, Pair()).shown.setdefault(program, Showings()).show(at)
            else:
                self.show_pair(program, texts, at)
        return shown

    def _decide_rewrite(self, lesson: Lesson, voice: Voice) -> None:
        """Stop asking an author that answered unsure."""
        texts = next(iter(self._rewrites_of(lesson)), None)
        super()._decide_rewrite(lesson, voice)
        if texts and voice.judge is not None and voice.verdict == "unsure":
            shown = self.pairs.setdefault(texts, Pair()).shown
            shown[lesson.program] = Showings(MAX_SHOWINGS + 1, voice.at, voice.at)

    def show_pair(self, program: str, texts: Texts, at: datetime) -> None:
        """Show a pair, and so the texts in it that are not the program's own."""
        pair = self.pairs[texts]
        pair.shown.setdefault(program, Showings()).show(at)
        mine = {one.words for one in self.lessons.values() if one.program == program}
        self.showings += [(program, words, at) for words in texts - mine]

    # Questions

    def questions(
        self,
        program: str,
        at: datetime,
        *,
        third: bool = False,
        answered: Collection[Texts] = (),
        joined: Collection[Texts] = (),
    ) -> Questions:
        """Return the pairs that the program may be shown now, and those shown to it three times
        without an answer.

        None is about a lesson of a pair of `joined`: the call judges that the same as another.
        """
        lessons = [lesson for lesson in self.lessons.values() if lesson.program == program]
        rewrites = [
            texts
            for lesson in lessons
            if self._is_open(lesson)
            for texts in self._rewrites_of(lesson)
        ]
        opened = [texts for texts, pair in self.pairs.items() if pair.sides]
        asking = [texts for texts in opened if program in self.pairs[texts].asked().programs]
        open_ = [texts for texts in opened if texts not in answered]
        own = [texts for texts in asking if texts not in answered]
        thirds = [texts for texts in open_ if third and self._may_be_third(program, texts)]
        members = [texts for texts in thirds if self._has_side(program, texts)]
        ignored = [texts for texts in (*own, *thirds) if self._is_ignored(program, texts, at)]
        # A pair that is closed joins nothing, so the other pairs of its lesson are as they were
        joining = {texts for texts in joined if texts in asking and not self.pairs[texts].is_closed}
        changing = {
            self._own_side(program, texts) for texts in joining if not self.is_changing(texts, at)
        }
        perhaps = {self._own_side(program, texts) for texts in joining} - changing
        own = [texts for texts in own if self._own_side(program, texts) not in changing]
        unsure = [texts for texts in own if self._own_side(program, texts) in perhaps]
        return Questions(
            [
                texts
                for texts in rewrites
                if texts not in answered and not self._is_ignored(program, texts, at)
            ],
            [texts for texts in own if texts not in ignored],
            [texts for texts in thirds if texts not in ignored],
            ignored,
            {texts: self._own_side(program, texts) for texts in own},
            [
                *members,
                *unsure,
                *(texts for texts in (*own, *thirds) if self.is_changing(texts, at)),
            ],
        )

    def _is_open(self, lesson: Lesson) -> bool:
        return any(one.rewrite_is_open for _, one in self._places(lesson))

    def for_people(self) -> list[Texts]:
        """Return the pairs that only people are left to judge."""
        return [
            texts
            for texts, pair in self.pairs.items()
            if pair.asked().people and self.is_current(texts)
        ]

    def unanswered(self, program: str) -> list[Texts]:
        """Return the pairs that this program was shown and has given no verdict about, in the order
        of their texts.
        """
        shown = [
            texts
            for texts, pair in self.pairs.items()
            if pair.sides and program in pair.shown and not pair.has_answered(program)
        ]
        return sorted(shown, key=sorted)

    def is_current(self, texts: Texts) -> bool:
        """Return whether a pair is opened and its sides are as they were."""
        sides = self.pairs[texts].sides
        return sides is not None and self._texts_of(*sides) == texts

    def _texts_of(self, one: Side, other: Side | None) -> Texts | None:
        """Return the pair that a verdict about these sides is about; None where there is none."""
        if other is None:
            return next(iter(self._rewrites_of(self._lesson(*one[1:]))), None)
        try:
            return self._texts_to_judge(
                one, other, self.resolve(one, other), self.resolve(other, one)
            )
        except RefusedError:
            return None

    def _own_side(self, program: str, texts: Texts) -> Side:
        pair = self.pairs[texts]
        assert pair.sides is not None
        return pair.sides[pair.programs.index(program)]

    def _may_be_third(self, program: str, texts: Texts) -> bool:
        pair = self.pairs[texts]
        is_named = folded(program) in {folded(one) for one in pair.programs}
        # A call reads its own program alone: a contributor in another spelling may be asked, and
        # judges as one
        entries = [self._entry(side[1]) for side in pair.sides or () if side[0] == "entry"]
        knows_entry = any(
            one.program == program for entry in entries for one in entry.contributions
        )
        return (
            pair.asked().third
            and not pair.has_answered(program)
            and not is_named
            and not knows_entry
        )

    def _has_side(self, program: str, texts: Texts) -> bool:
        pair = self.pairs[texts]
        assert pair.sides is not None
        one, other = pair.sides
        sides = self.resolve(one, other), self.resolve(other, one)
        return self._contributed(
            Voice(folded(program), "unsure", datetime.min, None), texts, *sides
        )

    def is_changing(self, texts: Texts, at: datetime) -> bool:
        """Return whether the next run closes or renews this pair: a side is stale, or has joined or
        left an entry.
        """
        if self.pairs[texts].is_closed or not self.is_current(texts):
            return True
        lessons = [
            self._lesson(*side[1:]) for side in self.pairs[texts].sides or () if side[0] == "lesson"
        ]
        return any(at - lesson.last_reinforced > STALE_AFTER for lesson in lessons)

    def _is_ignored(self, program: str, texts: Texts, at: datetime) -> bool:
        shown = self.pairs.get(texts, Pair()).shown.get(program, Showings())
        return shown.times > MAX_SHOWINGS or (shown.times == MAX_SHOWINGS and shown.is_new(at))


def _words(pair: Iterable[str]) -> Texts:
    return frozenset(map(words_of, pair))


def written(pairs: Iterable[Texts]) -> list[list[str]]:
    """Return pairs in the order of their texts, as a history writes them."""
    return sorted(sorted(texts) for texts in pairs)
