"""Mistakes that agents of a fleet are about to repeat, and how many of them the memory told them
before.

    python benchmarks/repeats.py [FILE ...] [--missed]

A file of `benchmarks/repeats/` has fleets at work over days: sessions with a task, a question and
steps (commands, edits, errors), and traps that one agent meets first and learns from, and others
are about to meet again. Each session boots, recalls with its question, works through its steps,
stores what it learnt, confirms what it was told and saw to be true, and judges pairs by the labels
of the file; a maintenance runs each night. A repeat is told when a lesson of its trap was shown to
that session before the mistake happens: at its start, in its recall, or by the hook on an earlier
call of a tool (a client shows a hook's line beside the result of the call). The arms: a text file
that every agent reads at its start and appends to; shared knowledge alone; knowledge and lessons of
others; and these with hooks, where the client's hooks boot and read along.

Tokens are a quarter of the bytes of what a session reads: file, boot, recall and lines of hooks.
`--missed` names the repeats that hooks and others did not tell. Exits with 1 when these tell less
than .8 (.9 is wanted), or when the hook speaks at more than 10 of 200 ordinary steps.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import anyio
from sets import FOLDER, table

from fleet_memory import moment
from fleet_memory.clients.hooks import answer_hook
from fleet_memory.clients.identity import HookState
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.schemas.value import Value
from fleet_memory.settings import Settings, load
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory

Arm: TypeAlias = Literal["a shared file", "knowledge", "and others", "and hooks"]
ARMS: Final[tuple[Arm, ...]] = get_args(Arm)
PLACES: Final = ("start", "recall", "hook")
HEADER: Final = ("arm", "repeats", "told", *PLACES, "tokens a session", "of the last five")
START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
SESSION: Final = timedelta(minutes=20)
MIN_TOLD: Final = 0.8  # of the weakest of three files; docs/decisions/lessons-for-a-prompt.md
MAX_SPOKEN: Final = 10  # of 200 ordinary steps
BYTES_PER_TOKEN: Final = 4
LESSON_FIELDS: Final = ("pattern", "domain", "evidence", "confidence")
TOOLS: Final = {"edit": ("Edit", "new_string"), "write": ("Write", "content")}


class Step(NamedTuple):
    """One action of a session; `trap` names the mistake that happens there, "" for none."""

    kind: str
    text: str
    trap: str = ""

    def events(self) -> Iterator[dict[str, object]]:
        """Yield what a client tells its hooks on tools; nothing for reading."""
        first, _, rest = self.text.partition("\n")
        if self.kind in TOOLS:
            name, field_ = TOOLS[self.kind]
            given = {"file_path": first, field_: rest}
            yield {"hook_event_name": "PreToolUse", "tool_name": name, "tool_input": given}
        elif self.kind != "read":
            command = {"command": first if self.kind == "failure" else self.text}
            call = {"tool_name": "Bash", "tool_input": command}
            yield {"hook_event_name": "PreToolUse", **call}
            if self.kind == "failure":
                yield {"hook_event_name": "PostToolUseFailure", **call, "error": rest}


class Learnt(NamedTuple):
    """A lesson of a session about a trap."""

    trap: str
    lesson: NewPattern


class Session(NamedTuple):
    """A session of an agent; `confirms` are traps that it knew and saw to be there."""

    day: int
    agent: str
    task: str
    question: str
    steps: Sequence[Step]
    learnt: Sequence[Learnt]
    confirms: frozenset[str]


class Work(NamedTuple):
    """The sessions of a fleet, in their order."""

    name: str
    sessions: Sequence[Session]


class Repeat(NamedTuple):
    """A mistake about to be repeated, and where a lesson of its trap was shown before, "" for
    nowhere.
    """

    work: str
    day: int
    agent: str
    trap: str
    place: str


@dataclass
class Outcome:
    """What an arm told; `tokens` are those that each session read, in order."""

    repeats: list[Repeat] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


def read_works(path: Path) -> tuple[list[Work], list[Step]]:
    """Return the fleets of a file, and its ordinary steps."""
    content = json.loads(path.read_text(encoding="utf-8"))
    works = [
        Work(story["name"], [_session(one) for one in story["sessions"]])
        for story in content["stories"]
    ]
    return works, [Step(*text.split(": ", 1)) for text in content["ordinary"]]


def _session(sent: dict[str, Any]) -> Session:  # Any: JSON of a file
    return Session(
        day=sent["day"],
        agent=sent["agent"],
        task=sent["task"],
        question=sent["question"],
        steps=[Step(one["kind"], one["text"], one.get("trap", "")) for one in sent["steps"]],
        learnt=[
            Learnt(
                one["trap"], NewPattern.model_validate({name: one[name] for name in LESSON_FIELDS})
            )
            for one in sent["learned"]
        ],
        confirms=frozenset(sent["confirms"]),
    )


class Life:
    """A fleet at work under one arm, on a store in a folder of its own."""

    def __init__(self, arm: Arm, embedder: Embedder, folder: Path) -> None:
        self.arm: Final = arm
        self.folder: Final = folder
        self.store: Final = SqliteStore(folder / "memory.db")
        self.now = START
        fleet = Fleet.on(self.store, "default", embedder, lambda: self.now)
        sharing: Literal["knowledge", "lessons"] = "knowledge" if arm == "knowledge" else "lessons"
        self.fleet: Final = replace(fleet, default_sharing=sharing)
        self.traps: Final = dict[str, str]()  # of the texts that were stored
        self.file = ""

    async def lived(self, work: Work) -> Outcome:
        """Live all days and return what was told."""
        outcome = Outcome()
        days = [session.day for session in work.sessions]
        for day in range(min(days), max(days) + 1):
            for number, session in enumerate(each for each in work.sessions if each.day == day):
                self.now = START + timedelta(days=day, hours=number)
                met = await AtWork(self, session, f"{session.agent}-{day}-{number}").met(outcome)
                outcome.repeats += [
                    Repeat(work.name, day, session.agent, trap, place)
                    for trap, place in met.items()
                ]
            self.now = START + timedelta(days=day, hours=15)
            await maintain_fleet(self.fleet, no_progress)
        return outcome

    def told(self, text: str) -> set[str]:
        """Return the traps whose lessons a text has."""
        return {trap for lesson, trap in self.traps.items() if lesson in text}


class AtWork:
    """One session of a life."""

    def __init__(self, life: Life, session: Session, id_: str) -> None:
        self._life, self._session, self._id = life, session, id_
        self._fleet = replace(life.fleet, caller=Caller(session.agent))
        self._known = frozenset(life.traps.values())
        self._places = dict[str, str]()  # where each trap was told first
        self._keys = dict[str, str]()  # of what the recall brought, by trap
        self._tokens = 0

    async def met(self, outcome: Outcome) -> Mapping[str, str]:
        """Work, and return the known traps that were met, each with where it was told before, ""
        for nowhere.
        """
        await self.start()
        if self._life.arm != "a shared file":
            await self._recall()
        met = dict[str, str]()
        for step in self._session.steps:
            if step.trap in self._known:
                met.setdefault(step.trap, self._places.get(step.trap, ""))
            if self._life.arm == "and hooks":  # whose context comes beside the call's result
                self._call(step)
        outcome.tokens.append(self._tokens)
        self._life.now += SESSION
        await self._leave()
        return met

    def _read(self, place: str, text: str) -> None:
        self._tokens += -(-len(text.encode()) // BYTES_PER_TOKEN)
        for trap in self._life.told(text):
            self._places.setdefault(trap, place)

    async def start(self) -> None:
        """Read what the memory shows at the start."""
        life, session = self._life, self._session
        if life.arm == "a shared file":
            self._read("start", life.file)
        elif life.arm == "and hooks":
            for event, more in (
                ("SessionStart", {"source": "startup"}),
                ("UserPromptSubmit", {"prompt": session.task}),
            ):
                self._read("start", await self._hook(event, more))
        else:
            self._read(
                "start", _text(await gsp_bootstrap(self._fleet, session.agent, task=session.task))
            )

    async def _recall(self) -> None:
        answer = await recall_memory(self._fleet, self._session.agent, query=self._session.question)
        self._read("recall", _text(answer))
        for own in answer.patterns or ():
            self._keys |= dict.fromkeys(self._life.told(own.pattern), str(own.id))
        for known in answer.knowledge or ():
            self._keys |= dict.fromkeys(self._life.told(known.pattern), known.key)
        for other in answer.others or ():
            self._keys |= dict.fromkeys(self._life.told(other.pattern), other.key)

    async def _hook(self, event: str, more: Mapping[str, object]) -> str:
        output = await answer_hook(
            self._settings(), event, {**self._event(event), **more}, HookState(self._life.folder)
        )
        return _context(output)

    def _call(self, step: Step) -> None:
        for event in step.events():
            self._read("hook", self.answered(event))

    def answered(self, event: Mapping[str, object]) -> str:
        """Return what the hook on tools says to an event, "" for nothing."""
        whole = {**self._event(str(event["hook_event_name"])), **event}
        return _context(moment.answer_call(whole, self._life.folder))

    def _event(self, name: str) -> dict[str, object]:
        folder = str(self._life.folder)
        return {"session_id": self._id, "hook_event_name": name, "cwd": folder}

    def _settings(self) -> Settings:
        flags = {
            "store": str(self._life.folder / "memory.db"),
            "program": self._session.agent,
            "now": self._life.now.isoformat(),
            "maintenance": "off",
        }
        return load(flags, {})

    async def _leave(self) -> None:
        fleet, session = self._fleet, self._session
        for learnt in session.learnt:
            self._life.traps[learnt.lesson.pattern] = learnt.trap
            self._life.file += f"* {learnt.lesson.pattern} ({learnt.lesson.evidence})\n"
        if self._life.arm == "a shared file":
            return
        for trap in sorted(session.confirms & self._keys.keys()):
            evidence = f"Saw it again while at: {session.task}"
            await reinforce_memory(fleet, session.agent, self._keys[trap], evidence=evidence)
        for learnt in session.learnt:
            await store_memory(fleet, session.agent, learnt.lesson)
        shown = await pattern_consolidate(fleet, no_progress, session.agent)
        traps = self._life.traps

        def verdict(one: str, other: str) -> str:
            return "same" if traps[one] == traps[other] else "different"

        verdicts = tuple(
            NewVerdict.model_validate(
                {"pairId": pair.pair_id, "verdict": verdict(pair.a.pattern, pair.b.pattern)}
            )
            for pair in shown.to_judge or ()
        )
        await pattern_consolidate(fleet, no_progress, session.agent, verdicts=verdicts, limit=0)


def _text(answer: Value) -> str:
    return json.dumps(answer.wire(), ensure_ascii=False, separators=(",", ":"))


def _context(output: str) -> str:
    """Return what a hook adds to the agent's context."""
    if not output:
        return ""
    said = json.loads(output)
    return str(said["hookSpecificOutput"]["additionalContext"])


async def spoken(life: Life, steps: Sequence[Step]) -> list[tuple[Step, str]]:
    """Return what the hook says at steps of an agent that has lived so, each as the first of a
    session.
    """
    at_work = AtWork(life, Session(0, "somebody", "", "", (), (), frozenset()), "ordinary")
    await at_work.start()
    shown = anyio.Path(life.folder / "moments" / "ordinary.shown")
    said = list[tuple[Step, str]]()
    for step in steps:
        await shown.unlink(missing_ok=True)
        said += [(step, line) for event in step.events() if (line := at_work.answered(event))]
    return said


def row(arm: Arm, outcomes: Sequence[Outcome]) -> tuple[str | float, ...]:
    """Return a row of `HEADER`."""
    repeats = [repeat for outcome in outcomes for repeat in outcome.repeats]
    places = Counter(repeat.place for repeat in repeats)
    told = len(repeats) - places[""]
    tokens = [round(mean(outcome.tokens)) for outcome in outcomes]
    last = [round(mean(outcome.tokens[-5:])) for outcome in outcomes]
    shown = (places[name] for name in PLACES)
    return arm, len(repeats), told, *shown, round(mean(tokens)), round(mean(last))


async def measured(
    works: Sequence[Work], ordinary: Sequence[Step]
) -> tuple[dict[Arm, list[Outcome]], dict[Step, str]]:
    """Return the outcomes of all works by arm, and what the hook said at ordinary steps."""
    embedder = MiniLM()
    outcomes: dict[Arm, list[Outcome]] = {arm: [] for arm in ARMS}
    noise = dict[Step, str]()
    for arm in ARMS:
        for work in works:
            with TemporaryDirectory() as folder:
                life = Life(arm, embedder, Path(folder))
                try:
                    outcomes[arm].append(await life.lived(work))
                    if arm == "and hooks":
                        noise |= dict(await spoken(life, ordinary))
                finally:
                    await life.store.close()
    return outcomes, noise


def main() -> None:
    """Print a row for each arm, what the hook said at ordinary steps, and the missed repeats; exit
    with 1 when a gate is missed.
    """
    parser = argparse.ArgumentParser(description="Measure how many repeated mistakes were told.")
    parser.add_argument(
        "files", type=Path, nargs="*", help="all of benchmarks/repeats/ when absent"
    )
    parser.add_argument("--missed", action="store_true", help="name the repeats that were not told")
    given = parser.parse_args()
    paths = given.files or sorted((FOLDER / "repeats").glob("*.json"))
    read = [read_works(path) for path in paths]
    works = [work for each, _ in read for work in each]
    outcomes, noise = anyio.run(measured, works, [step for _, steps in read for step in steps])
    table(
        "Repeated mistakes that were told before", HEADER, [row(*each) for each in outcomes.items()]
    )
    steps = sum(len(steps) for _, steps in read)
    print(f"\nThe hook speaks at {len(noise)} of {steps} ordinary steps.")
    for step, line in noise.items():
        print(f"* {step.text.splitlines()[0]} -> {line}")
    missed = [each for one in outcomes["and hooks"] for each in one.repeats if not each.place]
    if given.missed:
        print("\nNot told:", *missed, sep="\n* ")
    told = 1 - len(missed) / sum(len(one.repeats) for one in outcomes["and hooks"])
    is_quiet = len(noise) * 200 <= MAX_SPOKEN * steps
    raise SystemExit(0 if told >= MIN_TOLD and is_quiet else "missed")


if __name__ == "__main__":
    main()
