"""The policy's model judges open pairs: a few in each maintenance, never during a tool call. See
docs/judge-model.md.

It needs no lease, verdicts are decided locally: each pair is read again before it is asked about.
"""

import logging
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import SystemRandom
from typing import Final

import anyio

from fleet_memory.errors import ConflictError, JudgeModelError, JudgeModelUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.pairs import (
    FOUND_BY_MODEL,
    awaits_model,
)
from fleet_memory.schemas.pairs import MODEL_NAME, NewVerdict, Verdict
from fleet_memory.schemas.programs import ModelRun
from fleet_memory.similarity import JudgeModel, Quotation

MAX_PAIRS_PER_RUN: Final = 50  # pairs; Source: docs/judge-model.md
# seconds; no further pair is begun after them. Chosen: a third of maintenance's interval
RUN_FOR_S: Final = 300.0
# Invented lessons, about machines and work as lessons are. They are odd on purpose: no fleet learns
# one of them, and none is about another's subject. A text cannot name the one that it meets,
# because that is drawn.
_FILE: Final = Path(__file__).with_name("control_lessons.txt")
CONTROL_LESSONS: Final = tuple(_FILE.read_text("utf-8").splitlines())

NO_ENDPOINT: Final = (
    "not asked: neither FLEET_MEMORY_JUDGE_URL nor FLEET_MEMORY_JUDGE_KEY is set here"
)
_NONSENSE: Final = "The judge model answered something other than a verdict."
_UNFIT: Final = (
    "The judge model gives unrelated lessons the verdict {!r}: it cannot judge. Name "
    "another in the policy."
)

_logger = logging.getLogger(__name__)
_random = SystemRandom()  # a text that steers could name a control lesson that it foresees


async def judge_with_model(fleet: Fleet, *, run_for_s: float = RUN_FOR_S) -> ModelRun | None:
    """Ask the policy's model about the 50 likeliest open pairs, in any order, and return the
    figures of the run.

    None where the policy names no model or leaves judging to people alone. Without an endpoint the
    figures are none but a `problem`; another server may have one. Billed at most 1 read of the
    policy, 1 for each waiting pair, and for each that is asked about 2 reads and its verdict.
    """
    policy = await fleet.policies.read(fleet.now())
    if not policy.judge_model or policy.judging == "people":
        return None
    if fleet.judge_model is None:
        return ModelRun(model=policy.judge_model, problem=NO_ENDPOINT)
    run = _Run(fleet, fleet.judge_model, policy.judge_model)
    pairs = [*filter(awaits_model, await fleet.pairs.waiting())][:MAX_PAIRS_PER_RUN]
    _random.shuffle(pairs)  # so that one that fails each time holds up no others for ever
    end, problem = anyio.current_time() + run_for_s, None
    for pair in pairs:
        if anyio.current_time() >= end:
            break
        try:
            await run.judge_pair(pair.pair_id)
        except JudgeModelError as error:
            run.counts["failures"] += 1
            problem = problem or str(error)
            if isinstance(error, JudgeModelUnavailableError):
                break
    if run.verdicts:
        await publish_now(fleet)
    done = ModelRun(model=run.model, verdicts=dict(run.verdicts), problem=problem, **run.counts)
    if pairs:
        level = logging.WARNING if done.failures else logging.INFO
        _logger.log(level, "judge model: %s", done.compact())
    return done


@dataclass
class _Run:
    """A run under way: who is asked, and the figures."""

    fleet: Fleet
    judge_model: JudgeModel
    model: str
    verdicts: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    async def judge_pair(self, pair_id: str) -> None:
        """Ask about a pair as it is now, and carry the verdict out. Raises JudgeModelError."""
        (versioned,) = await self.fleet.pairs.read(pair_id)
        pair = versioned.pair
        if pair is None or not awaits_model(pair):  # another server has asked meanwhile
            return
        a, b = (Quotation(side.text, side.evidence) for side in (pair.a, pair.b))
        verdict = await self._ask(a, b)
        if verdict != "unsure" and await self._ask(b, a) != verdict:
            verdict = "unsure"
        # one that changes knowledge: each text is also compared with an unrelated lesson
        if verdict in ("same", "contradict") and await self._is_steered(a, b, verdict):
            for_people = self.fleet.pairs.write(versioned, replace(pair, steering=FOUND_BY_MODEL))
            with suppress(ConflictError):  # somebody judges it at this moment: the next run asks
                await self.fleet.pairs.store.commit(for_people)
                self.counts["steering"] += 1
            return
        reason = f"{self.model}: both cannot be followed" if verdict == "contradict" else self.model
        new_verdict = NewVerdict.model_validate(
            {"pairId": pair_id, "verdict": verdict, "reason": reason}
        )
        (outcome,) = await judge(self.fleet, Judge(MODEL_NAME), [new_verdict])
        if isinstance(outcome, Judged):  # else a text changed, or others judge at the same moment
            self.verdicts[verdict] += 1

    async def _is_steered(self, a: Quotation, b: Quotation, verdict: Verdict) -> bool:
        """Whether one of two texts gets a verdict with an unrelated lesson too.

        Raises JudgeModelUnavailableError for a model that gives it to two unrelated lessons.
        """
        control, other = map(Quotation, _random.sample(CONTROL_LESSONS, 2))
        if verdict not in (await self._ask(a, control), await self._ask(control, b)):
            return False
        if await self._ask(control, other) == verdict:
            raise JudgeModelUnavailableError(_UNFIT.format(verdict))
        return True

    async def _ask(self, first: Quotation, second: Quotation) -> Verdict:
        self.counts["calls"] += 1
        answer = await self.judge_model.compare(self.model, first, second)
        self.counts["tokens"] += answer.tokens
        if answer.verdict is None:
            raise JudgeModelError(_NONSENSE)
        return answer.verdict
