"""A plain fleet: what programs, people and the maintainer do, as facts added to a set and taken out of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Unpack

from tests.law_world import (
    EVIDENCE,
    EntryView,
    Found,
    PairView,
    Policy,
    RefusedError,
    Stored,
    World,
)
from tests.plain_entries import Knowledge
from tests.plain_facts import (
    DAY,
    Allowed,
    Change,
    Decided,
    Fact,
    Joined,
    Made,
    Proposed,
    Question,
    Reading,
    Showing,
    Text,
    Verdict,
    Word,
    normalised,
)
from tests.plain_settling import proposed, settle
from tests.plain_verdicts import differs
from tests.plain_views import Entry, Lesson

MAX_ASKED = 3
MAX_VERDICTS_A_DAY = 24
MAX_OTHERS = 5
MAX_OTHERS_IN_BOOT = 3
REPEAT_WITHIN = 600


def mentioned(fact: Fact) -> frozenset[str]:
    """All words that a fact tells of, normalised."""
    match fact:
        case Text() | Word() | Showing() | Allowed():
            return frozenset((normalised(fact.words),))
        case Change():
            return frozenset((normalised(fact.old), normalised(fact.new)))
        case Verdict() | Proposed() | Question():
            return fact.pair
        case Made() | Decided():
            return frozenset((fact.key.words, normalised(fact.text) or fact.key.words))
        case Joined():
            return frozenset((fact.key.words, fact.words))
        case Reading():
            return frozenset()


class PlainWorld:
    """The plain model of a memory: a set of facts, and views of all of them after each step."""

    # Open: a lesson may have any number of pairs; the places of a lesson and a program are not modelled.

    def __init__(self, near: Iterable[Iterable[str]] = (), name: str = "") -> None:
        self.near = [frozenset(map(normalised, texts)) for texts in near]
        self.name = name
        self.facts: set[Fact] = set()
        self.policy = Policy()
        self.now = 0
        self.version = 0
        self.snapshot: Sequence[Entry] = ()
        self._made = 0  # lessons and copies of this world, for their names

    @property
    def views(self) -> Knowledge:
        return Knowledge(self.facts, self.policy, self.now)

    async def later(self, days: float = 0, minutes: float = 0) -> None:
        self.now += int(days * DAY + minutes * 60)

    async def set_policy(self, policy: Policy, *, apply: bool = False) -> None:
        self._tick()
        self.policy = policy
        if apply:
            for entry in self.views.entries:
                self._decide(entry, "threshold", threshold=policy.threshold)
        self._settle()

    def _tick(self) -> None:
        self.now += 1

    def _name(self) -> str:
        self._made += 1
        return f"{self.name}{self._made}"

    def _decide(self, entry: Entry, what: str, *, threshold: int = 0, text: str = "") -> None:
        self.facts.add(Decided(self.now, entry.key, what, threshold, text))

    # What programs do

    async def store(self, program: str, text: str, **how: Unpack[Stored]) -> None:
        self._tick()
        own, change, project = how.get("own"), how.get("change"), how.get("project")
        evidence = how.get("evidence", EVIDENCE)
        lesson = self.views.own_lesson(program, own or text, project)
        if own is not None and lesson is None:
            raise RefusedError("own: no lesson has this text")
        if lesson is not None and lesson.words == normalised(text):
            if own is None and lesson.project != project:
                lesson = None
            elif (
                self.now - lesson.reinforced < REPEAT_WITHIN or evidence == lesson.current.evidence
            ):
                return
            else:
                self._say(program, text, "confirmed", evidence, how.get("connection"))
                return
        if lesson is not None and change is None and self._is_in_use(lesson):
            raise RefusedError("change: say `reworded` or `corrected`")
        name = lesson.current.lesson if lesson else f"{program}#{self._name()}"
        if lesson is not None and change is not None:
            self.facts.add(Change(self.now, name, program, lesson.current.words, text, change))
        self.facts.add(
            Text(
                at=self.now,
                lesson=name,
                program=program,
                words=text,
                project=lesson.project if lesson else project,
                evidence=evidence,
                confidence=how.get("confidence", 0.8),
                session=how.get("session"),
                connection=how.get("connection"),
                imported=how.get("imported", False),
                tags=tuple(how.get("tags", ())),
            )
        )
        self._settle()

    def _is_in_use(self, lesson: Lesson) -> bool:
        """Say whether a lesson is in an entry or in an open pair."""
        views = self.views
        return any(
            lesson == member for members in views.members.values() for member, _ in members
        ) or any(
            found.state == "open" and pair & lesson.texts.keys()
            for pair, found in views.pairs.items()
        )

    async def boot(
        self, program: str, task: str | None = None, project: str | None = None
    ) -> Found:
        self._tick()
        self.facts.add(Reading(self.now, program, self.version))
        self._ask(program)
        views = self.views
        limit = MAX_OTHERS_IN_BOOT if task else 0
        own = [one for one in views.lessons if one.program == program and not views.is_stale(one)]
        return self._show(program, own, task or "", limit, project)

    async def recall(self, program: str, question: str, project: str | None = None) -> Found:
        self._tick()
        own = [one for one in self.views.lessons if one.program == program]
        return self._show(program, own, question, MAX_OTHERS, project)

    def _ask(self, program: str) -> None:
        """Show a program the oldest pairs that it is asked to judge."""
        views = self.views
        for pair in [pair for pair in views.pairs if program in views.asked(pair)][:MAX_ASKED]:
            self.facts.add(Question(self.now, program, pair))
            for words in pair:
                if not any(program == one.program and words in one.texts for one in views.lessons):
                    self.facts.add(Showing(self.now, program, words))

    def _show(
        self, program: str, own: Sequence[Lesson], question: str, limit: int, project: str | None
    ) -> Found:
        knowledge = [entry.text for entry in self.snapshot if entry.key.project in (None, project)]
        others = self._others(program, question, limit, project)
        self.facts.add(Reading(self.now, program, self.version))
        self.facts |= {Showing(self.now, program, text) for text in others}
        # Open: an own lesson that is knowledge is shown as knowledge alone.
        unpublished = [one.current.words for one in own if one.current.words not in knowledge]
        return Found(own=unpublished, knowledge=knowledge, others=others)

    def _others(
        self, program: str, question: str, limit: int, project: str | None
    ) -> Sequence[str]:
        """Texts of other programs' lessons that a question or task shows, those near to it first."""
        # Open: a reader without a project is shown lessons and knowledge of no project alone.
        if self.policy.sharing != "lessons":
            return []
        views = self.views
        mine = {words for one in views.lessons if one.program == program for words in one.texts}
        texts: list[str] = []
        for lesson in views.lessons:
            entries = [
                entry
                for entry in views.entries
                if any(member == lesson for member, _ in views.members[entry.key])
            ]
            text = entries[0].text if entries else lesson.current.words
            mine_too = any(views.texts_of(entry) & mine for entry in entries)
            if (
                lesson.program != program
                and lesson.fits(project)
                and not mine_too
                and normalised(text) not in mine
                and text not in texts
                and self._may_be_shown(views, lesson, entries)
            ):
                texts.append(text)
        return sorted(texts, key=lambda text: not self._are_near(text, question))[:limit]

    @staticmethod
    def _may_be_shown(views: Knowledge, lesson: Lesson, entries: Sequence[Entry]) -> bool:
        own_word = [
            word.outcome
            for word in views.words
            if word.program == lesson.program and normalised(word.words) in lesson.texts
        ]
        return not (
            views.is_stale(lesson)
            or views.steers(lesson)
            or own_word[-1:] == ["contradicted"]
            or any(
                views.decided(entry.key)
                or views.is_contested(entry.key)
                or entry.key in views.through
                for entry in entries
            )
        )

    def _are_near(self, a: str, b: str) -> bool:
        words = {normalised(a), normalised(b)}
        return len(words) == 1 or any(words <= texts for texts in self.near)

    async def word(
        self,
        program: str,
        text: str,
        outcome: str,
        evidence: str = "",
        *,
        connection: str | None = None,
    ) -> None:
        self._tick()
        known = {one.words for one in self.views.lessons}
        if normalised(text) not in known.union(*(entry.words for entry in self.views.entries)):
            raise RefusedError("patternId: no lesson and no entry has this text")
        self._say(program, text, outcome, evidence, connection)

    def _say(
        self, program: str, text: str, outcome: str, evidence: str, connection: str | None
    ) -> None:
        self.facts.add(Word(self.now, program, text, outcome, evidence, connection=connection))
        self._settle()

    async def verdict(
        self,
        program: str | None,
        a: str,
        b: str,
        verdict: str,
        *,
        connection: str | None = None,
        role: str | None = None,
    ) -> None:
        if program is not None and role is None:
            await self.boot(program)
        self._judge(program, a, b, verdict, connection, role)

    def _judge(
        self,
        program: str | None,
        a: str,
        b: str,
        verdict: str,
        connection: str | None = None,
        role: str | None = None,
    ) -> None:
        self._tick()
        views = self.views
        pair = frozenset((normalised(a), normalised(b)))
        if pair not in views.pairs:
            raise RefusedError("pairId: no such pair")
        author_of = frozenset(words for words in pair if program in views.authors(words, pair))
        was_asked = any(one.program == program and one.pair == pair for one in views.of(Question))
        if program is not None and not (was_asked or role == "judge"):
            raise RefusedError("pairId: this program is not asked about the pair")
        today = [
            one
            for one in views.of(Verdict)
            if program is not None and one.program == program and self.now - one.at < DAY
        ]
        if len(today) >= MAX_VERDICTS_A_DAY:
            raise RefusedError("verdicts: enough for today")
        self.facts.add(Verdict(self.now, program, pair, verdict, author_of, connection, role))
        self._settle()

    async def end_session(
        self,
        program: str,
        *,
        verdicts: Sequence[tuple[str, str, str]] = (),
        stores: Sequence[dict[str, object]] = (),
    ) -> None:
        for a, b, verdict in verdicts:
            self._judge(program, a, b, verdict)
        for arguments in stores:
            await self.store(program, **arguments)  # type: ignore[arg-type]  # as `store` takes them

    # What a program and people take back

    async def forget(self, program: str, text: str) -> None:
        self._tick()
        lesson = self.views.own_lesson(program, text)
        if lesson is None:
            raise RefusedError("patternId: no lesson has this text")
        self._erase(
            lambda fact: (
                (isinstance(fact, Text | Change | Joined) and fact.lesson == lesson.current.lesson)
                or (
                    isinstance(fact, Word)
                    and fact.program == program
                    and normalised(fact.words) in lesson.texts
                )
            )
        )

    async def delete_program(self, program: str) -> None:
        self._tick()
        if program not in self.views.programs:
            raise RefusedError("programId: no program of this name")
        lessons = {text.lesson for text in self.views.of(Text) if text.program == program}
        # Open: a program's verdicts go with it; a forgotten lesson leaves its program's verdicts.
        self._erase(
            lambda fact: (
                (isinstance(fact, Joined) and fact.lesson in lessons)
                or getattr(fact, "program", None) == program
            )
        )

    async def purge(self, text: str) -> None:
        self._tick()
        self._erase(lambda fact: normalised(text) in mentioned(fact))

    def _erase(self, goes: Callable[[Fact], bool]) -> None:
        """Take facts out, with all that tells of entries and texts that nothing holds any more."""
        self.facts = {fact for fact in self.facts if not goes(fact)}
        views = self.views
        ended = {entry.key for entry in views.entries if not self._is_held(entry)} | {
            fact.key
            for fact in self.facts
            if isinstance(fact, Joined | Decided)
            and fact.key not in {entry.key for entry in views.entries}
        }
        self.facts = {fact for fact in self.facts if getattr(fact, "key", None) not in ended}
        held = {normalised(text.words) for text in self.views.of(Text)}.union(
            *(entry.words for entry in self.views.entries)
        )
        self.facts = {fact for fact in self.facts if mentioned(fact) <= held}
        self._settle()
        self._write_snapshot()

    def _is_held(self, entry: Entry) -> bool:
        views = self.views
        joined = {fact.key for fact in self.facts if isinstance(fact, Joined)}
        return entry.key in joined or views.is_held(entry)

    # What the maintainer and people do

    async def run(self, *, now_ahead_days: float = 0) -> None:  # noqa: ARG002  # the store's time decides
        self._tick()
        self._settle(in_run=True)
        self.facts |= set(proposed(self.views, self._are_near))
        self._settle(in_run=True)
        self._write_snapshot()

    def _settle(self, *, in_run: bool = False) -> None:
        settle(self.facts, self.policy, self.now, in_run=in_run)

    def _write_snapshot(self) -> None:
        self.version = self.now
        views = self.views
        self.snapshot = [entry for entry in views.entries if views.is_published(entry.key)]

    def _entry(self, text: str) -> Entry:
        found = [entry for entry in self.views.entries if normalised(text) in entry.words]
        if not found:
            raise RefusedError("key: no entry has this text")
        return found[0]

    async def retire(self, text: str) -> None:
        await self._curate(text, "retired")

    async def reinstate(self, text: str) -> None:
        await self._curate(text, "reinstated")

    async def reword(self, text: str, new: str) -> None:
        if any(normalised(new) in entry.words for entry in self.views.entries):
            raise RefusedError(f"text: the entry of `{new}` has these words")
        await self._curate(text, "reworded", new)

    async def _curate(self, text: str, what: str, new: str = "") -> None:
        self._tick()
        self._decide(self._entry(text), what, text=new)
        self._settle()
        self._write_snapshot()

    async def allow(self, program: str, text: str) -> None:
        self._tick()
        if self.views.own_lesson(program, text) is None:
            raise RefusedError("id: no lesson has this text")
        self.facts.add(Allowed(self.now, program, text))
        self._settle()

    # Two laptops

    async def fork(self) -> "PlainWorld":
        other = PlainWorld(self.near, f"{self.name}{self._name()}.")
        other.facts = set(self.facts)
        other.policy, other.now = self.policy, self.now
        other.version, other.snapshot = self.version, self.snapshot
        return other

    async def take_in(self, other: World) -> None:
        assert isinstance(other, PlainWorld)
        # Open: the policy stays that of the memory which imports; what follows is for the next step.
        self.facts |= other.facts
        self.now = max(self.now, other.now)

    # What everybody can see

    async def entries(self, project: str | None = None) -> Sequence[EntryView]:
        views = self.views
        return [
            views.view(entry)
            for entry in views.entries
            if project in (None, entry.key.project) and views.is_held(entry)
        ]

    async def pairs(self) -> Sequence[PairView]:
        views = self.views
        written = {
            normalised(text): text
            for text in [
                *(text.words for text in reversed(views.of(Text))),
                *(entry.text for entry in views.entries),
            ]
        }
        return [
            PairView(
                texts=frozenset(written.get(words, words) for words in pair),
                state=found.state,
                asked=views.asked(pair),
                differs=differs(*sorted(pair)),
            )
            for pair, found in views.pairs.items()
        ]

    async def everything(self) -> str:
        return "\n".join(sorted(map(repr, [*self.facts, *self.snapshot])))
