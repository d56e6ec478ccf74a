"""Record how a lesson did."""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.errors import ConflictError, PatternNotFoundError, StoreError
from fleet_memory.rules import ageing
from fleet_memory.rules.admission import pattern_of
from fleet_memory.rules.decay import is_stale, strength
from fleet_memory.rules.reinforcement import contradicted, reinforced
from fleet_memory.rules.requests import remembered
from fleet_memory.rules.waiting import touched
from fleet_memory.schemas.answers import ReinforceAnswer
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name
from fleet_memory.schemas.knowledge import Contradiction, Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.patterns import Outcome, Pattern
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores.consolidation import leased
from fleet_memory.tools import Fleet

KEY_PREFIXES = ("pattern/", "constitution/")


class Applied(NamedTuple):
    """A program after an outcome."""

    program: Program
    pattern: Pattern
    revived: bool
    archived: tuple[Archived, ...] = ()


class Report(NamedTuple):
    """What an agent reports about a lesson."""

    outcome: Outcome
    confidence: float | None
    evidence: str
    request_id: str | None
    now: datetime


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
    report = Report(outcome, confidence, evidence, request_id, fleet.now())
    try:
        done = await fleet.programs.update(program_id, lambda program: _applied(program, pattern_id, report))
    except PatternNotFoundError:
        if not pattern_id.startswith(KEY_PREFIXES):
            raise
        return await _entry_answer(fleet, program_id, pattern_id, report)
    pattern = done.pattern
    return ReinforceAnswer(
        pattern_id=pattern.id,
        confidence=round(pattern.confidence, 4),
        strength=round(strength(pattern, report.now), 4),
        reinforcements=pattern.confirmations,
        last_reinforced=pattern.last_reinforced,
        revived=done.revived,
    )


def _applied(program: Program, pattern_id: str, report: Report) -> Applied:
    old = pattern_of(program, pattern_id)
    if old is None:
        raise PatternNotFoundError(program.program_id, pattern_id)
    request = f"{old.id} {report.request_id}" if report.request_id else None  # another pattern is another request
    if request in program.request_ids:
        return Applied(program, old, revived=False)
    change = reinforced if report.outcome == "confirmed" else contradicted
    new = change(old, now=report.now, confidence=report.confidence, evidence=report.evidence)
    revived = is_stale(old, report.now, program.decay) and not is_stale(new, report.now, program.decay)
    again = revived and new.knowledge_key is None and new.id not in program.pending  # consolidation passed it over
    after = program.changed(
        patterns={**program.patterns, new.id: new},
        pending=(*program.pending, new.id) if again else program.pending,
        touched=touched(program, new.domain),
        last_update=report.now,
        request_ids=remembered(program.request_ids, request),
    )
    return Applied(after, new, revived)


async def _entry_answer(fleet: Fleet, program_id: str, key: str, report: Report) -> ReinforceAnswer:
    entry = await fleet.knowledge.update(key, lambda entry: _recorded(entry, program_id, report))
    await _told_the_fleet(fleet)
    against = tuple(word.program_id for word in entry.contradictions)
    return ReinforceAnswer(
        pattern_id=key,
        confidence=entry.value.confidence,
        strength=entry.value.confidence,
        reinforcements=entry.confirmations,
        last_reinforced=entry.last_confirmed,
        revived=False,
        status="retired" if entry.status == "retired" else ageing.status(entry.last_confirmed, against, report.now),
    )


async def _told_the_fleet(fleet: Fleet) -> None:
    """Publish at once what is now known of an entry; while a consolidation runs, the next one does.

    The outcome is stored already: whatever goes wrong here must not tell the agent otherwise.
    """
    with suppress(ConflictError, StoreError):
        async with leased(fleet.programs, fleet.knowledge, fleet.now) as hands:
            if hands is not None:
                await hands.publish()


def _recorded(entry: Entry, program_id: str, report: Report) -> tuple[Entry, LedgerLine]:
    request = f"{program_id} {report.request_id}" if report.request_id else None
    event: LedgerEvent = report.outcome
    after = entry
    if request is None or request not in entry.request_ids:
        if report.outcome == "confirmed":
            after = ageing.confirmed(entry, now=report.now, request_id=request)
        else:
            word = Contradiction(program_id=program_id, at=report.now, evidence=report.evidence)
            after = ageing.contradicted(entry, word, request_id=request)
    if after.status != entry.status:
        event = "retired"
    return after, LedgerLine(event=event, key=entry.key, at=report.now, by=program_id, why=report.evidence)
