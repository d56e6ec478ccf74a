"""Verdicts in the plain model: which are taken, and how they join lessons or take them out.

A side of a verdict is `("lesson", program, lesson_id)`, `("entry", text)` or `("rewrite", program,
lesson_id)`.
"""

from collections import defaultdict
from datetime import datetime, timedelta

from tests.plain_entry import Entry, Lesson, RefusedError, Word, folded
from tests.plain_memory import PlainMemory
from tests.plain_pair import Pair, Side, Voice

MAX_VERDICTS_A_DAY = 24


class PlainJudging(PlainMemory):
    """The pairs of a fleet and the verdicts about them."""

    def __init__(self, threshold: int = 2, origins: str = "program") -> None:
        super().__init__(threshold, origins)
        self.judged_at: defaultdict[str, list[datetime]] = defaultdict(
            list
        )  # by judge as it writes itself

    def judge(
        self,
        judge: str | None,
        one: Side,
        other: Side | None = None,
        verdict: str = "same",
        *,
        at: datetime,
        connection: str | None = None,
    ) -> None:
        """Take one judge's verdict about two sides; a judge of None is a person, whose verdict is
        final.
        """
        voice = Voice(None if judge is None else folded(judge), verdict, at, connection)
        if one[0] == "rewrite":
            self._decide_rewrite(self._lesson(*one[1:]), voice)
            return
        if other is None:
            raise RefusedError("a verdict has two sides")
        left, right = self.resolve(one, other), self.resolve(other, one)
        texts = self._texts_to_judge(one, other, left, right)
        for lesson in self._open_rewrites(
            voice, texts
        ):  # a pair is its two texts: they are its own to judge
            self._decide_rewrite(lesson, voice)
            return
        self._require_asked(judge, texts, voice)
        voice.contributed = self._contributed(voice, texts, left, right)
        self._count(judge, texts, voice)
        self._record(texts, voice)
        self._act(texts, left, right, at)
        for side in (left, right):
            if isinstance(side, Entry):
                self._settle(side, at)
                if verdict == "contradict" and self._is_read(side):
                    self._judge_against(side, voice, texts)
                self._settle(side, at)

    def _require_asked(self, judge: str | None, texts: frozenset[str], voice: Voice) -> None:
        """Refuse a verdict about a pair that is none, or was not shown to this program within 30
        days.

        One that its judge gave before counts for nothing more, whenever it was shown.
        """
        pair = self.pairs.get(texts)
        if pair is None or pair.sides is None:
            raise RefusedError("there is no such pair")
        if judge is None:
            return
        if pair.by_person():
            raise RefusedError("a person closed this pair")
        if pair.is_for_people:
            raise RefusedError("people alone judge a text that steers its judge")
        if (voice.judge, voice.verdict) in {(known.judge, known.verdict) for known in pair.voices}:
            return
        at = voice.at
        if judge not in pair.shown or not pair.shown[judge].counts(at):
            raise RefusedError("it was not shown to this program within 30 days")
        if (
            sum(at - given < timedelta(days=1) for given in self.judged_at[judge])
            >= MAX_VERDICTS_A_DAY
        ):
            raise RefusedError("24 verdicts count in 24 hours")

    def _count(self, judge: str | None, texts: frozenset[str], voice: Voice) -> None:
        """Count the verdict for its judge's day; one that it gave before changes nothing."""
        given = {(known.judge, known.verdict) for known in self.pairs[texts].voices}
        if judge is not None and (voice.judge, voice.verdict) not in given:
            self.judged_at[judge].append(voice.at)

    def _contributed(
        self, voice: Voice, texts: frozenset[str], left: Entry | Lesson, right: Entry | Lesson
    ) -> bool:
        """Return whether the judge has a part in either side, or anybody has over the judge's
        connection.
        """
        if voice.judge in {folded(one) for one in self.pairs[texts].programs}:
            return True
        authors = [one for one in self.lessons.values() if one.words in texts]
        if voice.connection is not None and any(
            one.connection == voice.connection for one in authors
        ):
            return True
        entries = [side for side in (left, right) if isinstance(side, Entry)]
        return any(entry.is_contributor(voice.judge, voice.connection) for entry in entries)

    def resolve(self, side: Side, other: Side) -> Entry | Lesson:
        """Return the entry that the side is, is in, or has the words of; else the lesson.

        A lesson of a younger entry stays a lesson where it is asked about against the older one.
        """
        if side[0] == "entry":
            return self._entry(side[1])
        lesson = self._lesson(*side[1:])
        for entry, contribution in self._places(lesson):
            is_asked = other[0] == "entry" and contribution in self._entry(other[1]).asked
            return lesson if is_asked else entry
        return next((entry for entry in self.known if entry.words == lesson.words), lesson)

    def _texts_to_judge(
        self, one: Side, other: Side, left: Entry | Lesson, right: Entry | Lesson
    ) -> frozenset[str]:
        """Return the pair of words; within one entry the lessons' own, else those of the two
        resolved sides.
        """
        texts = frozenset({left.words, right.words})
        if left is right:
            texts = frozenset(self._own_words(side) for side in (one, other))
            if left.words not in texts:  # "by being judged the same as *that text*; nothing chains"
                raise RefusedError("both are in one entry, and neither is its text")
        if len(texts) < 2:
            raise RefusedError("equal words are the same, unasked")
        return texts

    def _open_rewrites(self, voice: Voice, texts: frozenset[str]) -> list[Lesson]:
        mine = [lesson for lesson in self.lessons.values() if lesson.program == voice.judge]
        return [
            lesson
            for lesson in mine
            for _, one in self._places(lesson)
            if not one.echo and {one.words, lesson.words} == texts
        ]

    def _own_words(self, side: Side) -> str:
        if side[0] == "entry":
            return self._entry(side[1]).words
        lesson = self._lesson(*side[1:])
        return next((contribution.words for _, contribution in self._places(lesson)), lesson.words)

    def _record(self, texts: frozenset[str], voice: Voice) -> None:
        pair = self.pairs.setdefault(texts, Pair())
        pair.voices = [
            known for known in pair.voices if not known.is_of(voice.judge, voice.connection)
        ]
        pair.voices.append(voice)

    def _act(
        self, texts: frozenset[str], left: Entry | Lesson, right: Entry | Lesson, at: datetime
    ) -> None:
        """Let the decision about the pair join lessons, or take the judged ones out."""
        if self.pairs[texts].decision() != "same":
            self._take_out(texts, at)
        elif left is right:
            self._add_voice(left, texts)
        elif isinstance(left, Entry) and isinstance(right, Entry):
            older, younger = sorted((left, right), key=self.known.index)
            older.asked += [one for one in younger.contributions if one not in older.asked]
        elif isinstance(left, Lesson) and isinstance(right, Lesson):
            self._settle(self._create([left, right], [texts]), at)
        else:
            entry, lesson = (left, right) if isinstance(left, Entry) else (right, left)
            assert isinstance(entry, Entry)
            assert isinstance(lesson, Lesson)
            self._move(entry, lesson, texts, at)

    def _move(self, entry: Entry, lesson: Lesson, texts: frozenset[str], at: datetime) -> None:
        """Join the lesson, which leaves the younger entry that it was in."""
        for younger, contribution in self._places(lesson):
            younger.contributions.remove(contribution)
            entry.asked.remove(contribution)
            self._settle(younger, at)
        self._join(entry, lesson, [texts])

    def _add_voice(self, entry: Entry | Lesson, texts: frozenset[str]) -> None:
        for one in entry.contributions if isinstance(entry, Entry) else []:
            if one.pairs and one.words in texts and texts not in one.pairs:
                one.pairs.append(texts)

    def _take_out(self, texts: frozenset[str], at: datetime) -> None:
        """Remove the contributions that hang on this pair, and those that a judge of it denies the
        entry's text.
        """
        denied = texts if self.pairs[texts].count("different", "contradict") else frozenset[str]()
        for entry in self.known:
            judged = denied - {entry.words} if entry.words in denied else frozenset[str]()
            leaving = [
                one for one in entry.contributions if texts in one.pairs or one.words in judged
            ]
            if leaving:
                entry.contributions = [one for one in entry.contributions if one not in leaving]
                self._settle(entry, at)

    def _decide_rewrite(self, lesson: Lesson, voice: Voice) -> None:
        """Let the author (or a person) judge whether the new text rewords the voting one."""
        if voice.judge not in {None, folded(lesson.program)}:
            raise RefusedError("a rewrite is its author's to judge")
        place = next(
            (place for place in self._places(lesson) if place[1].words != lesson.words), None
        )
        if place is None:
            raise RefusedError("no rewrite, or taken back")
        entry, contribution = place
        if voice.verdict in {
            "different",
            "contradict",
        }:  # that the author finds its two texts the same is no verdict
            self._record(
                frozenset({contribution.words, lesson.words}), voice
            )  # about lessons of others
            self.pairs[frozenset({contribution.words, lesson.words})].authors.add(voice.judge)
        contribution.rewrite_is_open = voice.verdict == "unsure"
        if voice.verdict in {"different", "contradict"}:
            entry.contributions.remove(contribution)
        if voice.verdict == "contradict":
            word = Word(lesson.program, "contradicted", voice.at, lesson.session, lesson.connection)
            self._contradict(entry, word)
        self._settle(entry, voice.at)
