"""Turn lessons that several programs learnt independently into shared knowledge."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import ConflictError, EmbedderError, ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.consolidation import SHARED, Consolidation, ConsolidationReport, leased
from fleet_memory.jobs.consolidation.promotions import Promotions
from fleet_memory.jobs.consolidation.scene import Engine, RunScope
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.answers.consolidation import ConsolidateAnswer
from fleet_memory.schemas.fields import EvidenceText, Name
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.value import Input
from fleet_memory.schemas.waiting import OpenPair
from fleet_memory.views.consolidation import pair_answer, promoted_answer, updated_answer

MAX_OFFERED_PAIRS: Final = 25  # pairs of each kind in one answer, the likeliest first; `stats` counts them all


class NewVerdict(Input):
    """A judgement of one pair that `review` or `contested` offered."""

    pair_id: Annotated[Name, Field(description="From review or contested")]
    same: Annotated[bool, Field(strict=True, description="Whether both say the same")]
    reason: Annotated[EvidenceText, Field(description="Why")] = ""


async def pattern_consolidate(
    fleet: Fleet,
    progress: Progress,
    threshold: Annotated[int, Field(strict=True, ge=2, le=10, description="Independent programs needed, 2 to 10")] = 2,
    dry_run: Annotated[bool, Field(strict=True, description="Decide, but write nothing")] = False,
    domain: Annotated[Name | None, Field(description="Only this topic")] = None,
    project_id: Annotated[Name | None, Field(description="Only this project")] = None,
    verdicts: Annotated[
        tuple[NewVerdict, ...], Field(max_length=100, description="Your judgement of offered pairs")
    ] = (),
) -> ConsolidateAnswer:
    """Promote lessons that several programs learnt independently, in whatever words, to knowledge for all.

    Safe to call at any time; running it again changes nothing. Pairs that numbers cannot decide come back in
    `review`: read both texts and call again with a verdict for each. `contested` pairs are close and contradict.
    """
    if verdicts and not fleet.caller.sees_other_programs:
        raise ForbiddenError(
            "You are bound to one program and see no other program's texts, so you cannot judge pairs."
        )
    if verdicts and dry_run:
        raise InvalidArgumentError("verdicts: cannot be tried in a dry run; send them with dryRun false")
    wanted = RunScope(threshold, fleet.now(), domain, project_id)
    if dry_run:
        report = await (await _consolidation(fleet, Promotions(fleet.programs, fleet.knowledge))).run(
            wanted, {}, progress
        )
        return _answer(fleet, report, wanted, dry_run=True)
    return _answer(fleet, await consolidated(fleet, wanted, progress, verdicts), wanted, dry_run=False)


async def consolidated(
    fleet: Fleet, wanted: RunScope, progress: Progress, verdicts: Sequence[NewVerdict] = ()
) -> ConsolidationReport:
    """Consolidate under the lease.

    Raises ConflictError when another run holds it, InvalidArgumentError for a verdict about a pair that is not waiting;
    nothing was written then.
    """
    async with leased(fleet.programs, fleet.knowledge, fleet.now) as hands:
        if hands is None:
            raise ConflictError(
                "Another consolidation is running; its result will be yours too. Call again in a moment."
            )
        judged = await _judged(fleet, hands, wanted, verdicts) if verdicts else {}
        return await (await _consolidation(fleet, hands)).run(wanted, judged, progress)


async def _consolidation(fleet: Fleet, hands: Promotions) -> Consolidation:
    async def embed(texts: Sequence[str]) -> Vectors | None:
        try:
            return await fleet.embedder.vectors(texts)
        except EmbedderError:
            return None  # these lessons are compared by their words until the engine is back

    await fleet.embedder.ready()
    engine = Engine(fleet.embedder.name, fleet.embedder.profile, embed)
    return Consolidation(fleet.programs, fleet.knowledge, hands, engine)


async def _judged(
    fleet: Fleet, hands: Promotions, wanted: RunScope, verdicts: Sequence[NewVerdict]
) -> Mapping[str, bool]:
    """Record verdicts on the patterns they are about; return them by pair. A repeated verdict changes nothing."""
    consolidation = await _consolidation(fleet, Promotions(fleet.programs, fleet.knowledge))
    index, pairs = await consolidation.shards.index()
    offered = {pair.pair_id: pair for pair in pairs}
    if any(new.pair_id not in offered and index.judged.get(new.pair_id) != new.same for new in verdicts):
        dry = await consolidation.run(wanted, {}, silently)  # a dry run may have offered what no run has kept
        offered |= {pair.pair_id: pair for pair in dry.pairs}
    for position, new in enumerate(verdicts):
        if new.pair_id not in offered and index.judged.get(new.pair_id) != new.same:
            raise InvalidArgumentError(
                f"verdicts.{position}.pairId: no pair {new.pair_id!r} is waiting for judgement; "
                "call pattern_consolidate without verdicts to list those that are"
            )
    for new in verdicts:
        if new.pair_id in offered:
            await _record(fleet, hands, offered[new.pair_id], new)
    return {new.pair_id: new.same for new in verdicts}


async def _record(fleet: Fleet, hands: Promotions, pair: OpenPair, new: NewVerdict) -> None:
    judge = fleet.caller.program_id or "unbound"
    verdict = Verdict(
        same=new.same,
        judge=judge,
        at=fleet.now(),
        reason=new.reason,
        contributed=judge in (pair.a_program, pair.b_program),
    )
    if pair.a_program != SHARED:
        await hands.judge(pair.a_program, pair.a_id, text_hash(pair.b_text), verdict)
    if pair.b_program != SHARED:
        await hands.judge(pair.b_program, pair.b_id, text_hash(pair.a_text), verdict)


async def silently(_done: float, _total: float, _message: str) -> None:
    """Report no progress."""


def _answer(fleet: Fleet, report: ConsolidationReport, wanted: RunScope, *, dry_run: bool) -> ConsolidateAnswer:
    pairs = [pair for pair in report.pairs if wanted.domain in (None, pair.a_domain, pair.b_domain)]
    review = [pair for pair in pairs if not pair.contested]
    contested = [pair for pair in pairs if pair.contested]
    most = MAX_OFFERED_PAIRS if fleet.caller.sees_other_programs else 0
    return ConsolidateAnswer(
        similarity_engine=fleet.degraded_engine,
        dry_run=dry_run,
        threshold=wanted.threshold,
        promoted=tuple(promoted_answer(entry, why) for entry, why in report.promoted),
        updated=tuple(updated_answer(entry, why) for entry, why in report.updated.values()),
        review=tuple(pair_answer(pair) for pair in review[:most]),
        contested=tuple(pair_answer(pair) for pair in contested[:most]),
        waiting=report.waiting,
        echoes=report.echoes,
        stats={
            "programsRead": report.programs,
            "lessonsCompared": report.lessons,
            "entries": report.entries,
            "reviewPairs": len(review),
            "contestedPairs": len(contested),
            "groupsOfTooFewOrigins": report.dependent,
        },
    )
