"""Verdicts about pairs that wait for judgement, recorded on the lessons that they are about."""

from collections.abc import Mapping, Sequence

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.consolidation import SHARED, Consolidation
from fleet_memory.jobs.consolidation.scene import RunScope
from fleet_memory.rules.consensus.marks import with_verdict
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.verdicts import NewVerdict
from fleet_memory.schemas.waiting import OpenPair, WaitingIndex


async def record_verdicts(
    fleet: Fleet, rehearsal: Consolidation, wanted: RunScope, verdicts: Sequence[NewVerdict]
) -> Mapping[str, bool]:
    """Record verdicts on the patterns they are about; return them by pair. A repeated verdict changes nothing.

    `rehearsal` is a consolidation that writes nothing. Raises InvalidArgumentError for a pair that does not wait.
    """
    index, pairs = await rehearsal.shards.index()
    offered = {pair.pair_id: pair for pair in pairs}
    if any(_is_unknown(verdict, offered, index) for verdict in verdicts):
        report = await rehearsal.run(wanted, {}, no_progress)  # a dry run may have offered what no run has stored
        offered |= {pair.pair_id: pair for pair in report.pairs}
    for position, verdict in enumerate(verdicts):
        if _is_unknown(verdict, offered, index):
            raise InvalidArgumentError(
                f"verdicts.{position}.pairId: no pair {verdict.pair_id!r} is waiting for judgement; "
                "call pattern_consolidate without verdicts to list those that are"
            )
    for verdict in verdicts:
        if verdict.pair_id in offered:
            await _record(fleet, offered[verdict.pair_id], verdict)
    return {verdict.pair_id: verdict.same for verdict in verdicts}


def _is_unknown(verdict: NewVerdict, offered: Mapping[str, OpenPair], index: WaitingIndex) -> bool:
    """Whether a verdict is about a pair that neither waits nor was judged so before."""
    return verdict.pair_id not in offered and index.judged.get(verdict.pair_id) != verdict.same


async def _record(fleet: Fleet, pair: OpenPair, new: NewVerdict) -> None:
    judge = fleet.caller.program_id or "unbound"
    verdict = Verdict(
        same=new.same,
        judge=judge,
        at=fleet.now(),
        reason=new.reason,
        contributed=judge in (pair.a_program, pair.b_program),
    )
    if pair.a_program != SHARED:
        await _judge(fleet, pair.a_program, pair.a_id, text_hash(pair.b_text), verdict)
    if pair.b_program != SHARED:
        await _judge(fleet, pair.b_program, pair.b_id, text_hash(pair.a_text), verdict)


async def _judge(fleet: Fleet, program_id: str, pattern_id: str, other: str, verdict: Verdict) -> None:
    """Record a verdict about a program's lesson and the text whose hash is `other`."""
    await fleet.programs.update(
        program_id, lambda program: with_verdict(program, pattern_id, other, verdict), verdict.at
    )
