"""Carrying out verdicts: each reads and commits its pair, its entry and its programs by revision, without a lease."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from fleet_memory.errors import FleetMemoryError, InvalidArgumentError, OutcomeUnknownError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.rewrites import OwnRewrite, judge_rewrite, rewrite_in, rewrite_of
from fleet_memory.jobs.verdict_reads import VerdictReads, read_for_verdict
from fleet_memory.repositories.commits import new_commit_id
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.consensus.asking import MAX_VERDICTS_PER_CALL, with_verdict
from fleet_memory.rules.consensus.choosing import with_lessons_freed
from fleet_memory.rules.consensus.deciding import PERSON, Decision, decided
from fleet_memory.rules.consensus.judging import Questions, questions
from fleet_memory.rules.consensus.refusing import PEOPLE_JUDGE, refusal
from fleet_memory.rules.consensus.sides import ChangedSide, VerdictDocuments, resolved
from fleet_memory.rules.knowledge.entries import settled
from fleet_memory.rules.knowledge.state import EntryChange, contributes, entry_state
from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, NewVerdict, Pair, PairState
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Write


class Judge(NamedTuple):
    """Who judges: a program, over which unbound connection; a configured model; a person, who has no `program_id`."""

    program_id: str | None = None
    connection: str | None = None

    @property
    def agent(self) -> str | None:
        """The program that judges; None for a person or a model, whom no limits bind."""
        return None if self.program_id == MODEL_NAME else self.program_id


class Judged(NamedTuple):
    """A pair after a verdict, and the change of the entry that it made or changed."""

    pair_id: str
    state: PairState
    change: EntryChange | None = None


class Refused(NamedTuple):
    """A verdict that was not carried out, and why; nothing was written for it."""

    pair_id: str
    error: FleetMemoryError


async def judge(fleet: Fleet, judge_: Judge, verdicts: Sequence[NewVerdict]) -> list[Judged | Refused]:
    """Carry out verdicts one by one, each whole or not at all, and return the outcome of each, in order.

    A verdict that cannot be carried out is refused with an error that says why, and the others are carried out: an
    InvalidArgumentError for a pair that is unknown, was not shown to this program, is closed by a person or of changed
    texts, and for a verdict over the limits; ConflictError when every race was lost; the store's errors. Billed at most
    6 reads and 8 writes each; where two entries become one, 1 read and 1 write more for each program in the younger.
    """
    policy = await fleet.policies.read(fleet.now())
    allowed = len(verdicts) if judge_.agent is None else MAX_VERDICTS_PER_CALL
    over = InvalidArgumentError(f"verdicts: {MAX_VERDICTS_PER_CALL} count in one call; send the others in the next")
    outcomes = [await _judge(fleet, judge_, verdict, policy) for verdict in verdicts[:allowed]]
    return [*outcomes, *(Refused(verdict.pair_id, over) for verdict in verdicts[allowed:])]


async def _judge(fleet: Fleet, judge_: Judge, verdict: NewVerdict, policy: Policy) -> Judged | Refused:
    attempt = partial(_judge_once, fleet, judge_, verdict, policy)
    try:
        try:
            return await retry_conflicts(attempt, f"pair {verdict.pair_id}")
        except OutcomeUnknownError:  # the same verdict again changes nothing if the first was applied
            return await retry_conflicts(attempt, f"pair {verdict.pair_id}")
    except FleetMemoryError as error:
        return Refused(verdict.pair_id, error)


async def _judge_once(fleet: Fleet, judge_: Judge, verdict: NewVerdict, policy: Policy) -> Judged:
    (versioned,) = await fleet.pairs.read(verdict.pair_id)
    pair = versioned.pair
    read = await read_for_verdict(fleet, versioned, pair, judge_.agent, policy) if pair else None
    own = await _own_rewrite(fleet, judge_, verdict.pair_id, read)
    if own is not None:  # the author decides, though others may be asked about the same two texts
        change = await judge_rewrite(fleet, own, verdict, judge_.connection, policy)
        return Judged(verdict.pair_id, "open" if verdict.verdict == "unsure" else verdict.verdict, change)
    if judge_.agent is not None and policy.judging == "people":  # first, so that no guess learns which pairs there are
        raise InvalidArgumentError(PEOPLE_JUDGE)
    if pair is None or read is None:
        raise InvalidArgumentError(
            f"pairId: there is no pair {verdict.pair_id!r}; pattern_consolidate lists those to judge"
        )
    is_repeated = any((one.program_id, one.verdict) == (judge_.program_id, verdict.verdict) for one in pair.judgements)
    documents = read.documents()
    judging = documents.programs[judge_.agent] if judge_.agent is not None else None
    why = "" if judge_.program_id is None else refusal(pair, judging, fleet.now(), is_repeated=is_repeated)
    if why:
        raise InvalidArgumentError(why)
    if judging is not None and not is_repeated:
        documents = documents.with_program(with_verdict(judging, fleet.now()))
    a, b = (resolved(side, documents, pair.pair_id) for side in (pair.a, pair.b))
    if isinstance(a, ChangedSide) or isinstance(b, ChangedSide):
        await _close(fleet, read, pair)
        why = next(side.why for side in (a, b) if isinstance(side, ChangedSide))
        raise InvalidArgumentError(f"pairId: {pair.pair_id!r} is no longer open: {why}")
    judgement = _judgement(pair, verdict, judge_, fleet, read)
    return await _commit(fleet, read, decided(pair, judgement, (a, b), documents, policy), judge_, policy)


async def _own_rewrite(fleet: Fleet, judge_: Judge, pair_id: str, read: VerdictReads | None) -> OwnRewrite | None:
    """Return the judge's own rewrite that has this pair id, if any. Billed 1 read unless its program is read."""
    known = read.programs.get(judge_.agent or "") if read else None
    return rewrite_in(known.program, pair_id) if known else await rewrite_of(fleet, judge_.agent, pair_id)


async def apply_stored(fleet: Fleet, pair: Pair, policy: Policy) -> Judged | None:
    """Carry out the verdict of a pair once more: its sides are other lessons or entries of the same texts now.

    None when they changed since. Billed as a verdict. Raises ConflictError when somebody wrote one of the documents.
    """
    judgement = next(one for one in reversed(pair.judgements) if one.verdict == pair.state)
    judge_ = Judge(judgement.program_id, judgement.connection)
    (versioned,) = await fleet.pairs.read(pair.pair_id)
    if versioned.pair is None or versioned.pair.state != pair.state:
        return None
    read = await read_for_verdict(fleet, versioned, pair, judge_.agent, policy)
    a, b = (resolved(side, read.documents(), pair.pair_id) for side in (pair.a, pair.b))
    if isinstance(a, ChangedSide) or isinstance(b, ChangedSide):
        return None
    return await _commit(fleet, read, decided(pair, judgement, (a, b), read.documents(), policy), judge_, policy)


async def _close(fleet: Fleet, read: VerdictReads, pair: Pair) -> None:
    """Ask nobody any more about a pair of texts that changed; the next best pairs of its lessons follow.

    A pair that a verdict had settled loses its verdicts, so that the same texts would be asked about from the start.
    """
    if questions(pair) == Questions():
        return
    gone = replace(pair, state="gone", judgements=pair.judgements if pair.state == "open" else ())
    await fleet.programs.commit(
        _changed_programs(read, read.documents(), gone, fleet.now()), [fleet.pairs.write(read.pair, gone)]
    )


def _judgement(pair: Pair, verdict: NewVerdict, judge_: Judge, fleet: Fleet, read: VerdictReads) -> Judgement:
    names = {same_program(side.program_id) for side in (pair.a, pair.b)}
    own = judge_.program_id is not None and same_program(judge_.program_id) in names
    return Judgement(
        verdict=verdict.verdict,
        program_id=judge_.program_id,
        at=fleet.now(),
        reason=verdict.reason,
        connection=judge_.connection,
        contributed=own or _contributes(judge_, read) or _over_a_contributors_connection(judge_, read),
    )


def _contributes(judge_: Judge, read: VerdictReads) -> bool:
    """Whether the judge has a lesson in an entry that the pair is about."""
    entries = read.documents().entries.values()
    return judge_.program_id is not None and any(contributes(entry, judge_.program_id) for entry in entries)


def _over_a_contributors_connection(judge_: Judge, read: VerdictReads) -> bool:
    """Whether anybody contributed to either side over the judge's own unbound connection."""
    if judge_.connection is None:
        return False
    documents = read.documents()
    sources = {
        pattern.source.connection
        for program in documents.programs.values()
        for pattern in program.patterns.values()
        if pattern.words in read.pair.words
    }
    sources |= {line.connection for entry in documents.entries.values() for line in entry.provenance}
    return judge_.connection in sources


async def _commit(fleet: Fleet, read: VerdictReads, decision: Decision, judge_: Judge, policy: Policy) -> Judged:
    now, commit_id = fleet.now(), new_commit_id()
    by, after = judge_.program_id or PERSON, decision.documents
    writes: list[Write] = [fleet.pairs.write(read.pair, decision.pair)]
    change: EntryChange | None = None
    for key, entry in after.entries.items():
        known = read.entries[key]
        final = settled(known.entry, entry, policy, now)
        if final is known.entry:
            continue
        writes += fleet.knowledge.writes(known, final, by=by, why=_why(decision.pair), now=now, commit_id=commit_id)
        if key == decision.key:
            change = EntryChange(final, entry_state(known.entry, now) if known.entry else None, entry_state(final, now))
    await fleet.programs.commit(_changed_programs(read, after, decision.pair, now), writes, commit_id)
    return Judged(decision.pair.pair_id, decision.pair.state, change)


def _changed_programs(read: VerdictReads, after: VerdictDocuments, pair: Pair, now: datetime) -> list[VersionedChange]:
    """Return the programs of a pair as a verdict leaves them and it."""
    programs = {name: _with_next_pairs(after.programs[name], read.pair, pair) for name in read.programs}
    return [VersionedChange(one, stamped(one.program, programs[name], now)) for name, one in read.programs.items()]


def _with_next_pairs(program: Program, before: VersionedPair, after: Pair) -> Program:
    """Return the program with its lessons of a pair that closes now pending: their next best pairs follow."""
    if before.pair is None or not questions(before.pair).programs or questions(after).programs:
        return program
    return with_lessons_freed(program, after)


def _why(pair: Pair) -> str:
    said = [f"{_name(one)}: {one.verdict}" for one in pair.judgements]
    return f"pair {pair.pair_id}: {', '.join(said)}"


def _name(judgement: Judgement) -> str:
    """Return who judged, for the ledger, e.g. "sark" or "(model) qwen3:8b"."""
    if judgement.program_id == MODEL_NAME:
        return f"{MODEL_NAME} {judgement.reason}"
    return judgement.program_id or PERSON
