"""Lessons, showings and the entries that come of them: the lower half of the plain model."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from tests.plain_entry import (
    Call,
    Contribution,
    Entry,
    Lesson,
    Policy,
    RefusedError,
    Word,
    best_first,
    count_origins,
    folded,
    words_of,
)
from tests.plain_pair import Pair, Voice

RETRY_WITHIN = timedelta(minutes=10)
STALE_AFTER = timedelta(days=90)
MAX_CONTRADICTIONS_A_DAY = 3


class PlainMemory:
    """Lessons, showings, pairs and entries, with the rules that join, publish and retire."""

    def __init__(self, threshold: int = 2, origins: str = "program") -> None:
        self.policy = Policy()
        self.lessons: dict[tuple[str, str], Lesson] = {}
        self.showings: list[tuple[str, str, datetime]] = []  # program, words, when
        self.pairs: dict[frozenset[str], Pair] = {}
        self.known: list[Entry] = []  # oldest first
        self.set_policy(threshold=threshold, origins=origins)

    def set_policy(self, threshold: int | None = None, origins: str | None = None) -> None:
        """Change the policy for entries published later."""
        new = Policy(
            self.policy.threshold if threshold is None else threshold,
            origins or self.policy.origins,
        )
        if new.threshold < 2 or new.origins not in {"program", "connection"}:
            raise RefusedError("no such policy")
        self.policy = new

    # Storing, showing, proposing

    def store(
        self,
        program: str,
        lesson_id: str,
        text: str,
        *,
        evidence: str = "",
        session: str | None = None,
        connection: str | None = None,
        confidence: float = 0.8,
        project: str | None = None,
        at: datetime,
    ) -> None:
        """Store a lesson: a new one, a repetition of equal words, or a rewrite of the id's text."""
        known = self.lessons.get((program, lesson_id))
        # "An upsert by id"; lessons of two projects are two lessons, as they never meet
        twin = known or self._twin(program, words_of(text), project)
        call = (text, evidence, confidence, project)
        if twin is not None and twin.words == words_of(text):
            self._repeat(twin, lesson_id, call, at)
            return
        new = Lesson(
            program,
            lesson_id,
            text,
            evidence,
            session,
            connection,
            confidence,
            project,
            at,
            at,
            at,
            {lesson_id: call},
        )
        self.lessons[program, lesson_id] = new
        for entry, contribution in self._places(new):
            self._rewrite(entry, contribution, new)

    def _twin(self, program: str, words: str, project: str | None) -> Lesson | None:
        mine = [
            one for one in self.lessons.values() if one.program == program and one.words == words
        ]
        return next((one for one in mine if one.project == project), None)

    def _repeat(self, lesson: Lesson, lesson_id: str, call: Call, at: datetime) -> None:
        """Reinforce, which confirms the entry that the lesson is in, as a word without evidence
        does.
        """
        text, evidence, confidence, project = call
        is_retry = abs(at - lesson.called_at) < RETRY_WITHIN
        new_evidence = evidence not in {"", lesson.evidence}
        if is_retry and lesson.calls.get(lesson_id) == call:
            return
        if lesson.lesson_id == lesson_id:
            lesson.text, lesson.project = text, project
        if lesson.lesson_id != lesson_id or not is_retry or new_evidence:
            lesson.last_reinforced = max(lesson.last_reinforced, at)
        lesson.evidence = lesson.evidence or evidence
        lesson.confidence, lesson.called_at = confidence, at
        lesson.calls[lesson_id] = call
        for entry, contribution in self._places(lesson):
            if not (entry.retired or contribution.rewrite_is_open):
                self._move_last_confirmed(entry, lesson.last_reinforced)

    def _rewrite(self, entry: Entry, contribution: Contribution, lesson: Lesson) -> None:
        """Open a pair of the voting text and the new one; an echo has no vote to ask about, so it
        leaves.
        """
        if contribution.echo:
            entry.contributions.remove(contribution)
            return
        # "a rewrite's store 2R+2W" reads no pair, so texts that it judged before are asked about
        # again
        contribution.rewrite_is_open = lesson.words != contribution.words

    def show(self, program: str, text: str, at: datetime) -> None:
        """Remember that the program saw this text.

        the design keeps `shown` in the program's own document, so a name in another spelling was
        shown nothing.
        """
        self.showings.append((program, words_of(text), at))

    def propose(self, at: datetime) -> None:
        """Join equal words and stored verdicts, make entries of equal words, publish candidates
        that suffice.
        """
        for lesson in self._free(at):
            self._attach(lesson, at, equal_words=True)
        for group in self._groups_of_equal_words(at):
            if (
                len({folded(lesson.program) for lesson in group}) > 1
            ):  # "a program (NFKC, case-folded)"
                self._create_again(group)
        for entry in self.known:
            self._settle(entry, at, by_run=True)
        for lesson in self._free(at):
            self._attach(lesson, at, equal_words=False)
        self._carry_contradictions(at)

    def _free(self, at: datetime) -> list[Lesson]:
        """Return the lessons that are in no entry and not stale, oldest first."""
        fresh = [
            lesson for lesson in self.lessons.values() if at - lesson.last_reinforced <= STALE_AFTER
        ]
        return sorted(
            (one for one in fresh if not self._places(one)),
            key=lambda one: (one.stored_at, one.program),
        )

    def _attach(self, lesson: Lesson, at: datetime, *, equal_words: bool) -> None:
        for entry in self._compared():
            pair = frozenset({entry.words, lesson.words})
            judged = pair in self.pairs and self.pairs[pair].decision() == "same"
            fits = entry.words == lesson.words if equal_words else judged
            if fits and self._may_share(entry, lesson):
                self._join(entry, lesson, [] if equal_words else [pair])
                self._settle(entry, at)
                return

    def _carry_contradictions(self, at: datetime) -> None:
        """Take each `contradict` between lessons as a word against the entry that one text has
        become.

        A run meets the pair while the other text is a living lesson's in no entry; two entries meet
        in none yet. A word against an entry that no agent reads goes on waiting with its pair.
        """
        for entry in filter(self._is_read, self.known):
            others = {one.words for one in self._free(at)}
            for pair in [frozenset({entry.words, words}) for words in others - {entry.words}]:
                if (
                    pair in self.pairs
                    and self.pairs[pair].contradicts()
                    and pair not in entry.carried
                ):
                    entry.carried.add(pair)
                    for voice in self.pairs[pair].voices:
                        if (
                            voice.verdict == "contradict"
                            and voice.judge not in self.pairs[pair].authors
                        ):
                            self._judge_against(entry, voice, pair)
            self._settle(entry, at)

    def _is_read(self, entry: Entry) -> bool:
        """Return whether agents read the entry; a verdict does not contradict an unread one, it
        waits with its pair.

        "else the two judges who undo a wrong `same` would retire the text that it published".
        """
        return (
            entry.retired
            or self._votes(entry, self._rule_of(entry)) >= self._rule_of(entry).threshold
        )

    def _may_share(self, entry: Entry, lesson: Lesson) -> bool:
        project = entry.project(self._rule_of(entry))
        return project is None or lesson.project in {None, project}

    def _groups_of_equal_words(self, at: datetime) -> list[list[Lesson]]:
        """Return the free lessons in groups of equal words and of one project or none."""
        groups: dict[tuple[str, str | None], list[Lesson]] = {}
        free = [
            lesson
            for lesson in self._free(at)
            if not any(
                entry.words == lesson.words and self._may_share(entry, lesson)
                for entry in self._compared()
            )
        ]
        for lesson in free:
            projects = {one.project for one in free if one.words == lesson.words} - {None}
            # a lesson of no project does not choose between two: such lessons group by themselves
            project = lesson.project if len(projects) > 1 else None
            groups.setdefault((lesson.words, project), []).append(lesson)
        return list(groups.values())

    def _compared(self) -> list[Entry]:
        return [entry for entry in self.known if not entry.is_empty]

    # Entries

    def _create_again(self, lessons: Sequence[Lesson]) -> None:
        """Make an entry of equal words, the same one where all lessons had left it: its first
        publication stays.
        """
        left = [entry for entry in self.known if entry.is_empty and entry.words == lessons[0].words]
        for lesson in best_first(lessons) if left else ():
            self._join(left[0], lesson, [])
        if not left:
            self._create(lessons, [])

    def _create(self, lessons: Sequence[Lesson], pairs: list[frozenset[str]]) -> Entry:
        entry = Entry(
            best_first(lessons)[0].text, last_confirmed=best_first(lessons)[0].last_reinforced
        )
        self.known.append(entry)
        texts = {lesson.words for lesson in lessons}
        for lesson in best_first(lessons):
            self._join(entry, lesson, [] if lesson.words == entry.words else pairs, texts)
        return entry

    def _join(
        self, entry: Entry, lesson: Lesson, pairs: list[frozenset[str]], texts: Iterable[str] = ()
    ) -> None:
        program = folded(lesson.program)
        if (program, lesson.words) in entry.split_off:
            return
        if entry.retired:
            entry.learnt_again += 1  # "count it as learnt again, without a vote"
        texts = {*texts, entry.words, lesson.words, *(one.words for one in entry.contributions)}
        shown = any(
            who == lesson.program and text in texts and when < lesson.stored_at
            for who, text, when in self.showings
        )
        late = entry.published_at is not None and lesson.stored_at >= entry.published_at
        contribution = Contribution(
            lesson.program,
            lesson.lesson_id,
            lesson.text,
            lesson.evidence,
            lesson.session,
            lesson.connection,
            lesson.project,
            echo=shown or late or entry.retired,
            pairs=pairs,
        )
        entry.contributions.append(contribution)
        self._move_last_confirmed(entry, lesson.last_reinforced)

    def _places(self, lesson: Lesson) -> list[tuple[Entry, Contribution]]:
        """Return the entry that the lesson is in, with its contribution; at most one."""
        key = (lesson.program, lesson.lesson_id)
        return [
            (entry, one)
            for entry in self.known
            for one in entry.contributions
            if (one.program, one.lesson_id) == key
        ]

    def _move_last_confirmed(self, entry: Entry, at: datetime) -> None:
        entry.last_confirmed = max(entry.last_confirmed, at)

    def _rule_of(self, entry: Entry) -> Policy:
        return entry.rule if entry.published else self.policy

    def _votes(self, entry: Entry, rule: Policy) -> int:
        return count_origins(entry.voting(), rule.origins)

    def _settle(self, entry: Entry, at: datetime, *, by_run: bool = False) -> None:
        """Publish a candidate that has its votes, or make a candidate of an entry that lost them.

        "a candidate again below the threshold it was published with", so it returns as soon as its
        votes reach that; "the maintainer publishes candidates that reach a lowered one".
        """
        if entry.retired:
            return
        if entry.published_at is not None:
            entry.published = self._votes(entry, entry.rule) >= entry.rule.threshold
        if entry.published or (entry.published_at is not None and not by_run):
            return
        if self._votes(entry, self.policy) >= self.policy.threshold:
            entry.published, entry.rule = True, self.policy
            entry.published_at = entry.published_at or at

    def entries(self, now: datetime) -> dict[str, tuple[str, list[str], int]]:
        """Return text -> (state, voting programs, votes) of every entry."""
        answer: dict[str, tuple[str, list[str], int]] = {}
        for entry in self.known:
            rule = self._rule_of(entry)
            sure = [
                one
                for one in entry.voting()
                if not one.pairs or any(self.pairs[it].is_sure() for it in one.pairs)
            ]
            state = entry.state(count_origins(sure, rule.origins), now)
            answer[entry.text] = (
                state,
                sorted({one.program for one in entry.voting()}),
                self._votes(entry, rule),
            )
        return answer

    def projects(self) -> dict[str, str | None]:
        """Return text -> the project that the entry is limited to."""
        return {entry.text: entry.project(self._rule_of(entry)) for entry in self.known}

    def learnt_again(self) -> dict[str, int]:
        """Return text -> how often a lesson repeated it while it was retired."""
        return {entry.text: entry.learnt_again for entry in self.known}

    # Words against an entry

    def _contradict(self, entry: Entry, word: Word) -> None:
        """Take a contradiction: a repeated one keeps its first time; retirement is decided here."""
        rule = self._rule_of(entry)
        key = folded(word.program)
        known = entry.words_about.get(key)
        if known is None or known.outcome == "confirmed":
            word.waits = key != "" and self._open_today(word) >= MAX_CONTRADICTIONS_A_DAY
            entry.words_about[key] = word
        if count_origins(entry.contradictions(waiting=True), rule.origins) > 1:
            for other in entry.contradictions(waiting=True):
                other.waits = False
        against = count_origins(entry.contradictions(), rule.origins)
        first = min((other.at for other in entry.contradictions()), default=word.at)
        supporting = count_origins(entry.confirmations_after(first), rule.origins)
        if against >= (3 if rule.threshold >= 4 else 2) and against > supporting:
            entry.retired = True

    def _open_today(self, word: Word) -> int:
        """Count the program's contradictions of other entries that are open and younger than a
        day.
        """
        mine = [entry.words_about.get(folded(word.program)) for entry in self.known]
        recent = [one for one in mine if one and abs(word.at - one.at) < timedelta(days=1)]
        return sum(one.outcome == "contradicted" for one in recent)

    def _judge_against(self, entry: Entry, voice: Voice, texts: frozenset[str]) -> None:
        """Take `contradict` as the judge's word against the entry, unless the judge contributes to
        it.

        "a `contradict` about its own lesson and the entry is its word", also where it contributes
        by another lesson.
        """
        mine = {
            lesson.words
            for lesson in self.lessons.values()
            if folded(lesson.program) == voice.judge
        }
        is_own = bool((texts - {entry.words}) & mine)
        if entry.words in texts and (
            is_own or not entry.is_contributor(voice.judge, voice.connection)
        ):
            self._contradict(
                entry, Word(voice.judge or "", "contradicted", voice.at, None, voice.connection)
            )

    # Looking up

    def _lesson(self, program: str, lesson_id: str) -> Lesson:
        lesson = self.lessons.get((program, lesson_id))
        if lesson is None:
            raise RefusedError(f"{program} has no lesson {lesson_id}")
        return lesson

    def _entry(self, text: str) -> Entry:
        exact = [entry for entry in self.known if entry.text == text]
        equal = [entry for entry in self.known if entry.words == words_of(text)]
        if not (exact or equal):
            raise RefusedError(f"no entry says: {text}")
        return (exact or equal)[0]
