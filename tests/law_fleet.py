"""The package as a `World`: its tools and jobs on one SQLite file, at the time of a clock of its own.

Agents call the functions of the tools, people and the maintainer the jobs behind their commands.
Only `entry_view` and `pair_view` read how documents are shaped.
"""

import hashlib
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar, Unpack

import numpy as np
from pydantic import ValidationError

from fleet_memory.clock import StoreClock
from fleet_memory.errors import FleetMemoryError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.importing import import_foreign
from fleet_memory.importing.texts import ForeignMemory, ForeignText
from fleet_memory.jobs.curation import allow_lesson, reinstate_entry, retire_entry, reword_entry
from fleet_memory.jobs.deletion import delete_program
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.judging import Judge, Refused
from fleet_memory.jobs.judging import judge as judge_pairs
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.policy import apply_policy, set_policy
from fleet_memory.jobs.transfer.files import export_text, parsed_file
from fleet_memory.jobs.transfer.merging import import_memory
from fleet_memory.jobs.transfer.reading import exported_memory
from fleet_memory.rules.asking import chosen_questions, differs
from fleet_memory.rules.entries import doubts, entry_state, is_unconfirmed, origins
from fleet_memory.rules.pairs import questions
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import Profile
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import NewVerdict, Pair
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.stores import Store, Write
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import ConsolidateAnswer, asked_pairs, pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.session import SessionAnswer, commit_session
from fleet_memory.tools.state import forget_memory
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
from tests.wrapped import ForwardingStore

FLEET: Final = "default"
START: Final = datetime.fromisoformat("2026-03-01T09:00:00+00:00")
STEP: Final = timedelta(seconds=1)  # that a step takes, so that no two are at one time
WHY: Final = "the history says so"
DIMENSIONS: Final = 384
NEARNESS: Final = 0.8  # share of a text's sets in its vector, the rest is its own
# Questions meet texts alone, which are all that a history names.
PROFILE: Final = Profile(review=0.20, context_share=0.0)

Json = Mapping[str, object]
_T = TypeVar("_T")


@dataclass(frozen=True)
class NearTexts:
    """See `Embedder`. Texts of one set are near each other, all others have nearly nothing in common.

    A text may be in several sets, e.g. B in [A, B] and [B, C], where A and C are far.
    """

    near: Sequence[Collection[str]] = ()
    name: str = "test/1"
    profile: Profile = PROFILE
    degraded: str = ""

    async def check(self) -> None:
        """See `Embedder.check`."""

    async def ready(self) -> None:
        """See `Embedder.ready`."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        return np.array([self._vector(text) for text in texts], np.float32).reshape(
            len(texts), DIMENSIONS
        )

    def _vector(self, text: str) -> Vectors:
        own = direction(text)
        sets = [direction("\n".join(sorted(each))) for each in self.near if text in each]
        if not sets:
            return own
        shared: Vectors = sum(sets, np.zeros(DIMENSIONS, np.float32))
        vector: Vectors = (
            NEARNESS * shared / np.float32(np.linalg.norm(shared)) + (1 - NEARNESS) * own
        )
        return vector / np.float32(np.linalg.norm(vector))


def direction(name: str) -> Vectors:
    """Return a vector of length 1 that is as good as at right angles to that of any other name."""
    seed = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())
    vector: Vectors = np.random.default_rng(seed).standard_normal(DIMENSIONS, np.float32)
    return vector / np.float32(np.linalg.norm(vector))


class OfTime(ForwardingStore):
    """A store with a clock of its own, which sets that of its server with each commit."""

    def __init__(self, store: Store, time: datetime, clock: StoreClock) -> None:
        super().__init__(store)
        self._time = time
        self._clock = clock

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        asked_at = self._clock.uncorrected()
        await super().commit(*writes)
        self._clock.observe(self._time, asked_at)
        return self._time


@dataclass
class FleetWorld:
    """See `World`. Close it at the end, or use it as a context."""

    near: Sequence[Collection[str]] = ()
    now: datetime = START
    folder: TemporaryDirectory[str] = field(
        default_factory=lambda: TemporaryDirectory(prefix="world-", ignore_cleanup_errors=True)
    )

    def __post_init__(self) -> None:
        self.path = Path(self.folder.name, "memory.db")
        self._store = SqliteStore(self.path)
        self._requests = count()
        self._forks: list[FleetWorld] = []
        self._keys: dict[str, str] = {}  # of others' lessons that were shown, by their text

    async def close(self) -> None:
        """Close the store and remove its file."""
        for fork in self._forks:
            await fork.close()
        await self._store.close()
        self.folder.cleanup()

    async def __aenter__(self) -> "FleetWorld":
        await self.set_policy(Policy())
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    # Who calls

    def _fleet(self, caller: Caller | None = None) -> Fleet:
        """Return the fleet as a process of its own has it, a step later: nothing is cached."""
        self.now += STEP
        now = self.now
        engine = NearTexts(self.near)
        return Fleet.on(self._store, FLEET, engine, lambda: now, caller or Caller())

    def _of(self, program: str, session: str | None = None, connection: str | None = None) -> Fleet:
        name = None if connection else program
        return self._fleet(Caller(name, connection=connection, session_id=session))

    # The clock and the policy

    async def later(self, days: float = 0, minutes: float = 0) -> None:
        """See `World.later`."""
        self.now += timedelta(days=days, minutes=minutes)

    async def set_policy(self, policy: Policy, *, apply: bool = False) -> None:
        """See `World.set_policy`."""
        values = vars(policy).items()
        words = [word for name, value in values for word in (name, str(value))]
        await accepted(lambda: set_policy(self._fleet(), words))
        if apply:
            await accepted(lambda: apply_policy(self._fleet()))

    # Programs

    async def store(self, program: str, text: str, **how: Unpack[Stored]) -> None:
        """See `World.store`."""
        if how.get("imported"):
            evidence, project = how.get("evidence", EVIDENCE), how.get("project") or ""
            part = ForeignText(text, text, evidence, ["work"], how.get("tags", ()), project)
            memory = ForeignMemory("notes", [part])
            done = await accepted(
                lambda: import_foreign(self._fleet(), memory, program, dry_run=False)
            )
            if done.left_out:
                raise RefusedError(done.left_out[0].why)
            return
        lesson = await self._sent(program, text, **how)
        fleet = self._of(program, how.get("session"), how.get("connection"))
        await accepted(lambda: store_memory(fleet, program, lesson))

    async def _sent(self, program: str, text: str, **how: Unpack[Stored]) -> NewPattern:
        own = how.get("own")
        fields: Mapping[str, object] = {
            "pattern": text,
            "domain": "work",
            "confidence": how.get("confidence", 0.8),
            "evidence": how.get("evidence", EVIDENCE),
            "id": (await self._own(program, own)).id if own is not None else None,
            "projectId": how.get("project"),
            "change": how.get("change"),
            "tags": [*how.get("tags", ())] or None,
        }
        sent = {name: value for name, value in fields.items() if value is not None}
        try:
            return NewPattern.model_validate(sent)
        except ValidationError as error:
            raise RefusedError(str(error)) from error

    async def boot(
        self, program: str, task: str | None = None, project: str | None = None
    ) -> Found:
        """See `World.boot`."""
        answer = await accepted(
            lambda: gsp_bootstrap(self._of(program), program, task=task, project_id=project)
        )
        return self._found(answer.wire())

    async def recall(self, program: str, question: str, project: str | None = None) -> Found:
        """See `World.recall`."""
        answer = await accepted(
            lambda: recall_memory(self._of(program), program, query=question, project_id=project)
        )
        return self._found(answer.wire())

    def _found(self, answer: Json) -> Found:
        shown = {name: _items(answer, name) for name in ("patterns", "knowledge", "others")}
        self._keys |= {str(one["pattern"]): str(one["key"]) for one in shown["others"]}
        texts = {name: [str(one["pattern"]) for one in items] for name, items in shown.items()}
        return Found(texts["patterns"], texts["knowledge"], texts["others"])

    async def word(
        self,
        program: str,
        text: str,
        outcome: str,
        evidence: str = "",
        *,
        connection: str | None = None,
    ) -> None:
        """See `World.word`."""
        about = await self._named(program, text)
        fleet = self._of(program, None, connection)
        said: Outcome = "confirmed" if outcome == "confirmed" else "contradicted"
        await accepted(lambda: reinforce_memory(fleet, program, about, None, evidence, said))

    async def _named(self, program: str, text: str) -> str:
        """Return the id of the own lesson, else the key of the entry or of another's lesson."""
        own = [one for one in await self._lessons(program) if _is(one.pattern, text)]
        if own:
            return own[0].id
        entries = [one for one in await self._entries() if _is(one.value.pattern, text)]
        if entries:
            return entries[0].key
        key = next((key for shown, key in self._keys.items() if _is(shown, text)), None)
        if key is None:
            raise RefusedError(f"{program} knows nothing that says: {text}")
        return key

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
        """See `World.verdict`."""
        if program is None:
            sent = await self._verdict(a, b, verdict)
            [outcome] = await judge_pairs(self._fleet(), Judge(), [sent])
            if isinstance(outcome, Refused):
                raise RefusedError(str(outcome.error))
            return
        caller = Caller(None if connection else program, connection=connection)
        if role == "judge":
            caller = replace(caller, role="judge")
        await accepted(lambda: gsp_bootstrap(self._fleet(caller), program))
        sent = await self._verdict(a, b, verdict)
        fleet = self._fleet(caller)
        answer: ConsolidateAnswer | SessionAnswer
        if role == "judge":  # it ends no session
            answer = await accepted(
                lambda: pattern_consolidate(fleet, no_progress, program, verdicts=(sent,))
            )
        else:
            request = f"call-{next(self._requests)}"
            answer = await accepted(
                lambda: commit_session(fleet, program, request_id=request, verdicts=(sent,))
            )
        _require_taken(answer.wire())

    async def _verdict(self, a: str, b: str, verdict: str) -> NewVerdict:
        """Return a verdict about the pair of two texts, which a run has made."""
        wanted = {text_hash(a), text_hash(b)}
        for pair in await self._all_pairs():
            if {text_hash(pair.a.text), text_hash(pair.b.text)} == wanted:
                return NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": verdict})
        raise RefusedError(f"no pair is about {a!r} and {b!r}")

    async def end_session(
        self,
        program: str,
        *,
        verdicts: Sequence[tuple[str, str, str]] = (),
        stores: Sequence[dict[str, object]] = (),
    ) -> None:
        """See `World.end_session`."""
        given = [await self._verdict(*each) for each in verdicts]
        lessons = [await self._sent(program, **each) for each in stores]  # type: ignore[arg-type] # arguments of `store`, which the protocol does not type
        answer = await accepted(
            lambda: commit_session(
                self._of(program),
                program,
                request_id=f"call-{next(self._requests)}",
                verdicts=tuple(given),
                patterns=tuple(lessons),
            )
        )
        _require_taken(answer.wire())

    async def forget(self, program: str, text: str) -> None:
        """See `World.forget`."""
        lesson = await self._own(program, text)
        await accepted(lambda: forget_memory(self._of(program), program, lesson.id, WHY))

    async def delete_program(self, program: str) -> None:
        """See `World.delete_program`."""
        await accepted(lambda: delete_program(self._fleet(), program))

    # The maintainer and people

    async def run(self, *, now_ahead_days: float = 0) -> None:
        """See `World.run`."""
        self.now += STEP
        right = self.now
        clock = StoreClock(lambda: right + timedelta(days=now_ahead_days))
        fleet = Fleet.on(
            OfTime(self._store, right, clock), FLEET, NearTexts(self.near), clock, Caller()
        )
        done = await accepted(lambda: maintain_fleet(fleet, no_progress))
        assert done.skipped == (), "nobody else writes, so a run leaves nothing out"

    async def retire(self, text: str) -> None:
        """See `World.retire`."""
        key = (await self._entry(text)).key
        await accepted(lambda: retire_entry(self._fleet(), key, WHY))

    async def reinstate(self, text: str) -> None:
        """See `World.reinstate`."""
        key = (await self._entry(text)).key
        await accepted(lambda: reinstate_entry(self._fleet(), key, WHY))

    async def reword(self, text: str, new: str) -> None:
        """See `World.reword`."""
        key = (await self._entry(text)).key
        await accepted(lambda: reword_entry(self._fleet(), key, new, WHY))

    async def allow(self, program: str, text: str) -> None:
        """See `World.allow`."""
        lesson = await self._own(program, text)
        await accepted(lambda: allow_lesson(self._fleet(), program, lesson.id, WHY))

    async def purge(self, text: str) -> None:
        """See `World.purge`."""
        erased = await accepted(lambda: erase(self._fleet(), Wanted(text=text)))
        assert not erased.left
        assert erased.is_scrubbed

    async def fork(self) -> "FleetWorld":
        """See `World.fork`."""
        other = FleetWorld(self.near, self.now)
        with (
            closing(sqlite3.connect(self.path)) as here,
            closing(sqlite3.connect(other.path)) as there,
        ):
            here.backup(there)
        other._keys = dict(self._keys)
        self._forks.append(other)
        return other

    async def take_in(self, other: World) -> None:
        """See `World.take_in`."""
        assert isinstance(other, FleetWorld)
        self.now = max(self.now, other.now)
        text, _ = await export_text(other._fleet())
        fleet = self._fleet()
        memory = exported_memory(parsed_file(text.encode()), fleet.now())
        await accepted(lambda: import_memory(fleet, memory, overwrite=False, with_policy=False))

    # Reading

    async def entries(self, project: str | None = None) -> Sequence[EntryView]:
        """See `World.entries`."""
        known = {entry.key: entry for entry in await self._entries()}
        return [
            entry_view(entry, known.get(entry.read_through or ""), self.now)
            for entry in known.values()
            if project is None or entry.project_id in (None, project)
        ]

    async def pairs(self) -> Sequence[PairView]:
        """See `World.pairs`."""
        asked: dict[str, set[str]] = {}
        for program in await self._programs():
            for pair_id in await self._asked_of(program):
                asked.setdefault(pair_id, set()).add(program)
        return [
            pair_view(pair, frozenset(asked.get(pair.pair_id, ())))
            for pair in await self._all_pairs()
            if pair.state != "gone"
        ]

    async def everything(self) -> str:
        """See `World.everything`."""
        with closing(sqlite3.connect(self.path)) as db:
            tables = [
                name
                for (name,) in db.execute("select name from sqlite_schema where type = 'table'")
            ]
            rows = [str(row) for table in tables for row in db.execute(f'select * from "{table}"')]  # noqa: S608 names of our own tables
        return "\n".join([*rows, self.path.read_bytes().decode(errors="replace")])

    async def _programs(self) -> list[str]:
        blocks = [block async for block in self._fleet().programs.in_blocks()]
        return [one.program.program_id for block in blocks for one in block.programs]

    async def _lessons(self, program: str) -> list[Pattern]:
        return [*(await self._fleet().programs.read(program)).patterns.values()]

    async def _own(self, program: str, text: str) -> Pattern:
        lessons = [one for one in await self._lessons(program) if _is(one.pattern, text)]
        if not lessons:
            raise RefusedError(f"{program} has no lesson that says: {text}")
        return lessons[0]

    async def _entries(self) -> list[Entry]:
        return [one.entry for one in await self._fleet().knowledge.all() if one.entry is not None]

    async def _entry(self, text: str) -> Entry:
        entries = [one for one in await self._entries() if _is(one.value.pattern, text)]
        if not entries:
            raise RefusedError(f"no entry says: {text}")
        return entries[0]

    async def _all_pairs(self) -> list[Pair]:
        return await self._fleet().pairs.all()

    async def _asked_of(self, program: str) -> list[str]:
        fleet = self._of(program)
        policy = await fleet.policies.read(self.now)
        asked = await asked_pairs(fleet, program, policy, third=True)
        known = await fleet.programs.read(program)
        chosen = chosen_questions(known, asked, self.now)
        return [pair.pair_id for pair in chosen.pairs]


def entry_view(entry: Entry, older: Entry | None, now: datetime) -> EntryView:
    """Return an entry as everybody could see it; `older` is the one that it is read through."""
    named = [(each.position, min(each.programs)) for each in origins(entry)]
    stale: set[str] = {"unconfirmed"} if is_unconfirmed(entry, now) else set()
    return EntryView(
        text=entry.value.pattern,
        state=entry_state(entry, now),
        project=entry.project_id,
        discovered=frozenset(name for position, name in named if position == "discovered"),
        confirmed=frozenset(name for position, name in named if position == "confirmed"),
        contradicted=frozenset(name for position, name in named if position == "contradicted"),
        reasons=frozenset(each.replace("_", " ") for each in (*doubts(entry), *stale)),
        read_through=None if older is None else older.value.pattern,
    )


def pair_view(pair: Pair, asked: frozenset[str]) -> PairView:
    """Return a pair as people could see it."""
    texts = frozenset({pair.a.text, pair.b.text})
    state = "review" if questions(pair).people else pair.state
    return PairView(texts, state, asked, differs(pair.a.text, pair.b.text))


async def accepted(call: Callable[[], Awaitable[_T]]) -> _T:
    """Return the result of a call. Raises RefusedError for one that the fleet refuses."""
    try:
        return await call()
    except FleetMemoryError as error:
        raise RefusedError(f"{error.code}: {error}") from error


def _require_taken(answer: Json) -> None:
    """Raise RefusedError for an item of a session's answer that was not carried out."""
    for name in ("patterns", "judged"):
        for item in _items(answer, name):
            if item.get("error"):
                raise RefusedError(str(item["error"]))


def _items(answer: Json, name: str) -> list[Json]:
    items = answer.get(name) or []
    assert isinstance(items, list)
    return items


def _is(text: str, named: str) -> bool:
    return text_hash(text) == text_hash(named)
