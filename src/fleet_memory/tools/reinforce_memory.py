"""Record how a lesson did."""

from contextlib import suppress
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import ConflictError, LeaseLostError, PatternNotFoundError, StoreError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import leased
from fleet_memory.rules.knowledge import status
from fleet_memory.rules.lifecycle.decay import strength
from fleet_memory.rules.lifecycle.reports import Applied, OutcomeReport, applied, recorded
from fleet_memory.schemas.answers.memory import ReinforceAnswer
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import Outcome
from fleet_memory.schemas.programs import Program

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
        await told_the_fleet(fleet)
        return entry_answer(entry, report)
    return pattern_answer(done, report)


def is_key(pattern_id: str) -> bool:
    """Whether an id that is no pattern of the program's may be the key of an entry."""
    return pattern_id.startswith(KEY_PREFIXES)


def reported(program: Program, pattern_id: str, report: OutcomeReport) -> Applied:
    """Return the program after a report. Raises PatternNotFoundError."""
    done = applied(program, pattern_id, report)
    if done is None:
        raise PatternNotFoundError(program.program_id, pattern_id)
    return done


def pattern_answer(done: Applied, report: OutcomeReport) -> ReinforceAnswer:
    """Return where a pattern stands after a report."""
    pattern = done.pattern
    return ReinforceAnswer(
        pattern_id=pattern.id,
        confidence=round(pattern.confidence, 4),
        strength=round(strength(pattern, report.now), 4),
        reinforcements=pattern.confirmations,
        last_reinforced=pattern.last_reinforced,
        revived=done.revived,
    )


def entry_answer(entry: Entry, report: OutcomeReport) -> ReinforceAnswer:
    """Return where an entry stands after a report."""
    against = tuple(word.program_id for word in entry.contradictions)
    return ReinforceAnswer(
        pattern_id=entry.key,
        confidence=entry.value.confidence,
        strength=entry.value.confidence,
        reinforcements=entry.confirmations,
        last_reinforced=entry.last_confirmed,
        revived=False,
        status="retired" if entry.status == "retired" else status.status(entry.last_confirmed, against, report.now),
    )


async def told_the_fleet(fleet: Fleet) -> None:
    """Publish at once what is now known of an entry; while a consolidation runs, the next one does.

    The outcome is stored already: whatever goes wrong here must not tell the agent otherwise.
    """
    with suppress(ConflictError, LeaseLostError, StoreError):
        async with leased(fleet) as writer:
            if writer is not None:
                await writer.publish()
