"""Record how a lesson did."""

from typing import Annotated

from pydantic import Field

from fleet_memory.errors import PatternNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import publish_unless_busy
from fleet_memory.rules.lifecycle.reports import Applied, OutcomeReport, applied, recorded
from fleet_memory.schemas.answers.memory import ReinforceAnswer
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.programs import Program
from fleet_memory.views.lessons import reinforced_entry_answer, reinforced_pattern_answer

KEY_PREFIXES = ("pattern/", "constitution/")


async def reinforce_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    pattern_id: Annotated[Key, Field(description="A pattern id of yours, or the key of a knowledge entry")],
    confidence: Annotated[
        Confidence | None, Field(description="How sure you are now, 0 to 1; unchanged when absent")
    ] = None,
    evidence: Annotated[EvidenceText, Field(description="What you saw this time")] = "",
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed",
    request_id: Annotated[Name | None, Field(description="Makes a repeated call harmless")] = None,
) -> ReinforceAnswer:
    """Say that a lesson helped (confirmed) or proved wrong (contradicted), whenever you relied on one.

    Confirming keeps it from fading and revives a stale one; contradicting lowers its confidence. With the key of a
    knowledge entry the word goes to the whole fleet: enough independent contradictions retire the entry.
    """
    fleet.caller.require_write(program_id)
    report = OutcomeReport(outcome, confidence, evidence, fleet.now(), request_id)
    try:
        done = await fleet.programs.update(
            program_id, lambda program: reported(program, pattern_id, report), report.now
        )
    except PatternNotFoundError:
        if not is_key(pattern_id):
            raise
        entry = await fleet.knowledge.update(pattern_id, lambda entry: recorded(entry, program_id, report))
        await publish_unless_busy(fleet)
        return reinforced_entry_answer(entry, report)
    return reinforced_pattern_answer(done, report)


def is_key(pattern_id: str) -> bool:
    """Whether an id that is no pattern of the program's may be the key of an entry."""
    return pattern_id.startswith(KEY_PREFIXES)


def reported(program: Program, pattern_id: str, report: OutcomeReport) -> Applied:
    """Return the program after a report. Raises PatternNotFoundError."""
    done = applied(program, pattern_id, report)
    if done is None:
        raise PatternNotFoundError(program.program_id, pattern_id)
    return done
