"""Twelve agents work for 120 days, and on day 60 some truths change: the fate of the knowledge they
share.

    python benchmarks/fleet_life.py

The world is made of lessons.tsv: a `same` row is a truth in two wordings, a `contra` row one that
changes on day 60, or a myth, which is never true. Agents know their work: who relies on a lesson
learns in that session whether it holds. Two careless ones also believe myths; three forget quickly.
A session ends with the pairs that its agent is asked about; who knows the world judges them
rightly. Everything is drawn from one seed, and the clock is the world's own.
emulator-tests/test_fleet_life.py asserts the outcome.
"""

import csv
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.asking import MAX_SHOWN_PAIRS
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.patterns import NewPattern, Outcome
from fleet_memory.schemas.programs import Caller
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores import Store
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import BootAnswer, gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.session import SessionReport, commit_session
from fleet_memory.tools.state import ContextSummary, DecayPatch, update_program_state

START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
DAYS: Final = 120
CHANGE_DAY: Final = 60
AGENTS: Final = 12
NEWCOMERS: Final = {
    "agent-09": 20,
    "agent-10": 45,
    "agent-11": 75,
    "agent-12": 100,
}  # agent -> its first day
FORGETFUL: Final = ("agent-02", "agent-05", "agent-11")
SHORT_MEMORY: Final = DecayPatch.model_validate({"maxAge": 15, "maxUnpromotedPatterns": 3})
SESSION_ODDS: Final = 0.5  # of an agent to work on a day
TASKS: Final = 3  # truths that a session's work meets
MYTH_ODDS: Final = 0.5  # of a careless agent to see a myth confirmed
LEARNING_ODDS: Final = 0.6  # of an agent to notice a truth that it does not know yet
STABLE_A_DOMAIN: Final = 3  # truths that hold throughout, of each domain
CARELESS: Final = ("agent-03", "agent-08")  # they believe myths


class Truth(NamedTuple):
    """One thing to know about the world: how agents put it before and after day 60; the same if it
    never changes.

    A myth is never true.
    """

    name: str
    domain: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    myth: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All wordings of it, before and after the change."""
        return (*self.before, *self.after, *filter(None, [self.myth]))

    def on(self, day: int) -> tuple[str, ...]:
        """Return the wordings that are true on a day."""
        return self.before if day < CHANGE_DAY else self.after

    def verdict(self, one: str, other: str) -> Verdict:
        """Return the verdict of this truth on two texts: `different` unless both are about it."""
        for texts in (self.before, self.after):
            if {one, other} <= {*texts}:
                return "same"
        return "contradict" if {one, other} <= {*self.texts} else "different"


class Report(NamedTuple):
    """An agent's report on a shared entry at the end of a session."""

    program_id: str
    day: int
    key: str
    outcome: Outcome
    status: str


@dataclass
class Chronicle:
    """A life: `entries` are the active ones at the end of each day, `stored` maps (program, id) to
    the text.
    """

    sessions: int = 0
    judged: int = 0
    entries: list[int] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    stored: dict[tuple[str, str], str] = field(default_factory=dict)
    contributors: dict[str, set[str]] = field(default_factory=dict)
    first_boots: dict[str, BootAnswer] = field(default_factory=dict)
    known_before: dict[str, set[str]] = field(default_factory=dict)


class Clock:
    """The world's time."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        """Return the time."""
        return self.at

    def move(self, day: int, minutes: int) -> None:
        """Go to a minute of a day."""
        self.at = START + timedelta(days=day, minutes=minutes)


def truths() -> list[Truth]:
    """Return the world: stable truths of every domain, then those that change."""
    with (Path(__file__).parent / "lessons.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    stable: list[Truth] = []
    for number, row in enumerate(row for row in rows if row["kind"] == "same"):
        if sum(truth.domain == row["domain"] for truth in stable) < STABLE_A_DOMAIN:
            wordings = (row["a"], row["b"])
            stable.append(Truth(f"stable-{number}", row["domain"], wordings, wordings))
    contra = [row for row in rows if row["kind"] == "contra"]
    changing = [
        Truth(f"changing-{number}", row["domain"], (row["a"],), (row["b"],))
        for number, row in enumerate(contra[2::7])
    ]
    myths = [
        Truth(f"myth-{number}", row["domain"], myth=row["b"])
        for number, row in enumerate(contra[4::7])
    ]
    return stable + changing + myths


class Work(NamedTuple):
    """The truths that a session met, its lessons, and its reports on earlier ones."""

    met: list[str]
    learnt: list[NewPattern]
    reports: list[SessionReport]


class Life:
    """A fleet that lives through the days of one seed, on any store."""

    def __init__(self, store: Store, seed: int) -> None:
        self.clock = Clock()
        self.fleet = Fleet.on(store, "default", MiniLM(), self.clock)
        self.chronicle = Chronicle()
        self._random = random.Random(seed)  # noqa: S311 a world, not a secret
        self._truths = truths()
        domains = sorted({truth.domain for truth in self._truths})
        self.agents = [f"agent-{number:02}" for number in range(1, AGENTS + 1)]
        self._fields = {  # every domain is the field of four agents or five
            agent: {domains[(number + step) % len(domains)] for step in (0, 3, 5, 8)}
            for number, agent in enumerate(self.agents)
        }
        self._handoffs: dict[str, str] = {}

    async def lived(self) -> Chronicle:
        """Return the record of all days."""
        for day in range(DAYS):
            for number, agent in enumerate(self.agents):
                if day == NEWCOMERS.get(agent, 0) and agent in FORGETFUL:
                    self.clock.move(day, 0)
                    await update_program_state(self.fleet, agent, decay_config=SHORT_MEMORY)
                if day >= NEWCOMERS.get(agent, 0) and self._random.random() < SESSION_ODDS:
                    self.clock.move(day, 30 * number)
                    await self._session(agent, day)
            self.clock.move(day, 23 * 60)
            await self._night()
        return self.chronicle

    async def _session(self, agent: str, day: int) -> None:
        session = f"{agent}/day-{day}"
        active = await self._active()
        fleet = replace(self.fleet, caller=Caller(agent))
        boot = await gsp_bootstrap(fleet, agent, depth="full", max_tokens=100_000)
        if agent not in self.chronicle.first_boots:
            self.chronicle.first_boots[agent] = boot
            self.chronicle.known_before[agent] = active
        summary = boot.program.context_summary or {}
        assert summary.get("handoffNotes") == self._handoffs.get(agent), "a handoff was lost"
        work = self._worked(agent, boot, day)
        self._handoffs[agent] = f"Day {day}: {', '.join(work.met)}"
        left = await commit_session(
            fleet,
            agent,
            request_id=session,
            session_id=session,
            patterns=tuple(work.learnt),
            reinforcements=tuple(work.reports),
            context_summary=ContextSummary.model_validate({"handoffNotes": self._handoffs[agent]}),
        )
        assert left.failed == 0, left
        self.chronicle.sessions += 1
        for lesson, result in zip(work.learnt, left.patterns or (), strict=True):
            self.chronicle.stored[agent, result.pattern_id or ""] = lesson.pattern
        for report, about in zip(work.reports, left.reinforcements or (), strict=True):
            if about.knowledge is not None:
                word = Report(
                    agent, day, about.knowledge.key, report.outcome, about.knowledge.status
                )
                self.chronicle.reports.append(word)
        await self._judge(fleet, agent)

    async def _judge(self, fleet: Fleet, agent: str) -> None:
        """Answer the pairs that the agent is asked about, at most three."""
        asked = await pattern_consolidate(fleet, no_progress, agent, limit=MAX_SHOWN_PAIRS)
        verdicts = tuple(
            NewVerdict.model_validate(
                {"pairId": pair.pair_id, "verdict": self._verdict(pair.a.pattern, pair.b.pattern)}
            )
            for pair in asked.to_judge
        )
        if verdicts:
            answer = await pattern_consolidate(
                fleet, no_progress, agent, verdicts=verdicts, limit=0
            )
            # A verdict is refused when another of the same call made its lesson part of an entry
            self.chronicle.judged += sum(one.error is None for one in answer.judged or ())

    def _verdict(self, one: str, other: str) -> Verdict:
        verdicts = {truth.verdict(one, other) for truth in self._truths} - {"different"}
        return verdicts.pop() if verdicts else "different"

    def _worked(self, agent: str, boot: BootAnswer, day: int) -> "Work":
        """Return the lessons of a session's tasks: confirmed, contradicted and new ones."""
        mine = [truth for truth in self._truths if truth.domain in self._fields[agent]]
        met = self._random.sample(mine, TASKS)
        learnt: list[NewPattern] = []
        reports: list[SessionReport] = []
        for truth in met:
            valid = truth.on(day)
            known = [(row.key, row.pattern) for row in boot.knowledge] + [
                (row.id, row.pattern) for row in boot.patterns
            ]
            if truth.myth and agent in CARELESS and self._random.random() < MYTH_ODDS:
                valid = (truth.myth,)
            recalled = [(id_, text) for id_, text in known if text in truth.texts]
            for id_, text in recalled:
                outcome: Outcome = "confirmed" if text in valid else "contradicted"
                said = {"patternId": id_, "outcome": outcome, "evidence": f"day {day}"}
                reports.append(SessionReport.model_validate(said))
            misled = bool(recalled) and not any(text in valid for _, text in recalled)
            if valid and (misled or (not recalled and self._random.random() < LEARNING_ODDS)):
                text = self._random.choice(valid)
                evidence = f"seen on day {day} by {agent}"
                sure = 0.95 if agent in CARELESS else 0.8
                learnt.append(
                    NewPattern(
                        pattern=text,
                        domain=truth.domain,
                        confidence=sure,
                        evidence=evidence,
                        id=f"{agent}-{day}-{len(learnt)}",  # the same in each life of a seed
                    )
                )
        return Work([truth.name for truth in met], learnt, reports)

    async def _night(self) -> None:
        await maintain_fleet(self.fleet, no_progress)
        self.chronicle.entries.append(len(await self._active()))
        for row in (await self.fleet.knowledge.snapshots.read()).rows:
            self.chronicle.contributors.setdefault(row.key, set()).update(row.contributors)

    async def _active(self) -> set[str]:
        return {
            row.key
            for row in (await self.fleet.knowledge.snapshots.read()).rows
            if not row.is_hidden
        }


def main() -> None:
    """Print the fate of the knowledge, for three seeds."""
    head = (
        "seed",
        "sessions",
        "entries after 20, 40, ... days",
        "judged",
        "reports",
        "contested",
        "retired",
    )
    print(f"| {' | '.join(head)} |")
    print(f"|{'---|' * len(head)}")
    for seed in (1, 2, 3):
        with TemporaryDirectory() as folder:
            lived = anyio.run(_lived, Path(folder) / "memory.db", seed)
        told = Counter(report.status for report in lived.reports)
        grown = ", ".join(map(str, lived.entries[19::20]))
        print(
            f"| {seed} | {lived.sessions} | {grown} | {lived.judged} | {len(lived.reports)} "
            f"| {told['contested']} | {told['retired']} |"
        )


async def _lived(file: Path, seed: int) -> Chronicle:
    store = SqliteStore(file)
    try:
        return await Life(store, seed).lived()
    finally:
        await store.close()


if __name__ == "__main__":
    main()
