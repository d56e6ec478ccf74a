"""The vocabulary of `tests/plain_fleet.py`, lived by the package itself on one SQLite file.

Each program calls as itself, at the time of its own clock, and two maintainers take runs in turn. A verdict is about
the pair of both texts as they are now; the pair is opened where no run has done that.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from fleet_memory.errors import FleetMemoryError
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.curation import reinstate_entry, retire_entry, reword_entry
from fleet_memory.jobs.judging import Judge, Refused, judge
from fleet_memory.jobs.maintenance import propose_if_free
from fleet_memory.jobs.policy import apply_policy, set_policy
from fleet_memory.jobs.rewrites import rewrite_pair_id
from fleet_memory.jobs.splitting import split_entry
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.policies import Policies
from fleet_memory.rules.consensus.showing import with_shown
from fleet_memory.rules.guard import objection
from fleet_memory.rules.knowledge.entries import oldest_contributor
from fleet_memory.rules.knowledge.state import entry_state
from fleet_memory.rules.knowledge.votes import votes, voting
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import NewVerdict, Pair
from fleet_memory.schemas.pairs import Side as PairSide
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.reinforce_memory import reinforce_memory
from fleet_memory.tools.store_memory import store_memory
from tests.histories import Facts, History, Json, compare, moment
from tests.plain_entry import RefusedError
from tests.plain_fleet import Side

FLEET = "default"
WHY = "the history says so"

_T = TypeVar("_T")


class OutsiderError(RefusedError):
    """The judge has no lesson on either side; such a third program is asked by no call yet."""


class Resolved(NamedTuple):
    """A side of a verdict as it is: the entry that its lesson is in, else the lesson; `own` is the lesson's text."""

    side: PairSide
    own: str


class RealFleet:
    """A fleet on a SQLite file, for one history. Close it at the end."""

    def __init__(self, path: Path) -> None:
        self.store_ = SqliteStore(path)
        self._embedder = Lexical()
        self._maintainers = [self._fleet(), self._fleet()]

    async def start(self, at: datetime, *, threshold: int = 2, origins: str = "program") -> None:
        """Set the policy that the history begins with."""
        await self.set_policy(at=at, threshold=threshold, origins=origins)

    async def close(self) -> None:
        """Close the store."""
        await self.store_.close()

    def _fleet(self, at: datetime | None = None, caller: Caller | None = None) -> Fleet:
        return Fleet.on(self.store_, FLEET, self._embedder, lambda: at or datetime.min, caller or Caller())

    def _of(self, program: str, at: datetime, session: str | None, connection: str | None) -> Fleet:
        return self._fleet(at, Caller(None if connection else program, connection=connection, session_id=session))

    # Programs

    async def store(
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
        sent = {"id": lesson_id, "pattern": text, "domain": "tasks", "confidence": confidence, "evidence": evidence}
        lesson = NewPattern.model_validate(sent | ({"projectId": project} if project else {}))
        await store_memory(self._of(program, at, session, connection), program, lesson)

    async def show(self, program: str, text: str, at: datetime) -> None:
        def shown(known: Program) -> ProgramChange:
            return ProgramChange(with_shown(known, {text_hash(text): at}))

        await self._fleet(at).programs.update(program, shown, at)

    async def word(
        self,
        program: str,
        target: Side,
        outcome: Outcome,
        evidence: str = "",
        *,
        at: datetime,
        session: str | None = None,
        connection: str | None = None,
    ) -> None:
        fleet = self._of(program, at, session, connection)
        lesson = await self._lesson(program, target[1]) if target[0] == "lesson" else None
        about = lesson.id if lesson else (await self._entry(target[1])).key
        await accepted(lambda: reinforce_memory(fleet, program, about, None, evidence, outcome))

    # Verdicts

    async def verdict(
        self,
        judge: str | None,
        one: Side,
        other: Side | None = None,
        verdict: str = "same",
        *,
        at: datetime,
        connection: str | None = None,
    ) -> None:
        if one[0] == "rewrite":
            pair = rewrite_pair_id(await self._lesson(*one[1:]))
        else:
            assert other is not None
            pair = await self._opened(one, other, at)
        if pair is None:
            raise RefusedError("no rewrite is open")
        await self._judge(Judge(judge, connection), pair, verdict, at)

    async def _judge(self, judge_: Judge, pair: str, verdict: str, at: datetime) -> None:
        wanted = NewVerdict.model_validate({"pairId": pair, "verdict": verdict})
        [judged] = await judge(self._fleet(at), judge_, [wanted])
        if isinstance(judged, Refused):
            is_outsider = "is not about a lesson of" in str(judged.error)
            raise (OutsiderError if is_outsider else RefusedError)(str(judged.error))

    async def _opened(self, one: Side, other: Side, at: datetime) -> str:
        """Return the id of the pair of both sides, opened as a run opens it unless it is about these sides already."""
        left, right = await self._resolved(one), await self._resolved(other)
        inside = left.side.key is not None and left.side.key == right.side.key
        texts = (left.own, right.own) if inside else (left.side.text, right.side.text)
        words = sorted(set(map(text_hash, texts)))
        if len(words) < 2:
            raise RefusedError("equal words are the same, unasked")
        pairs = self._fleet().pairs
        [versioned] = await pairs.read(pair_id(*words))
        if not inside and not await self._is_joined(versioned):
            await self.store_.commit(pairs.write(versioned, _about(versioned, left.side, right.side, at)))
        return versioned.pair_id

    async def _is_joined(self, versioned: VersionedPair) -> bool:
        """Whether a lesson of the pair is in an entry by its verdict; the pair stays about that one then."""
        if versioned.pair is None:
            return False
        named = {(side.program_id, side.pattern_id) for side in (versioned.pair.a, versioned.pair.b)}
        lines = [line for entry in await self._entries() for line in entry.provenance]
        return any(line.pair == versioned.pair_id and (line.program_id, line.pattern_id) in named for line in lines)

    async def _resolved(self, side: Side) -> Resolved:
        if side[0] == "entry":
            entry = await self._entry(side[1])
            return Resolved(_entry_side(entry), entry.value.pattern)
        pattern = await self._lesson(*side[1:])
        entries = await self._entries()
        own = pattern.rewrite.voting_text if pattern.rewrite else pattern.pattern
        for entry in entries:
            if entry.key == pattern.knowledge_key:
                return Resolved(_entry_side(entry), own)
        for entry in entries:
            if text_hash(entry.value.pattern) == pattern.words:
                return Resolved(_entry_side(entry), own)
        return Resolved(
            PairSide(
                program_id=side[1],
                pattern_id=pattern.id,
                domain=pattern.domain,
                text=pattern.pattern,
                evidence=pattern.evidence,
            ),
            own,
        )

    # The maintainers and people

    async def propose(self, at: datetime) -> None:
        maintainer = self._maintainers[0]
        self._maintainers.reverse()
        policies = Policies(self.store_, maintainer.knowledge.paths)  # nothing cached: a minute may not have passed
        fleet = replace(maintainer, now=lambda: at, policies=policies)
        report = await propose_if_free(fleet, await policies.read(at), no_progress, dry_run=False)
        assert report is not None
        assert report.skipped == []

    async def set_policy(self, *, at: datetime, threshold: int | None = None, origins: str | None = None) -> None:
        given = {"threshold": threshold, "origins": origins}
        words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
        await accepted(lambda: set_policy(self._fleet(at), words))

    async def apply_policy(self, at: datetime) -> None:
        await apply_policy(self._fleet(at))

    async def retire(self, text: str, at: datetime) -> None:
        key = (await self._entry(text)).key
        await retire_entry(self._fleet(at), key, WHY)

    async def reinstate(self, text: str, at: datetime) -> None:
        key = (await self._entry(text)).key
        await reinstate_entry(self._fleet(at), key, WHY)

    async def reword(self, text: str, new_text: str, at: datetime) -> None:
        key = (await self._entry(text)).key
        await accepted(lambda: reword_entry(self._fleet(at), key, new_text, WHY))

    async def split(self, text: str, program: str, at: datetime) -> None:
        key = (await self._entry(text)).key
        await accepted(lambda: split_entry(self._fleet(at), key, program, None, WHY))

    # Reading

    async def facts(self, now: datetime) -> Facts:
        """Return everything that a check of a history may name."""
        policy = (await self._fleet().policies.read_versioned()).policy
        entries = await self._entries()
        lines: Json = {}
        for entry in entries:
            is_published = entry.published_at is not None and votes(entry) >= entry.threshold
            count = votes(entry, entry.origins if is_published else policy.origins)
            programs = sorted({line.program_id for line in voting(entry)})
            lines[entry.value.pattern] = [entry_state(entry, now), programs, count]
        return Facts(
            entries=lines,
            projects={entry.value.pattern: entry.project_id for entry in entries},
            learnt_again={entry.value.pattern: entry.relearnt for entry in entries},
        )

    async def _entries(self) -> list[Entry]:
        return [one.entry for one in await self._fleet().knowledge.all() if one.entry is not None]

    async def _entry(self, text: str) -> Entry:
        entries = await self._entries()
        exact = [entry for entry in entries if entry.value.pattern == text]
        equal = [entry for entry in entries if text_hash(entry.value.pattern) == text_hash(text)]
        if not (exact or equal):
            raise RefusedError(f"no entry says: {text}")
        return (exact or equal)[0]

    async def _lesson(self, program: str, lesson_id: str) -> Pattern:
        pattern = (await self._fleet().programs.read(program)).patterns.get(lesson_id)
        if pattern is None:
            raise RefusedError(f"{program} has no lesson {lesson_id}")
        return pattern


async def accepted(call: Callable[[], Awaitable[_T]]) -> _T:
    """Return what a call returns. Raises RefusedError for one that the fleet refuses."""
    try:
        return await call()
    except FleetMemoryError as error:
        raise RefusedError(str(error)) from error


def _entry_side(entry: Entry) -> PairSide:
    value = entry.value
    return PairSide(program_id=oldest_contributor(entry), key=entry.key, domain=value.domain, text=value.pattern)


def _about(known: VersionedPair, a: PairSide, b: PairSide, at: datetime) -> Pair:
    if known.pair is not None:
        state = "open" if known.pair.state == "gone" else known.pair.state
        return replace(known.pair, a=a, b=b, state=state)
    return Pair(pair_id=known.pair_id, a=a, b=b, objection=objection(a.text, b.text) or "", opened_at=at)


async def mismatches_of_real(history: History, path: Path) -> list[str]:
    """Live a history on the package; return each check that fails, in words."""
    fleet = RealFleet(path)
    try:
        await fleet.start(moment(history.steps[0]), **history.policy)
        failed = [problem for step in history.steps if (problem := await live_real(fleet, step))]
    finally:
        await fleet.close()
    return [f"{history.title}: {problem}" for problem in failed]


async def live_real(fleet: RealFleet, step: Json) -> str:
    """Take one step; return the difference where it is a check that fails, else nothing."""
    given = {name: value for name, value in step.items() if name not in {"do", "day"}}
    if step["do"] == "check":
        return compare(await fleet.facts(moment(step)), given)
    await getattr(fleet, step["do"])(**given, at=moment(step))
    return ""
