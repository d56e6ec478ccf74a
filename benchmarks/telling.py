"""A story lived on the real tools: each agent has one session a day and answers the pairs that it
shows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from story import Labels, Story, ToldLesson

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.entries import entry_state, origins
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryState
from fleet_memory.schemas.pairs import NewVerdict, Pair, Verdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller, Program
from fleet_memory.similarity import Embedder
from fleet_memory.stores import Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import JudgedAnswer, ToJudge
from fleet_memory.tools.session import commit_session
from fleet_memory.tools.state import ContextSummary

Judge: TypeAlias = Callable[[str, str, str], Verdict]
"""The verdict of an agent about two texts."""

READ: Final[tuple[EntryState, ...]] = (
    "fresh",
    "verify",
    "contested",
)  # states of an entry that agents read at boot
START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
DAYS_AFTER: Final = 10  # days of sessions after the story's last lesson
SESSION_MINUTES: Final = 20
OPPOSITES: Final[Mapping[Verdict, Verdict]] = {
    "same": "different",
    "different": "same",
    "contradict": "same",
}


class Showing(NamedTuple):
    """A pair in an answer that an agent reads."""

    day: int
    agent: str
    pair_id: str


class GivenVerdict(NamedTuple):
    """A verdict that an agent gave; `error` is the reason of its refusal, "" for one that was
    carried out.
    """

    day: int
    agent: str
    pair_id: str
    verdict: Verdict
    error: str = ""


@dataclass
class Chronicle:
    """A life of a story.

    `days` are the facts that were published at the end of each day, `read` those and the contested.
    `pairs` has every pair there ever was, as it was last. `mixed` are the keys of entries that were
    published at the end of some day with a contribution of another fact than their text's, with
    each state that they then had. `programs`, `entries` and `now` are of the end.
    """

    showings: list[Showing] = field(default_factory=list)
    verdicts: list[GivenVerdict] = field(default_factory=list)
    pairs: dict[str, Pair] = field(default_factory=dict)
    days: list[frozenset[str]] = field(default_factory=list)
    read: list[frozenset[str]] = field(default_factory=list)
    mixed: set[tuple[str, EntryState]] = field(default_factory=set)
    programs: dict[str, Program] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    now: datetime = START


def truthful(labels: Labels) -> Judge:
    """Return agents who know the facts."""
    return lambda _agent, one, other: labels.verdict(one, other)


def with_contrary(labels: Labels, contrary: str) -> Judge:
    """Return agents who know the facts, one of whom always answers the opposite."""

    def judge(agent: str, one: str, other: str) -> Verdict:
        verdict = labels.verdict(one, other)
        return OPPOSITES[verdict] if agent == contrary else verdict

    return judge


def with_careless(labels: Labels, *careless: str) -> Judge:
    """Return agents who know the facts, some of whom call every two texts the same."""
    return lambda agent, one, other: "same" if agent in careless else labels.verdict(one, other)


class Telling:
    """A story on a store, told day by day; the first of each day's agents is another one."""

    def __init__(
        self,
        store: Store,
        story: Story,
        embedder: Embedder,
        judge: Judge,
        *,
        answering: bool = True,
        seed: int = 0,
    ) -> None:
        self._now = START
        self.fleet = Fleet.on(store, "default", embedder, lambda: self._now)
        self._story, self._labels = story, Labels(story)
        self._judge, self._answering, self._seed = judge, answering, seed
        self._chronicle = Chronicle()

    async def told(self, days_after: int = DAYS_AFTER) -> Chronicle:
        """Return the outcome of the story, some days after its last lesson."""
        names = self._story.names
        for day in range(1, self._story.last_day + days_after + 1):
            first = (day + self._seed) % len(names)
            for number, agent in enumerate([*names[first:], *names[:first]]):
                self._now = START + timedelta(days=day, minutes=60 * number)
                await self._session(agent, day)
            self._now = START + timedelta(days=day, hours=15)
            await maintain_fleet(self.fleet, no_progress)
            await self._look()
        return self._chronicle

    async def _session(self, agent: str, day: int) -> None:
        fleet = replace(self.fleet, caller=Caller(agent))
        boot = await gsp_bootstrap(fleet, agent)
        shown = self._shown(day, agent, boot.to_judge)
        self._now += timedelta(minutes=SESSION_MINUTES)
        verdicts = self._verdicts(agent, shown)
        name = f"{agent}/day-{day}"
        left = await commit_session(
            fleet,
            agent,
            request_id=name,
            session_id=name,
            patterns=tuple(
                _sent(lesson)
                for lesson in self._story.lessons
                if (lesson.agent, lesson.day) == (agent, day)
            ),
            context_summary=ContextSummary.model_validate({"handoffNotes": f"Day {day}"}),
            verdicts=verdicts,
        )
        assert left.failed == sum(one.error is not None for one in left.judged or ()), left
        self._given(day, agent, verdicts, left.judged)

    def _shown(self, day: int, agent: str, pairs: Sequence[ToJudge] | None) -> tuple[ToJudge, ...]:
        self._chronicle.showings += [Showing(day, agent, pair.pair_id) for pair in pairs or ()]
        return tuple(pairs or ())

    def _verdicts(self, agent: str, pairs: Sequence[ToJudge]) -> tuple[NewVerdict, ...]:
        if not self._answering:
            return ()
        judged = [
            (pair.pair_id, self._judge(agent, pair.a.pattern, pair.b.pattern)) for pair in pairs
        ]
        return tuple(
            NewVerdict.model_validate({"pairId": id_, "verdict": verdict})
            for id_, verdict in judged
        )

    def _given(
        self,
        day: int,
        agent: str,
        verdicts: Sequence[NewVerdict],
        judged: Sequence[JudgedAnswer] | None,
    ) -> None:
        errors = {answer.pair_id: answer.error or "" for answer in judged or ()}
        self._chronicle.verdicts += [
            GivenVerdict(day, agent, given.pair_id, given.verdict, errors[given.pair_id])
            for given in verdicts
        ]

    async def _look(self) -> None:
        for pair in await self.fleet.pairs.all():
            self._chronicle.pairs[pair.pair_id] = pair
        self._chronicle.programs = {
            one.program.program_id: one.program for one in await self.fleet.programs.all()
        }
        self._chronicle.entries = [
            one.entry for one in await self.fleet.knowledge.all() if one.entry
        ]
        self._chronicle.now = self._now
        for entry in self._chronicle.entries:
            state = entry_state(entry, self._now)
            if state in READ and strangers(entry, self._labels):
                self._chronicle.mixed.add((entry.key, state))
        self._chronicle.read.append(facts_said(self._chronicle, self._labels, *READ))
        self._chronicle.days.append(facts_said(self._chronicle, self._labels, "fresh", "verify"))


def facts_said(chronicle: Chronicle, labels: Labels, *states: EntryState) -> frozenset[str]:
    """Return the facts of entries in these states that two programs behind the entry stored
    themselves.
    """
    return frozenset(
        labels.fact(entry.value.pattern)
        for entry in chronicle.entries
        if entry_state(entry, chronicle.now) in states and len(_tellers(entry, labels)) > 1
    )


def strangers(entry: Entry, labels: Labels) -> Sequence[Contribution]:
    """Return the contributions of an entry that are of another fact than its text."""
    fact = labels.fact(entry.value.pattern)
    return [line for line in entry.provenance if labels.fact(line.pattern) != fact]


def _tellers(entry: Entry, labels: Labels) -> set[str]:
    """Return the programs that discovered or confirmed an entry and stored its fact."""
    fact = labels.fact(entry.value.pattern)
    behind = [origin for origin in origins(entry) if origin.position != "contradicted"]
    lines = [line for origin in behind for line in origin.lessons]
    return {line.program_id for line in lines if labels.fact(line.pattern) == fact}


def _sent(lesson: ToldLesson) -> NewPattern:
    return NewPattern(
        pattern=lesson.pattern,
        domain=lesson.domain,
        confidence=lesson.confidence,
        evidence=lesson.evidence,
    )
