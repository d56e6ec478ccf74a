"""A plain model of votes: the simplest, slowest statement of docs/knowledge.md, with no store, numbers or threads.

A program is named as it writes itself; wherever independence counts, two spellings of a name are one program.
A side of a verdict is `("lesson", program, lesson_id)`, `("entry", text)` or `("rewrite", program, lesson_id)`.
"""

from datetime import datetime

from tests.plain_entry import Entry, Lesson, Pair, RefusedError, Voice, Word, count_origins, folded, words_of
from tests.plain_memory import PlainMemory

Side = tuple[str, ...]


class PlainFleet(PlainMemory):
    """The knowledge of a fleet, from everything that its programs and people did."""

    # Verdicts

    def verdict(
        self,
        judge: str | None,
        one: Side,
        other: Side | None = None,
        verdict: str = "same",
        *,
        at: datetime,
        connection: str | None = None,
    ) -> None:
        """Take one judge's verdict about two sides; a judge of None is a person, whose verdict is final."""
        voice = Voice(None if judge is None else folded(judge), verdict, at, connection)
        if one[0] == "rewrite":
            self._decide_rewrite(self._lesson(*one[1:]), voice)
            return
        if other is None:
            raise RefusedError("a verdict has two sides")
        left, right = self.resolve(one, other), self.resolve(other, one)
        texts = self._texts_to_judge(one, other, left, right)
        for lesson in self._open_rewrites(voice, texts):  # a pair is its two texts: they are its own to judge
            self._decide_rewrite(lesson, voice)
            return
        self._record(texts, voice)
        self._act(texts, left, right, at)
        for side in (left, right):
            if isinstance(side, Entry):
                if verdict == "contradict":
                    self._judge_against(side, voice, texts)
                self._settle(side, at)

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

    def _texts_to_judge(self, one: Side, other: Side, left: Entry | Lesson, right: Entry | Lesson) -> frozenset[str]:
        """Return the pair of words; within one entry the lessons' own, else those of the two resolved sides."""
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
        if pair.by_person() and voice.judge is not None:
            raise RefusedError("a person closed this pair")
        pair.voices = [known for known in pair.voices if not known.is_of(voice.judge, voice.connection)]
        pair.voices.append(voice)

    def _act(self, texts: frozenset[str], left: Entry | Lesson, right: Entry | Lesson, at: datetime) -> None:
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
        """Remove the contributions that hang on this pair, and those that a judge of it denies the entry's text."""
        denied = texts if self.pairs[texts].count("different", "contradict") else frozenset[str]()
        for entry in self.known:
            judged = denied - {entry.words} if entry.words in denied else frozenset[str]()
            leaving = [one for one in entry.contributions if texts in one.pairs or one.words in judged]
            if leaving:
                entry.contributions = [one for one in entry.contributions if one not in leaving]
                self._settle(entry, at)

    def _decide_rewrite(self, lesson: Lesson, voice: Voice) -> None:
        """Let the author (or a person) say whether the new text is the voting one in other words."""
        if voice.judge not in {None, folded(lesson.program)}:
            raise RefusedError("a rewrite is its author's to judge")
        place = next((place for place in self._places(lesson) if place[1].words != lesson.words), None)
        if place is None:
            raise RefusedError("no rewrite, or taken back")
        entry, contribution = place
        if voice.verdict in {"different", "contradict"}:  # that the author finds its two texts the same is no verdict
            self._record(frozenset({contribution.words, lesson.words}), voice)  # about lessons of others
            self.pairs[frozenset({contribution.words, lesson.words})].authors.add(voice.judge)
        contribution.rewrite_is_open = voice.verdict == "unsure"
        if voice.verdict in {"different", "contradict"}:
            entry.contributions.remove(contribution)
        if voice.verdict == "contradict":
            word = Word(lesson.program, "contradicted", voice.at, lesson.session, lesson.connection)
            self._contradict(entry, word)
        self._settle(entry, voice.at)

    # Words

    def word(
        self,
        program: str,
        target: Side,
        outcome: str,
        evidence: str = "",
        *,
        at: datetime,
        session: str | None = None,
        connection: str | None = None,
    ) -> None:
        """Take a program's word about `("lesson", its lesson_id)`, and so about its entry, or `("entry", text)`."""
        if target[0] == "entry":
            entries = [self._entry(target[1])]
            if entries[0].published_at is None:  # once published, the key is known, and a word may be taken back
                raise RefusedError("agents have never read this entry")
        else:
            lesson = self._lesson(program, target[1])
            self._reinforce(lesson, outcome, at)
            entries = [entry for entry, _ in self._places(lesson)]
        for entry in entries:
            if outcome == "confirmed":
                self._move_last_confirmed(entry, at)
            if evidence.strip():
                self._hear(entry, Word(program, outcome, at, session, connection))
                self._settle(entry, at)

    def _reinforce(self, lesson: Lesson, outcome: str, at: datetime) -> None:
        if outcome == "confirmed":
            lesson.last_reinforced = max(lesson.last_reinforced, at)
        else:
            lesson.confidence /= 2

    def _hear(self, entry: Entry, word: Word) -> None:
        if word.outcome == "contradicted":
            self._contradict(entry, word)
            return
        entry.words_about[folded(word.program)] = word
        for against in entry.contradictions(waiting=True):
            supporters = count_origins(entry.confirmations_after(against.at), self._rule_of(entry).origins)
            if supporters >= 2 and not entry.is_contributor(against.program):
                del entry.words_about[folded(against.program)]

    # People

    def retire(self, text: str, at: datetime) -> None:
        entry = self._entry(text)
        entry.retired = True
        self._settle(entry, at)

    def reinstate(self, text: str, at: datetime) -> None:
        """Bring a retired entry back and clear the contradictions of it; people's word confirms it."""
        entry = self._entry(text)
        if not entry.retired:
            return
        entry.retired = False
        entry.words_about = {who: word for who, word in entry.words_about.items() if word.outcome == "confirmed"}
        self._move_last_confirmed(entry, at)
        self._settle(entry, at)

    def reword(self, text: str, new_text: str, at: datetime) -> None:
        """Give the entry another text; its contributions stay."""
        entry = self._entry(text)
        if any(other.words == words_of(new_text) for other in self.known if other is not entry):
            raise RefusedError("another entry has this text")
        entry.text = new_text
        self._settle(entry, at)

    def split(self, text: str, program: str, at: datetime) -> None:
        """Take the program's contributions out of the entry for good."""
        entry = self._entry(text)
        mine = [one for one in entry.contributions if not one.echo]
        theirs = [one for one in mine if folded(one.program) == folded(program)]
        if len(theirs) != 1 or theirs[0].words == entry.words:  # "Equal words are the same, unasked"
            raise RefusedError("the program has no contribution to take out, or several")
        entry.contributions.remove(theirs[0])
        entry.split_off |= {(folded(program), theirs[0].words)}
        # "turns one contribution to `different`", for a person
        self._record(frozenset({entry.words, theirs[0].words}), Voice(None, "different", at, None))
        self._settle(entry, at)

    def apply_policy(self, at: datetime) -> None:
        """Make candidates of the published entries that the present policy would not publish.

        "lists and takes back the rest"; an entry that suffices keeps the policy it was published under, and
        the maintainer publishes what reaches a lowered threshold.
        """
        for entry in self.known:
            if entry.published and not entry.retired and self._votes(entry, self.policy) < self.policy.threshold:
                entry.rule = self.policy
                self._settle(entry, at)
