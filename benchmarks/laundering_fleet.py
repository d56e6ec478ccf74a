"""A fleet of careless but honest agents on the real tools, for benchmarks/laundering.py.

Every agent answers `same` to each pair that it is shown, unless one of the texts is among `others`:
lessons of their own. One SQLite file, a clock that the fleet moves, vectors of letters.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar, get_args

from anyio import to_thread
from pydantic import TypeAdapter, ValidationError

from fleet_memory import __version__
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.importing import import_foreign, read_foreign
from fleet_memory.importing.texts import ForeignMemory
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import set_policy
from fleet_memory.jobs.transfer.files import Line, export_text, file_text, parsed_file
from fleet_memory.jobs.transfer.merging import import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.rules.asking import with_shown
from fleet_memory.rules.entries import doubts, entry_state, origins
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.knowledge import Entry, Position
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller, Role
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import ToJudge, pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.knowledge import gsp_diff, gsp_read, gsp_search
from fleet_memory.tools.session import SessionAnswer, commit_session
from fleet_memory.tools.state import ContextSummary, get_program_state

START: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
STEP: Final = timedelta(minutes=11)  # between two calls: longer than a call may be repeated
QUESTION: Final = "claim a task"
MAX_ROUNDS: Final = 40  # of asking everybody; the stories end far sooner

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Agent:
    """One agent: its program, the session and connection it works in, and the fleet as it calls
    it.
    """

    world: "World"
    program_id: str
    fleet: Fleet

    async def stores(
        self, text: str, *, sure: float = 0.8, evidence: str | None = None, **fields: str
    ) -> None:
        """Store a lesson with evidence of its own, unless that is given; `fields` are others as the
        tool names them.
        """
        saw = f"{self.program_id} saw it on day {self.world.day}" if evidence is None else evidence
        sent = {"pattern": text, "domain": "tasks", "confidence": sure, "evidence": saw, **fields}
        lesson = NewPattern.model_validate(sent)
        await self.world.call(lambda: store_memory(self.fleet, self.program_id, lesson))

    async def confirms(self, *keys: str, evidence: str = "seen again") -> None:
        """Confirm entries, or other programs' lessons, by their keys; all entries for none."""
        for key in keys or [entry.key for entry in await self.world.entries()]:
            word = partial(reinforce_memory, self.fleet, self.program_id, key, evidence=evidence)
            await self.world.call(word)

    async def asks(self) -> Sequence[str]:
        """Ask its memory, and return the keys of the lessons of others that it is shown."""
        recall = partial(recall_memory, self.fleet, self.program_id, query=QUESTION)
        found = await self.world.call(recall)
        return [other.key for other in (found and found.others) or ()]

    async def boots(self, task: str | None = None) -> Sequence[ToJudge]:
        """Begin a session; return the pairs that it is shown."""
        boot = partial(gsp_bootstrap, self.fleet, self.program_id, task=task)
        booted = await self.world.call(boot)
        return booted.to_judge or () if booted else ()

    async def commits(
        self, verdicts: Sequence[NewVerdict] = (), handover: str = ""
    ) -> SessionAnswer | None:
        """End a session with a handover and verdicts."""
        request = f"session-{next(self.world.numbers)}"
        summary = ContextSummary.model_validate({"handoffNotes": handover}) if handover else None
        return await self.world.call(
            lambda: commit_session(
                self.fleet,
                self.program_id,
                request_id=request,
                context_summary=summary,
                verdicts=tuple(verdicts),
            )
        )

    async def judges(self) -> int:
        """Answer every pair that its boots of two sessions show it; return how many these were.

        A judge commits no session.
        """
        booted = await self.boots()
        if self.fleet.caller.role == "judge":
            await self.answers([pair.pair_id for pair in booted])
            return len(booted)
        await self.commits([self.world.verdict(pair) for pair in booted])
        again = await self.boots() if booted else ()
        if again:
            await self.commits([self.world.verdict(pair) for pair in again])
        return len(booted) + len(again)

    async def answers(self, pairs: Sequence[str]) -> None:
        """Call pairs of these ids the same, in one call; count those that are refused."""
        verdicts = tuple(
            NewVerdict.model_validate({"pairId": pair, "verdict": "same"}) for pair in pairs
        )
        answer = await self.world.call(
            lambda: pattern_consolidate(
                self.fleet, no_progress, self.program_id, verdicts=verdicts, limit=0
            ),
            refusals=len(verdicts),
        )
        if answer:
            self.world.refused += sum(one.error is not None for one in answer.judged or ())

    async def reads(self, door: str) -> None:
        """Read the fleet's knowledge by one of its doors: recall, search, read, diff or boot."""
        fleet, call = self.fleet, self.world.call
        match door:
            case "recall":
                await call(
                    lambda: recall_memory(fleet, self.program_id, scope="shared", query=QUESTION)
                )
            case "search":
                await call(lambda: gsp_search(fleet, QUESTION))
            case "read":
                for entry in await self.world.entries():
                    await call(partial(gsp_read, fleet, entry.key))
            case "diff":
                await call(lambda: gsp_diff(fleet, 0))
            case _:
                await self.boots()

    async def reads_memory_of(self, other: str) -> None:
        """Read another program's handover, lessons and boot, as far as it may."""
        await self.world.call(lambda: get_program_state(self.fleet, other))
        await self.world.call(lambda: recall_memory(self.fleet, other, scope="own"))
        await self.world.call(lambda: gsp_bootstrap(self.fleet, other))


class World:
    """One fleet, its time and its agents."""

    def __init__(self, store: Store) -> None:
        self.at = START
        self.refused = 0
        self.others: set[str] = set()
        self.silent: set[Agent] = set()
        self.differ: set[frozenset[str]] = set()
        self._store = store
        self._agents: dict[tuple[str, str | None, str | None], Agent] = {}
        self.numbers = count(1)

    @property
    def day(self) -> int:
        """The day, from 0."""
        return (self.at - START).days

    def fleet(self, caller: Caller | None = None) -> Fleet:
        """Return the fleet as a process of its own has it, with nothing cached."""
        return Fleet.on(self._store, "default", Lexical(), lambda: self.at, caller or Caller())

    def agent(
        self,
        program_id: str,
        *,
        over: str | None = None,
        session: str | None = None,
        role: Role = "agent",
    ) -> Agent:
        """Return an agent that is bound to its program, or works over the unbound connection
        `over`.

        Its sessions are its own unless the client names one. Raises InvalidArgumentError for a name
        that is none.
        """
        try:
            TypeAdapter(Name).validate_python(program_id)
        except ValidationError as error:
            raise InvalidArgumentError(f"programId: {program_id!r} is no name") from error
        known = (program_id, over, session)
        if known not in self._agents:
            own = session or f"{program_id}/session-{next(self.numbers)}"
            caller = Caller(
                None if over else program_id, role, connection=over, client="bench", session_id=own
            )
            self._agents[known] = Agent(self, program_id, self.fleet(caller))
        return self._agents[known]

    def agents(self, *program_ids: str) -> list[Agent]:
        """Return bound agents."""
        return [self.agent(name) for name in program_ids]

    def agent_if_named(self, program_id: str) -> Agent | None:
        """Return an agent of this name; None if it is refused as a name, which counts."""
        try:
            return self.agent(program_id)
        except InvalidArgumentError:
            self.refused += 1
            return None

    async def show(self, program_id: str, number: int) -> None:
        """Let a program have been shown so many other texts."""
        texts = {text_hash(f"text {one}"): self.at for one in range(number)}
        await self.fleet().programs.update(
            program_id, lambda known: ProgramChange(with_shown(known, texts)), self.at
        )

    async def call(self, call: Callable[[], Awaitable[_T]], refusals: int = 1) -> _T | None:
        """Return the result of a call; None for one that is refused, which counts."""
        self.at += STEP
        try:
            return await call()
        except FleetMemoryError:
            self.refused += refusals
            return None

    async def night(self) -> None:
        """Let the maintainer run, and begin the next day."""
        self.at = max(self.at, START + timedelta(days=self.day, hours=13))
        await maintain_fleet(self.fleet(), no_progress)
        self.at = START + timedelta(days=self.day + 1)

    async def set_policy(self, *words: str) -> None:
        """Set values of the policy, as people do."""
        await set_policy(self.fleet(), words)

    async def retire(self) -> None:
        """Take every entry out of use, as people do."""
        for entry in await self.entries():
            await retire_entry(self.fleet(), entry.key, "it holds no longer")

    async def forget(self, program_id: str) -> None:
        """Delete a program, as people do."""
        await delete_program(self.fleet(), program_id)

    async def settle(self) -> None:
        """Ask everybody but the silent, day by day, until no question is left."""
        for _ in range(MAX_ROUNDS):
            await self.night()
            if not sum(
                [
                    await agent.judges()
                    for agent in tuple(self._agents.values())
                    if agent not in self.silent
                ]
            ):
                await self.night()
                return
        raise AssertionError("they are asked for ever")

    def verdict(self, pair: ToJudge) -> NewVerdict:
        """Return the answer of a careless reader to a pair."""
        texts = {pair.a.pattern, pair.b.pattern}
        verdict: Verdict = (
            "different" if texts & self.others or frozenset(texts) in self.differ else "same"
        )
        return NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})

    async def entries(self) -> list[Entry]:
        """Return every entry, candidates and retired ones too."""
        return [one.entry for one in await self.fleet().knowledge.all() if one.entry is not None]

    async def takes_notes(self, source: str, file: str, content: str) -> None:
        """Import another program's memory, a file of one text, as people do; each makes a program
        of the tool's name.
        """

        def read() -> ForeignMemory:
            with TemporaryDirectory() as folder:
                (Path(folder) / file).write_text(content, encoding="utf-8")
                return read_foreign(source, Path(folder) / file)

        memory = await to_thread.run_sync(read)
        await import_foreign(self.fleet(), memory, source, dry_run=False)

    async def export(self) -> list[Line]:
        """Return the lines of an export."""
        text, _ = await export_text(self.fleet())
        return [Line(**json.loads(line)) for line in text.splitlines()[1:-1]]

    async def import_lines(self, lines: Iterable[Line]) -> None:
        """Import lines as a file of another fleet, as people do."""
        text, _ = file_text("elsewhere", __version__, self.at.isoformat(), lines)
        memory = exported_memory(parsed_file(text.encode()), self.at)
        await import_memory(self.fleet(), memory, overwrite=False, with_policy=False)

    async def outcome(self) -> str:
        """Return the entries in one line, e.g. "fresh, discovered by basher, iso"; "nothing" for
        none.
        """
        lines = Counter(
            _line(entry, self.at)
            for entry in await self.entries()
            if origins(entry) or entry.retired_at
        )
        told = [
            f"{number} x {line}" if number > 1 else line for line, number in sorted(lines.items())
        ]
        refused = [f"{self.refused} refused"] if self.refused else []
        return "; ".join([*refused, *(told or ["nothing"])])


def _line(entry: Entry, now: datetime) -> str:
    """Return the state of an entry and its origins by position; programs of one origin as a = b."""
    state, reasons = entry_state(entry, now), ", ".join(doubts(entry))
    if state == "retired":
        return state
    said = [f"{state} ({reasons})" if reasons and state == "verify" else state]
    for position in get_args(Position):
        found = [each for each in origins(entry) if each.position == position]
        names = sorted(" = ".join(sorted(each.programs)) for each in found)
        said += [f"{position} by {', '.join(names)}"] if names else []
    return ", ".join(said)


def id_of_pair(one: str, other: str) -> str:
    """Return the id that the pair of two texts has, as anybody who knows both can compute it."""
    return pair_id(text_hash(one), text_hash(other))


@asynccontextmanager
async def opened_world() -> AsyncIterator[World]:
    """Open a new world, and remove it in the end."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        try:
            yield World(store)
        finally:
            await store.close()
