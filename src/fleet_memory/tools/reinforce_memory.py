"""Record how a lesson did."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.words import record_word
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport
from fleet_memory.schemas.answers.memory import ReinforceAnswer
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.views.lessons import reinforce_answer


async def reinforce_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    pattern_id: Annotated[
        Key, Field(description="A pattern id of yours, or the key of a knowledge entry")
    ],
    confidence: Annotated[Confidence | None, Field(description="How sure you are now")] = None,
    evidence: Annotated[EvidenceText, Field(description="What you saw this time")] = "",
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed",
    request_id: Annotated[Name | None, Field(description="Makes a repeated call harmless")] = None,
) -> ReinforceAnswer:
    """Report that a lesson helped (confirmed) or proved wrong (contradicted), whenever you relied
    on one.

    Confirming keeps it from fading and revives a stale one; contradicting lowers its confidence.
    About a shared lesson or a knowledge key the word is for the whole fleet and counts only with
    evidence: enough independent contradictions retire the entry.
    """
    fleet.caller.require_write(program_id)
    report = OutcomeReport(
        outcome=outcome,
        confidence=confidence,
        evidence=evidence,
        now=fleet.now(),
        request_id=request_id,
        session_id=fleet.caller.session_id,
        connection=fleet.caller.connection,
        token=fleet.caller.token_id,
    )
    reported = await record_word(fleet, program_id, pattern_id, report)
    return reinforce_answer(reported, report)
