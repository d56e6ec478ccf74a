"""The vocabulary of `tests/plain_fleet.py`, lived by the package itself on one SQLite file.

Each program calls as itself, at the time of its own clock, and two maintainers take runs in turn. A
verdict is about the pair of both texts as they are now; the pair is opened where no run has done
that.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.fleet import Caller, Fleet, no_progress
from fleet_memory.jobs.curation import reinstate_entry, retire_entry, reword_entry, split_entry
from fleet_memory.jobs.judging import Judge, Refused
from fleet_memory.jobs.judging import judge as judge_pairs
from fleet_memory.jobs.maintenance import propose_if_free
from fleet_memory.jobs.policy import apply_policy, set_policy
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.policies import Policies
from fleet_memory.rules.asking import with_shown
from fleet_memory.rules.entries import entry_state, oldest_contributor, votes, voting
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import UNANSWERED, questions
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import NewVerdict, Pair, PairState
from fleet_memory.schemas.pairs import Side as PairSide
from fleet_memory.schemas.patterns import NewPattern, Outcome, Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import JudgedAnswer, ToJudge, pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.session.commit_session import commit_session
from tests.histories import OUTCOMES, Facts, History, Json, compare, compare_outcome, moment
from tests.plain_asking import Answer, Judged, Proposal, Texts, written
from tests.plain_entry import RefusedError, folded, words_of
from tests.plain_pair import Side

FLEET = "default"
WHY = "the history says so"

PAIR_STATES: tuple[PairState, ...] = ("open", "same", "different", "contradict", "gone")

_T = TypeVar("_T")


class Resolved(NamedTuple):
    """A side of a verdict as it is: the entry that its lesson is in, else the lesson; `own` is the
    lesson's text.
    """

    side: PairSide
    own: str


class RealFleet:
    """A fleet on a SQLite file, for one history. Close it at the end."""

    def __init__(self, path: Path) -> None:
        self.store_ = SqliteStore(path)
        self._embedder = Lexical()
        self._calls = 0
        self._maintainers = [self._fleet(), self._fleet()]

    async def start(self, at: datetime, *, threshold: int = 2, origins: str = "program") -> None:
        """Set the policy that the history begins with."""
        await self.set_policy(at=at, threshold=threshold, origins=origins)

    async def close(self) -> None:
        """Close the store."""
        await self.store_.close()

    def _fleet(self, at: datetime | None = None, caller: Caller | None = None) -> Fleet:
        return Fleet.on(
            self.store_, FLEET, self._embedder, lambda: at or datetime.min, caller or Caller()
        )

    def _of(self, program: str, at: datetime, session: str | None, connection: str | None) -> Fleet:
        return self._fleet(
            at, Caller(None if connection else program, connection=connection, session_id=session)
        )

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
        sent = {
            "id": lesson_id,
            "pattern": text,
            "domain": "tasks",
            "confidence": confidence,
            "evidence": evidence,
        }
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

    # Pairs

    async def ask(
        self, one: Side, other: Side, *, steering: str = "", likely: bool = False, at: datetime
    ) -> None:
        """Open the pair of both sides as a run opens it, unless it is about these sides already."""
        left, right = await self._resolved(one), await self._resolved(other)
        if left.side.key is not None and left.side.key == right.side.key:
            raise RefusedError("both are in one entry")
        if folded(left.side.program_id) == folded(right.side.program_id):
            raise RefusedError("lessons of one program are no pair")
        pairs = self._fleet().pairs
        [versioned] = await pairs.read(_pair_id(left.side.text, right.side.text))
        if not await self._is_joined(versioned):
            new = Pair(
                pair_id=versioned.pair_id,
                a=left.side,
                b=right.side,
                steering=steering,
                likely=likely,
                opened_at=at,
            )
            await self.store_.commit(pairs.write(versioned, _about(versioned, new)))

    async def proposals(self) -> list[Proposal]:
        """Return every pair that is there, as it was opened."""
        return [
            _proposal(one)
            for state in PAIR_STATES
            for one in await self._fleet().pairs.in_state(state)
        ]

    async def boot(self, program: str, at: datetime) -> Judged:
        """Begin a session."""
        answer = await gsp_bootstrap(self._of(program, at, None, None), program)
        return Judged(shown_in(answer.to_judge), [])

    async def commit(
        self,
        program: str,
        at: datetime,
        answers: Sequence[Answer] = (),
        connection: str | None = None,
    ) -> Judged:
        """End a session with verdicts."""
        fleet = self._of(program, at, None, connection)
        self._calls += 1
        verdicts = tuple(_verdict(_pair_id(*pair), verdict) for pair, verdict in answers)
        answer = await commit_session(
            fleet, program, request_id=f"call-{self._calls}", verdicts=verdicts
        )
        return Judged([], taken_in(answer.judged))

    async def consolidate(
        self, program: str, at: datetime, answers: Sequence[Answer] = ()
    ) -> Judged:
        """Judge, run, and be shown own pairs."""
        fleet = self._of(program, at, None, None)
        verdicts = tuple(_verdict(_pair_id(*pair), verdict) for pair, verdict in answers)
        try:
            answer = await pattern_consolidate(fleet, no_progress, program, verdicts=verdicts)
        except InvalidArgumentError:
            return Judged([], [False] * len(answers))
        assert answer.proposals.note is None
        return Judged(shown_in(answer.to_judge), taken_in(answer.judged))

    async def verdict(
        self,
        judge: str | None,
        one: Side,
        other: Side | None = None,
        verdict: str = "same",
        *,
        at: datetime,
        connection: str | None = None,
    ) -> Judged:
        """Judge as a person, or end a program's session with one verdict."""
        texts = await self._texts_of(one, other)
        if judge is not None:
            return await self.commit(judge, at, [(texts, verdict)], connection)
        [outcome] = await judge_pairs(
            self._fleet(at), Judge(), [_verdict(_pair_id(*texts), verdict)]
        )
        if isinstance(outcome, Refused):
            raise RefusedError(str(outcome.error))
        return Judged([], [True])

    async def _texts_of(self, one: Side, other: Side | None) -> tuple[str, str]:
        """Return the texts that a verdict about these sides is about."""
        if other is None:
            lesson = await self._lesson(*one[1:])
            if lesson.rewrite is None:
                raise RefusedError("no rewrite, or taken back")
            return lesson.rewrite.voting_text, lesson.pattern
        left, right = await self._resolved(one), await self._resolved(other)
        if left.side.key is None or left.side.key != right.side.key:
            return left.side.text, right.side.text
        if text_hash(left.side.text) not in map(text_hash, (left.own, right.own)):
            raise RefusedError("both are in one entry, and neither is its text")
        return left.own, right.own

    async def _is_joined(self, versioned: VersionedPair) -> bool:
        """Whether a lesson of the pair is in an entry by its verdict; the pair stays about that one
        then.
        """
        if versioned.pair is None:
            return False
        named = {
            (side.program_id, side.pattern_id) for side in (versioned.pair.a, versioned.pair.b)
        }
        lines = [line for entry in await self._entries() for line in entry.provenance]
        return any(
            line.pair == versioned.pair_id and (line.program_id, line.pattern_id) in named
            for line in lines
        )

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
        policies = Policies(
            self.store_, maintainer.knowledge.paths
        )  # nothing cached: a minute may not have passed
        fleet = replace(maintainer, now=lambda: at, policies=policies)
        report = await propose_if_free(fleet, await policies.read(at), no_progress, dry_run=False)
        assert report is not None
        assert report.skipped == []

    async def set_policy(
        self, *, at: datetime, threshold: int | None = None, origins: str | None = None
    ) -> None:
        given = {"threshold": threshold, "origins": origins}
        words = [
            word
            for name, value in given.items()
            if value is not None
            for word in (name, str(value))
        ]
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
            for_people=written(await self._for_people()),
        )

    async def _for_people(self) -> list[Texts]:
        open_ = [
            one.pair for one in await self._fleet().pairs.in_state("open") if one.pair is not None
        ]
        return [
            frozenset({words_of(one.a.text), words_of(one.b.text)})
            for one in open_
            if questions(one).people
        ]

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
    """Return the result of a call. Raises RefusedError for one that the fleet refuses."""
    try:
        return await call()
    except FleetMemoryError as error:
        raise RefusedError(str(error)) from error


def _entry_side(entry: Entry) -> PairSide:
    value = entry.value
    return PairSide(
        program_id=oldest_contributor(entry), key=entry.key, domain=value.domain, text=value.pattern
    )


def _about(known: VersionedPair, new: Pair) -> Pair:
    if known.pair is not None:
        state = "open" if known.pair.state == "gone" else known.pair.state
        marks = known.pair if known.pair.judgements else new
        return replace(
            known.pair,
            a=new.a,
            b=new.b,
            state=state,
            steering=marks.steering,
            likely=marks.likely,
        )
    return new


def _proposal(versioned: VersionedPair) -> Proposal:
    pair = versioned.pair
    assert pair is not None
    a, b = pair.a, pair.b
    texts = frozenset({words_of(a.text), words_of(b.text)})
    overdue = [
        (one.program_id or "", one.at) for one in pair.judgements if one.reason == UNANSWERED
    ]
    sides, programs = (_side(a), _side(b)), (a.program_id, b.program_id)
    return Proposal(texts, sides, programs, pair.steering, pair.likely, overdue, pair.thirds)


def _side(side: PairSide) -> Side:
    return (
        ("lesson", side.program_id, side.pattern_id) if side.key is None else ("entry", side.text)
    )


def _verdict(pair: str, verdict: str) -> NewVerdict:
    return NewVerdict.model_validate({"pairId": pair, "verdict": verdict})


def _pair_id(one: str, other: str) -> str:
    return pair_id(*sorted((text_hash(one), text_hash(other))))


def shown_in(to_judge: Iterable[ToJudge] | None) -> list[Texts]:
    """Return the pairs of an answer, each as the words of its texts."""
    return [frozenset({words_of(one.a.pattern), words_of(one.b.pattern)}) for one in to_judge or ()]


def taken_in(judged: Iterable[JudgedAnswer] | None) -> list[bool]:
    """Return which verdicts of an answer were taken."""
    return [one.error is None for one in judged or ()]


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
    given = {name: value for name, value in step.items() if name not in {"do", "day", *OUTCOMES}}
    if step["do"] == "check":
        return compare(await fleet.facts(moment(step)), given)
    return compare_outcome(step, await getattr(fleet, step["do"])(**given, at=moment(step)))
