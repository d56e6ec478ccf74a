"""What an agent's report does: to a pattern of its own, or to an entry of the fleet."""

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.knowledge import status
from fleet_memory.rules.lifecycle.admission import pattern_of
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.lifecycle.idempotency import with_request
from fleet_memory.rules.lifecycle.reinforcement import contradicted, reinforced
from fleet_memory.schemas.knowledge import Contradiction, Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.patterns import Outcome, Pattern
from fleet_memory.schemas.programs import Archived, Program


class OutcomeReport(NamedTuple):
    """What an agent reports about a lesson."""

    outcome: Outcome
    confidence: float | None
    evidence: str
    now: datetime
    request_id: str | None = None
    session_id: str | None = None


class Applied(NamedTuple):
    """A program after an outcome."""

    program: Program
    pattern: Pattern
    revived: bool
    archived: tuple[Archived, ...] = ()


def applied(program: Program, pattern_id: str, report: OutcomeReport) -> Applied | None:
    """Return the program after a report about one of its patterns; None when it has none of that id."""
    old = pattern_of(program, pattern_id)
    if old is None:
        return None
    request = f"{old.id} {report.request_id}" if report.request_id else None  # another pattern is another request
    if request in program.request_ids:
        return Applied(program, old, revived=False)
    change = reinforced if report.outcome == "confirmed" else contradicted
    new = change(old, now=report.now, confidence=report.confidence, evidence=report.evidence)
    revived = is_stale(old, report.now, program.decay) and not is_stale(new, report.now, program.decay)
    again = revived and new.knowledge_key is None and new.id not in program.pending  # consolidation passed it over
    after = replace(
        program,
        patterns={**program.patterns, new.id: new},
        pending=(*program.pending, new.id) if again else program.pending,
        request_ids=with_request(program.request_ids, request),
    )
    return Applied(after, new, revived)


def recorded(entry: Entry, program_id: str, report: OutcomeReport) -> tuple[Entry, LedgerLine]:
    """Return the entry after a program's report, the same object for a known request, and the line for the ledger."""
    request = f"{program_id} {report.request_id}" if report.request_id else None
    event: LedgerEvent = report.outcome
    after = entry
    if request is None or request not in entry.request_ids:
        if report.outcome == "confirmed":
            after = status.confirmed_entry(entry, now=report.now, request_id=request)
        else:
            word = Contradiction(
                program_id=program_id, at=report.now, session_id=report.session_id, evidence=report.evidence
            )
            after = status.contradicted_entry(entry, word, request_id=request)
    if after.status != entry.status:
        event = "retired"
    return after, LedgerLine(event=event, key=entry.key, at=report.now, by=program_id, why=report.evidence)
