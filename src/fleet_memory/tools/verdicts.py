"""Verdicts as a call sends them, and their outcomes as it answers."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field

from fleet_memory.jobs.judging import Judged, Refused
from fleet_memory.rules.pairs import Questions
from fleet_memory.schemas.answers.common import JudgedAnswer, WaitsFor
from fleet_memory.schemas.fields import outlined_as
from fleet_memory.schemas.pairs import NewVerdict

MAX_SENT_VERDICTS: Final = (
    100  # of one call; those over the limit are refused by name, the others count. Chosen
)

Verdicts: TypeAlias = Annotated[
    tuple[NewVerdict, ...],
    Field(max_length=MAX_SENT_VERDICTS, description="Your verdicts on pairs of toJudge"),
]
SessionVerdicts: TypeAlias = Annotated[
    tuple[Annotated[NewVerdict, outlined_as("pairId", "verdict", "reason")], ...],
    Field(max_length=MAX_SENT_VERDICTS, description="As for pattern_consolidate"),
]


def judged_answer(outcome: Judged | Refused) -> JudgedAnswer:
    """Return a verdict that was carried out, or why it was refused."""
    if isinstance(outcome, Refused):
        return JudgedAnswer(pair_id=outcome.pair_id, error=f"{outcome.error.code}: {outcome.error}")
    return JudgedAnswer(
        pair_id=outcome.pair_id,
        state=outcome.state,
        waits_for=_waits_for(outcome.asked),
        key=outcome.key,
        status=outcome.status,
    )


def _waits_for(asked: Questions) -> WaitsFor | None:
    if asked.programs:
        return "the other side"
    if asked.third:
        return "a third program"
    return "people" if asked.people else None
