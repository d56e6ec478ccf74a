"""Carrying out verdicts: each reads and commits its pair, its entry and its programs by revision,
without a lease.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import log_change
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.programs import VersionedProgram
from fleet_memory.repositories.retrying import commit_settled, retry_conflicts
from fleet_memory.rules.asking import (
    PEOPLE_JUDGE,
    no_pair,
    refusal,
    shown_pairs,
    with_next_pairs,
    with_verdict,
)
from fleet_memory.rules.entries import EntryChange, entry_state, keys_of
from fleet_memory.rules.pairs import (
    PERSON,
    ChangedSide,
    DraftDocuments,
    Questions,
    authored_sides,
    decided,
    joined_by,
    questions,
    resolved,
    with_judgement,
)
from fleet_memory.schemas.knowledge import EntryState
from fleet_memory.schemas.pairs import (
    MODEL_NAME,
    Judgement,
    NewVerdict,
    Pair,
    PairState,
)
from fleet_memory.schemas.policy import Policy


async def read_for_verdict(fleet: Fleet, pair: Pair, judges: Sequence[VersionedProgram]) -> Drafts:
    """Read the documents that a verdict about `pair` may change.

    These are the programs of its lessons and of those that joined an entry by it, that of the agent
    that judges (`judges`, read already), its entries and those that its lessons are in. Billed 1
    read each.
    """
    known = {judge.program.program_id for judge in judges}
    sides = (pair.a, pair.b)
    names = {side.program_id for side in sides if side.key is None and side.program_id}
    read = [*judges, *await _programs(fleet, names - known)]
    programs = {each.program.program_id: each.program for each in read}
    lessons = [
        lesson
        for side in sides
        if (program := programs.get(side.program_id))
        and (lesson := program.patterns.get(side.pattern_id))
    ]
    keys = {side.key for side in sides if side.key is not None}
    keys |= {key for lesson in lessons for key in lesson.knowledge_keys}
    drafts = await read_drafts(fleet, keys, fleet.now(), read)
    joined = {
        line.program_id
        for key in drafts.documents.entries
        for line in joined_by(pair, key, drafts.documents)
    }
    return drafts.with_read(await _programs(fleet, joined - drafts.programs.keys()))


async def _programs(fleet: Fleet, names: Iterable[str]) -> list[VersionedProgram]:
    return await fleet.programs.read_versioned(*sorted(names)) if names else []


class Judge(NamedTuple):
    """Who judges: a program, over which connection or by which token; a configured model; a person,
    without a name.

    `by_role`: the program judges by the role `judge`.
    """

    program_id: str | None = None
    connection: str | None = None
    token: str | None = None
    by_role: bool = False

    @property
    def agent(self) -> str | None:
        """The program that judges; None for a person or a model, whom no limits bind."""
        return None if self.program_id == MODEL_NAME else self.program_id


class Judged(NamedTuple):
    """A pair after a verdict, and the change of the entry that it made or changed.

    `key` and `status` are of the entry that it is about, changed or not. `asked` is who judges it
    next.
    """

    pair_id: str
    state: PairState
    change: EntryChange | None = None
    key: str | None = None
    status: EntryState | None = None
    asked: Questions = Questions()


class Refused(NamedTuple):
    """A verdict that was not carried out, and why; nothing was written for it."""

    pair_id: str
    error: FleetMemoryError


async def judge(
    fleet: Fleet, judge_: Judge, verdicts: Sequence[NewVerdict]
) -> list[Judged | Refused]:
    """Carry out verdicts one by one, each whole or not at all, and return the outcome of each, in
    order.

    A verdict that cannot be carried out is refused with its reason, and the others are carried out:
    an InvalidArgumentError for a pair that is unknown, was not shown to this program, is closed by
    a person or of changed texts, and for one over the limit of a day; ConflictError when every race
    was lost; the store's errors. Of two about one pair the later counts. Billed at most 6 reads and
    8 writes each.
    """
    policy = await fleet.policies.read(fleet.now())
    outcomes = [await _judge(fleet, judge_, verdict, policy) for verdict in verdicts]
    for outcome in outcomes:
        if isinstance(outcome, Judged) and outcome.change is not None:
            log_change(judge_.program_id or PERSON, outcome.change)
    return outcomes


async def _judge(
    fleet: Fleet, judge_: Judge, verdict: NewVerdict, policy: Policy
) -> Judged | Refused:
    attempt = partial(_judge_once, fleet, judge_, verdict, policy)
    try:
        return await retry_conflicts(attempt, f"pair {verdict.pair_id}")
    except FleetMemoryError as error:
        return Refused(verdict.pair_id, error)


async def _judge_once(fleet: Fleet, judge_: Judge, verdict: NewVerdict, policy: Policy) -> Judged:
    judges = await fleet.programs.read_versioned(judge_.agent) if judge_.agent is not None else []
    if (
        judge_.agent is not None and policy.judging == "people"
    ):  # first, so that no guess learns which pairs there are
        raise InvalidArgumentError(PEOPLE_JUDGE)
    (versioned,) = await fleet.pairs.read(verdict.pair_id)
    pair = versioned.pair
    if pair is None:
        shown = shown_pairs(judges[0].program, fleet.now()) if judges else ()
        raise InvalidArgumentError(no_pair(verdict.pair_id, judge_.agent, shown))
    is_repeated = any(
        (judgement.program_id, judgement.verdict, judgement.is_silence)
        == (judge_.program_id, verdict.verdict, False)
        for judgement in pair.judgements
    )
    judging = judges[0].program if judges else None
    why = (
        ""
        if judge_.program_id is None
        else refusal(pair, judging, fleet.now(), is_repeated=is_repeated, by_role=judge_.by_role)
    )
    if why:
        raise InvalidArgumentError(why)
    drafts = await read_for_verdict(fleet, pair, judges)
    if judging is not None and not is_repeated:
        judged = with_verdict(judging, fleet.now())
        drafts = replace(drafts, documents=drafts.documents.with_program(judged))
    if why := _changed(pair, drafts.documents):
        raise InvalidArgumentError(f"pairId: {pair.pair_id!r} is no longer open: {why}")
    judgement = Judgement(
        verdict=verdict.verdict,
        program_id=judge_.program_id,
        at=fleet.now(),
        reason=verdict.reason,
        sides=authored_sides(pair, judging, drafts.documents.entries) if judging else (),
        connection=judge_.connection,
        token=judge_.token,
        by_role=judge_.by_role,
    )
    return await _commit(fleet, versioned, with_judgement(pair, judgement), drafts, judge_)


def _changed(pair: Pair, documents: DraftDocuments) -> str:
    """Return why a side of a pair is not as it was judged, "" where both are."""
    sides = (resolved(pair, side, documents) for side in (pair.a, pair.b))
    return next((side.why for side in sides if isinstance(side, ChangedSide)), "")


async def apply_stored(fleet: Fleet, pair_id: str, change: Callable[[Pair], Pair]) -> Judged | None:
    """Carry out the verdicts of a pair once more, as `change` leaves it: about other lessons or
    entries of the same texts, or with the silence of a side.

    None when they changed since, or `change` leaves it as it is. Billed as a verdict. Raises
    ConflictError when somebody wrote one of the documents.
    """
    (versioned,) = await fleet.pairs.read(pair_id)
    if versioned.pair is None:
        return None
    moved = change(versioned.pair)
    if moved is versioned.pair:
        return None
    drafts = await read_for_verdict(fleet, moved, [])
    if _changed(moved, drafts.documents):
        return None
    newest = [each for each in moved.judgements if not each.is_silence][-1:]
    judge_ = Judge(newest[0].program_id, token=newest[0].token) if newest else Judge()
    return await _commit(fleet, versioned, moved, drafts, judge_)


async def _commit(
    fleet: Fleet, versioned: VersionedPair, pair: Pair, drafts: Drafts, judge_: Judge
) -> Judged:
    """Commit what the verdicts of a pair leave; an entry that they would make is read first."""
    decision = decided(pair, drafts.documents, drafts.policy)
    while made := decision.documents.entries.keys() - drafts.entries.keys():
        keys = {key for each in made for key in keys_of(decision.documents.entries[each])}
        drafts = drafts.with_read(entries=await fleet.knowledge.read_through(keys))
        decision = decided(pair, drafts.documents, drafts.policy)
    programs = {
        name: with_next_pairs(program, versioned.pair, pair)
        for name, program in decision.documents.programs.items()
    }
    documents = replace(decision.documents, programs=programs)
    drafts = drafts.left_as(documents, _why(pair))
    writes = drafts.writes(fleet, judge_.program_id or PERSON, judge_.token)
    await commit_settled(fleet.store, fleet.pairs.write(versioned, pair), *writes)
    entry = drafts.documents.entries.get(decision.key or "")
    return Judged(
        pair.pair_id,
        pair.state,
        next((each for each in drafts.changes if each.entry.key == decision.key), None),
        decision.key,
        entry_state(entry, drafts.now) if entry else None,
        questions(pair),
    )


def _why(pair: Pair) -> str:
    verdicts = [f"{_name(judgement)}: {judgement.verdict}" for judgement in pair.judgements]
    people = [each.reason for each in pair.judgements if each.program_id is None and each.reason]
    return f"pair {pair.pair_id}: {', '.join(verdicts)}" + (f" ({people[0]})" if people else "")


def _name(judgement: Judgement) -> str:
    """Return who judged, for the ledger, e.g. "sark" or "(model) qwen3:8b"."""
    if judgement.program_id == MODEL_NAME:
        return f"{MODEL_NAME} {judgement.reason}"
    return judgement.program_id or PERSON
