"""Leave a session: everything it taught, in one commit, and then its verdicts, one by one."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.jobs.entry_drafts import read_drafts
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.log_lines import log_session
from fleet_memory.jobs.publishing import publish_changes, publish_if_due
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.consensus.asking import ChosenQuestions, chosen_questions, with_questions
from fleet_memory.rules.knowledge.state import EntryChange
from fleet_memory.rules.lifecycle.notes import NewNote
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport
from fleet_memory.rules.lifecycle.sent import SentLesson, timestamp_problem
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.answers.state import SessionAnswer
from fleet_memory.schemas.fields import HandoffText, Name, outlined_as
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Program, ProgramRecord
from fleet_memory.schemas.session import (
    MissingQuestions,
    SessionLessons,
    SessionNotes,
    SessionReport,
    SessionReports,
)
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.stores import Write
from fleet_memory.tools.asking import AskedPairs, asked_pairs, leave_ignored, to_judge_answers
from fleet_memory.tools.parameters import OwnProgram, RequestId
from fleet_memory.tools.session_items import SentSession, SessionWork
from fleet_memory.tools.session_receipts import (
    Receipt,
    SessionRequest,
    read_repeated,
    receipt_write,
    with_session,
)
from fleet_memory.tools.store_memory import embed_lessons
from fleet_memory.tools.update_program_state import Update, patch_of
from fleet_memory.tools.verdicts import SessionVerdicts, judged_answer


class CommittedSession(NamedTuple):
    """A program after a session, the answer, and the entries of the fleet that have another state.

    `is_new` is True if it was committed now; `since` is the time of the first call of a repeated
    session.
    """

    program: Program
    archived: Sequence[ProgramRecord]
    answer: SessionAnswer
    changes: tuple[EntryChange, ...] = ()
    chosen: ChosenQuestions = ChosenQuestions()
    since: datetime | None = None
    is_new: bool = True


async def commit_session(
    fleet: Fleet,
    program_id: OwnProgram,
    patterns: SessionLessons = (),
    reinforcements: SessionReports = (),
    verdicts: SessionVerdicts = (),
    handoff: Annotated[
        HandoffText | None, Field(description="What is done and open, in words")
    ] = None,
    context_summary: Annotated[
        ContextSummary | None,
        outlined_as(),
        Field(
            description="Or fields: lastTask{title, outcome, notes}, activeWorkItems[], "
            "handoffNotes, openQuestions[]"
        ),
    ] = None,
    notes: SessionNotes = (),
    missing: MissingQuestions = (),
    session_id: Annotated[Name | None, Field(description="One session is one origin")] = None,
    request_id: RequestId = None,
) -> SessionAnswer:
    """Call this once before you stop: it hands over, and stores what you have not stored yet, in
    one commit.

    {"programId": "basher", "patterns": [...], "handoff": "Orders migrated; invoices next",
    "missing": ["Who owns CI?"]}

    An item that cannot be applied fails alone. The same call within ten minutes stores nothing
    twice.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    _require_sound(patterns, reinforcements, now)
    summary = _with_notes(context_summary, handoff)
    items = (*patterns, *reinforcements, *((summary,) if summary else ()), *notes, *verdicts)
    answered = {verdict.pair_id: verdict.verdict for verdict in verdicts}
    lessons, asked = await _embed_and_read_pairs(fleet, program_id, patterns, session_id, answered)
    session = SentSession(
        request=SessionRequest(
            request_id, digest(session_id or "", *map(_as_sent, items), *missing)
        ),
        lessons=lessons,
        reports=[
            (report.pattern_id, _report(fleet.caller, report, session_id, now))
            for report in reinforcements
        ],
        handoff=Update(patch_of(summary), None, None, now) if summary else None,
        notes=[NewNote(note.text, note.pinned, None, now) for note in notes],
        missing=missing,
        profile=fleet.embedder.profile,
        asked=asked,
        answered=answered,
        known_domains=fleet.knowledge.snapshots.known_domains(),
        close_keys=fleet.knowledge.snapshots.known_close_keys,
        now=now,
    )

    async def change(program: Program) -> tuple[CommittedSession, Sequence[Write]]:
        return await _changed(fleet, program, session)

    left = await fleet.programs.update_with(program_id, change, now)
    await leave_ignored(fleet, program_id, session.asked, left.chosen)
    judged = await judge(
        fleet,
        Judge(program_id, fleet.caller.connection, fleet.caller.token_id, left.since),
        verdicts,
    )
    await publish_changes(fleet, program_id, left.changes)
    if not left.changes and any(map(_is_visible, judged)):
        await publish_if_due(fleet)
    failed = left.answer.failed + sum(isinstance(outcome, Refused) for outcome in judged)
    if left.is_new:
        log_session(program_id, len(patterns), len(reinforcements), len(notes), failed)
    return replace(left.answer, failed=failed, judged=tuple(map(judged_answer, judged)) or None)


def _is_visible(outcome: Judged | Refused) -> bool:
    return isinstance(outcome, Judged) and outcome.change is not None and outcome.change.is_visible


async def _embed_and_read_pairs(
    fleet: Fleet,
    program_id: str,
    patterns: Sequence[NewPattern],
    session_id: str | None,
    answered: Collection[str],
) -> tuple[list[SentLesson], AskedPairs]:
    """Return a session's lessons, embedded while the pairs are read that the answer may ask about,
    and these.
    """
    sent = [_of_session(pattern, session_id) for pattern in patterns]

    async def read_pairs() -> AskedPairs:
        policy = await fleet.policies.read(fleet.now())
        return await asked_pairs(fleet, program_id, policy, answered=answered, third=True)

    return await run_all(partial(embed_lessons, fleet, sent), read_pairs)


def _require_sound(
    patterns: Sequence[NewPattern], reinforcements: Sequence[SessionReport], now: datetime
) -> None:
    for position, pattern in enumerate(patterns):
        if problem := timestamp_problem(pattern, now, f"patterns.{position}"):
            raise InvalidArgumentError(problem)
    named: set[str] = set()
    for position, report in enumerate(reinforcements):
        if report.pattern_id in named:
            raise InvalidArgumentError(
                f"reinforcements.{position}.patternId: named before; report one outcome for "
                "each lesson"
            )
        named.add(report.pattern_id)


def _with_notes(summary: ContextSummary | None, handoff: str | None) -> ContextSummary | None:
    """Return the summary with the handoff as its notes. Raises InvalidArgumentError when it has
    notes already.
    """
    if handoff is None or not handoff.strip():
        return summary
    sent = summary.model_dump(by_alias=True, exclude_unset=True) if summary else {}
    if sent.get("handoffNotes") is not None:
        raise InvalidArgumentError(
            "handoff: handoffNotes was sent too, and nothing was written; send one of the two"
        )
    return ContextSummary.model_validate({**sent, "handoffNotes": handoff})


def _of_session(pattern: NewPattern, session_id: str | None) -> NewPattern:
    if pattern.session_id or not session_id:
        return pattern
    sent = pattern.model_dump(by_alias=True, exclude_unset=True)
    return NewPattern.model_validate({**sent, "sessionId": session_id})


def _as_sent(item: BaseModel) -> str:
    return item.model_dump_json(by_alias=True, exclude_unset=True)


def _report(
    caller: Caller, sent: SessionReport, session_id: str | None, now: datetime
) -> OutcomeReport:
    return OutcomeReport(
        outcome=sent.outcome,
        confidence=sent.confidence,
        evidence=sent.evidence,
        now=now,
        session_id=session_id or caller.session_id,
        connection=caller.connection,
        token=caller.token_id,
    )


async def _changed(
    fleet: Fleet, program: Program, session: SentSession
) -> tuple[CommittedSession, Sequence[Write]]:
    repeated = await read_repeated(fleet.programs, program, session.request, session.now)
    if repeated is not None:
        again = [pair for pair in session.asked.pairs if pair.pair_id in repeated.asked]
        return _asked(program, repeated.answer, session, again)._replace(
            since=repeated.at, is_new=False
        ), []
    work = SessionWork(
        program, await read_drafts(fleet, session.entry_keys(program), session.now), session.now
    )
    answer = work.apply(session)
    if session.lessons:
        answer = replace(answer, similarity_engine=fleet.degraded_engine)
    number = program.sessions
    requests = with_session(work.program, session.request, number)
    after = replace(work.program, request_ids=requests, sessions=number + 1)
    left = _asked(after, answer, session, session.asked.pairs)
    receipt = Receipt(
        session.request.call,
        answer,
        session.now,
        [pair.pair_id for pair in left.answer.to_judge or ()],
    )
    write = receipt_write(fleet.programs, number, receipt, after.patterns_count)
    writes = [*work.drafts.writes(fleet, program.program_id), write]
    return left._replace(archived=work.archived, changes=work.drafts.changes), writes


def _asked(
    program: Program, answer: SessionAnswer, session: SentSession, pairs: Sequence[Pair]
) -> CommittedSession:
    """Return the program after it was shown the pairs that the answer asks about; receipts leave
    out their texts.
    """
    chosen = chosen_questions(
        program, pairs, session.now, answered=session.answered, joined=session.joined
    )
    answer = replace(answer, to_judge=tuple(to_judge_answers(program, chosen)) or None)
    return CommittedSession(with_questions(program, chosen, session.now), (), answer, chosen=chosen)
