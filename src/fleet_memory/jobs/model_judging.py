"""The policy's model judges open pairs: a few in each maintenance, never during a tool call. See
docs/judge-model.md.

It needs no lease to judge, verdicts are decided locally; its lease keeps two servers from asking
the same twice.
"""

import logging
from collections import Counter
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Final

import anyio

from fleet_memory.errors import JudgeModelError, JudgeModelUnavailableError, LeaseLostError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter, leased
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.runs import ModelRunNote
from fleet_memory.rules.pairs import (
    CONTROL_LESSONS,
    awaits_model,
    needs_control,
    verdict_of_both,
    with_steering,
)
from fleet_memory.rules.text import counted
from fleet_memory.schemas.health import ModelRun
from fleet_memory.schemas.pairs import MODEL_NAME, NewVerdict, Pair, Side, Verdict
from fleet_memory.similarity import JudgeModel, Quotation

MODEL_LEASE: Final = (
    "judge-model"  # of the one server that asks the model; independent of the maintainer's
)
MAX_PAIRS_PER_RUN: Final = 50  # pairs; Source: docs/judge-model.md
RUN_FOR_S: Final = (
    300.0  # seconds; no further pair is begun after them. Chosen: a third of maintenance's interval
)

NO_ENDPOINT: Final = (
    "not asked: neither FLEET_MEMORY_JUDGE_URL nor FLEET_MEMORY_JUDGE_KEY is set here"
)
_NONSENSE: Final = "The judge model answered something other than a verdict."
_UNFIT: Final = (
    "The judge model gives unrelated lessons the verdict {!r}: it cannot judge. Name "
    "another in the policy."
)

_logger = logging.getLogger(__name__)
_draw = SystemRandom()  # a text that steers could name a control lesson that it foresees


async def judge_with_model(
    fleet: Fleet, *, every_s: float = 0.0, run_for_s: float = RUN_FOR_S
) -> ModelRun | None:
    """Ask the policy's model about at most 50 open pairs, the likeliest first, and return the
    figures of the run.

    None where the policy names no model or leaves judging to people alone, where a run ended less
    than `every_s` seconds ago, and where another is under way. Without an endpoint the figures are
    none but a `problem`; another server may have one. The model's failures are one warning of the
    log. Billed at most 1 read of the policy, and 1 read while no pair waits; else the lease, the
    note of the run, and for each pair a verdict, 2 reads and 1 write.
    """
    policy = await fleet.policies.read(fleet.now())
    if not policy.judge_model or policy.judging == "people":
        return None
    if fleet.judge_model is None:
        return ModelRun(model=policy.judge_model, problem=NO_ENDPOINT)
    if not await fleet.pairs.for_model(1):
        return ModelRun(model=policy.judge_model, at=fleet.now())
    try:
        async with leased(fleet, MODEL_LEASE) as writer:
            if writer is None:
                return None
            run = _Run(fleet, writer, fleet.judge_model, policy.judge_model)
            return await run.judge_pairs(every_s, run_for_s)
    except LeaseLostError:
        return None


def warn_of_failures(run: ModelRun | None) -> None:
    """Log one warning if questions of a run have no verdict, for a server; a command prints the
    figures instead.
    """
    if run and run.failures:
        questions = counted(run.failures, "question")
        _logger.warning(
            "judge model %s: %s without a verdict, their pairs stay open. %s",
            run.model,
            questions,
            run.problem,
        )


@dataclass
class _Run:
    """A run under way, and its figures."""

    fleet: Fleet
    writer: FencedWriter
    judge_model: JudgeModel
    model: str
    calls: int = 0
    tokens: int = 0
    steering: int = 0
    is_visible: bool = False  # whether agents would read something else now
    verdicts: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def judge_pairs(self, every_s: float, run_for_s: float) -> ModelRun | None:
        """Judge pairs until all, the time or the endpoint is at its end, and leave a note of it.

        Pairs that failed lately come last, to delay no others.
        """
        before = await self.fleet.model_runs.read()
        last = before.note.run.at if before.note.run else None
        if last is not None and 0 <= (self.fleet.now() - last).total_seconds() < every_s:
            return None
        failed_before = before.note.failed
        pairs = await self.fleet.pairs.for_model(MAX_PAIRS_PER_RUN + len(failed_before))
        waiting = {
            pair.pair_id: pair
            for pair in sorted(pairs, key=lambda pair: pair.pair_id in failed_before)
        }
        end = anyio.current_time() + run_for_s
        for pair in list(waiting.values())[:MAX_PAIRS_PER_RUN]:
            if anyio.current_time() >= end:
                break
            del waiting[pair.pair_id]
            try:
                await self._judge_pair(pair)
            except JudgeModelError as error:
                self.problems.append(str(error))
                self.failed.append(pair.pair_id)
                if isinstance(error, JudgeModelUnavailableError):
                    break
            await self.writer.commit()  # renews the lease
        still = [pair_id for pair_id in waiting if pair_id in failed_before]
        note = ModelRunNote(
            run=self._figures(), failed=tuple([*self.failed, *still][:MAX_PAIRS_PER_RUN])
        )
        await self.writer.try_commit(self.fleet.model_runs.write(before, note))
        if self.is_visible:
            await publish_now(self.fleet)
        _logger.info("judge model: %s", note.run.compact() if note.run else "")
        return note.run

    async def _judge_pair(self, pair: Pair) -> None:
        a, b = _quotation(pair.a), _quotation(pair.b)
        verdict = await self._ask(a, b)
        if verdict != "unsure":
            verdict = verdict_of_both(verdict, await self._ask(b, a))
        if needs_control(verdict) and await self._is_steered(a, b, verdict):
            await retry_conflicts(
                lambda: self._leave_to_people(pair.pair_id), f"pair {pair.pair_id}"
            )
            self.steering += 1
            return
        reason = f"{self.model}: both cannot be followed" if verdict == "contradict" else self.model
        new_verdict = NewVerdict.model_validate(
            {"pairId": pair.pair_id, "verdict": verdict, "reason": reason}
        )
        (outcome,) = await judge(self.fleet, Judge(MODEL_NAME), [new_verdict])
        match outcome:
            case Judged(change=change):
                self.verdicts[verdict] += 1
                self.is_visible = self.is_visible or (change is not None and change.is_visible)
            case Refused(_, error):  # a text changed, or others judge at the same moment
                self.failed.append(pair.pair_id)
                _logger.info(
                    "the judge model's verdict about pair %s is refused: %s", pair.pair_id, error
                )

    async def _is_steered(self, a: Quotation, b: Quotation, verdict: Verdict) -> bool:
        """Whether one of two texts gets a verdict with an unrelated lesson too.

        Raises JudgeModelUnavailableError for a model that gives it to two unrelated lessons.
        """
        control, other = map(Quotation, _draw.sample(CONTROL_LESSONS, 2))
        if verdict not in (await self._ask(a, control), await self._ask(control, b)):
            return False
        if await self._ask(control, other) == verdict:
            raise JudgeModelUnavailableError(_UNFIT.format(verdict))
        return True

    async def _leave_to_people(self, pair_id: str) -> None:
        (versioned,) = await self.fleet.pairs.read(pair_id)
        if versioned.pair is not None and awaits_model(versioned.pair):
            await self.writer.commit(
                self.fleet.pairs.write(versioned, with_steering(versioned.pair))
            )

    async def _ask(self, first: Quotation, second: Quotation) -> Verdict:
        self.calls += 1
        answer = await self.judge_model.compare(self.model, first, second)
        self.tokens += answer.tokens
        if answer.verdict is None:
            raise JudgeModelError(_NONSENSE)
        return answer.verdict

    def _figures(self) -> ModelRun:
        return ModelRun(
            model=self.model,
            pairs=self.verdicts.total(),
            verdicts=dict(self.verdicts),
            steering=self.steering,
            calls=self.calls,
            tokens=self.tokens,
            failures=len(self.problems),
            problem=self.problems[0] if self.problems else None,
            at=self.fleet.now(),
        )


def _quotation(side: Side) -> Quotation:
    return Quotation(side.text, side.evidence)
