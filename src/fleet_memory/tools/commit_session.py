"""Leave a session: everything it taught, in one commit, and then its verdicts, one by one."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from fleet_memory.errors import FleetMemoryError, InvalidArgumentError, PatternNotFoundError
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.jobs.entry_drafts import EntryDrafts, drafted_store, read_drafts
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.publishing import publish_if_due
from fleet_memory.jobs.words import entry_key, with_word
from fleet_memory.repositories.queueing import ChangeResult
from fleet_memory.repositories.room import with_room
from fleet_memory.rules.consensus.asking import ChosenQuestions, chosen_questions, with_questions
from fleet_memory.rules.lifecycle.admission import admitted, pattern_of
from fleet_memory.rules.lifecycle.idempotency import request_key, result_of, with_request
from fleet_memory.rules.lifecycle.notes import NewNote, added
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport
from fleet_memory.rules.lifecycle.sent import SentLesson, timestamp_problem
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.answers.state import GoneNote, NotedItem, ReinforcedItem, SessionAnswer, StoredItem
from fleet_memory.schemas.fields import Confidence, EvidenceText, Key, Name, NoteText
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import NewPattern, Outcome
from fleet_memory.schemas.programs import Program, ProgramRecord
from fleet_memory.schemas.similarity import Profile
from fleet_memory.schemas.state import ContextSummary
from fleet_memory.schemas.value import Input
from fleet_memory.stores import Write
from fleet_memory.tools.asking import AskedPairs, asked_pairs, leave_ignored, to_judge_answers
from fleet_memory.tools.note_room import require_room_for_notes
from fleet_memory.tools.session_receipts import Receipt, read_receipt, receipt_write
from fleet_memory.tools.store_memory import embedded
from fleet_memory.tools.update_program_state import Update, patch_of, updated
from fleet_memory.tools.verdicts import Verdicts, judged_answer
from fleet_memory.views.lessons import evicted_answer, reinforce_answer

MAX_LESSONS: Final = 20
MAX_REPORTS: Final = 50
MAX_NOTES: Final = 20


class SessionReport(Input):
    """A session's word about one lesson."""

    pattern_id: Annotated[Key, Field(description="A pattern id of yours, or the key of a knowledge entry")]
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed"
    confidence: Annotated[Confidence | None, Field(description="How sure you are now; unchanged when absent")] = None
    evidence: Annotated[EvidenceText, Field(description="What you saw")] = ""


class SessionNote(Input):
    """A short-term note of a session."""

    text: Annotated[NoteText, Field(description="What to keep in mind, up to 500 characters")]
    pinned: Annotated[bool, Field(strict=True, description="Whether the cap must spare it")] = False


class SentSession(NamedTuple):
    """What one session leaves, as it was sent and with vectors; `call` is a digest of what was sent."""

    request_id: str
    call: str
    lessons: Sequence[SentLesson]
    reports: Sequence[tuple[str, OutcomeReport]]
    handoff: Update
    notes: Sequence[NewNote]
    profile: Profile
    asked: AskedPairs
    answered: Collection[str]
    now: datetime


class Done(NamedTuple):
    """A program after a session, the answer, and whether an entry of the fleet has another state.

    `since` is when a session that is repeated came first.
    """

    program: Program
    archived: Sequence[ProgramRecord]
    answer: SessionAnswer
    state_changed: bool = False
    chosen: ChosenQuestions = ChosenQuestions()
    since: datetime | None = None


@dataclass
class _Work:
    """A session while it is applied, item by item: the program, the entries, and the records for the archive."""

    program: Program
    drafts: EntryDrafts
    now: datetime
    kept: list[ProgramRecord] = field(default_factory=list)

    def accept(self, change: ChangeResult, drafts: EntryDrafts | None = None) -> None:
        """Go on from an item, or raise CapacityExceededError when the program would outgrow its document."""
        room = with_room(self.program, change.program, self.now)
        self.program = room.program
        self.drafts = drafts or self.drafts
        self.kept += [*change.archived, *room.archived]


async def commit_session(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program")],
    request_id: Annotated[Name, Field(description="Your name for this call; repeat the call with the same one")],
    patterns: Annotated[
        tuple[NewPattern, ...], Field(max_length=MAX_LESSONS, description="Lessons, as for store_memory")
    ] = (),
    reinforcements: Annotated[
        tuple[SessionReport, ...], Field(max_length=MAX_REPORTS, description="Lessons that proved true or false")
    ] = (),
    context_summary: Annotated[ContextSummary | None, Field(description="What you hand over, merged in")] = None,
    notes: Annotated[tuple[SessionNote, ...], Field(max_length=MAX_NOTES, description="Short-term notes")] = (),
    session_id: Annotated[Name | None, Field(description="Your session; one session counts as one origin")] = None,
    verdicts: Verdicts = (),
) -> SessionAnswer:
    """Call this once before you stop: it stores lessons, reinforces those that helped and hands over, in one commit.

    It is written whole or not at all; then each of `verdicts` on the pairs of `toJudge` counts by itself. Each item has
    its own result; one that cannot be applied, for example an unknown patternId, fails alone. A repeated call with the
    same requestId stores nothing twice and answers the same.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    _require_sound(patterns, reinforcements, now)
    sent = (*patterns, *reinforcements, *((context_summary,) if context_summary else ()), *notes, *verdicts)
    answered = {verdict.pair_id for verdict in verdicts}
    session = SentSession(
        request_id=request_id,
        call=digest(session_id or "", *(one.model_dump_json(by_alias=True, exclude_unset=True) for one in sent)),
        lessons=await embedded(fleet, [_of_session(one, session_id) for one in patterns]) if patterns else [],
        reports=[(one.pattern_id, _report(fleet.caller, one, session_id, now)) for one in reinforcements],
        handoff=Update(patch_of(context_summary), None, None, now),
        notes=[NewNote(one.text, one.pinned, None, now) for one in notes],
        profile=fleet.embedder.profile,
        asked=await asked_pairs(fleet, program_id, await fleet.policies.read(now), answered=answered, third=True),
        answered=answered,
        now=now,
    )

    async def change(program: Program) -> tuple[Done, Sequence[Write]]:
        return await _changed(fleet, program, session)

    done = await fleet.programs.update_with(program_id, change, now)
    await leave_ignored(fleet, program_id, session.asked, done.chosen)
    judged = await judge(fleet, Judge(program_id, fleet.caller.connection, done.since), verdicts) if verdicts else []
    visible = any(one.change is not None and one.change.is_visible for one in judged if isinstance(one, Judged))
    if done.state_changed or visible:
        await publish_if_due(fleet)
    failed = done.answer.failed + sum(isinstance(one, Refused) for one in judged)
    return replace(done.answer, failed=failed, judged=tuple(map(judged_answer, judged)) or None)


def _report(caller: Caller, sent: SessionReport, session_id: str | None, now: datetime) -> OutcomeReport:
    return OutcomeReport(
        outcome=sent.outcome,
        confidence=sent.confidence,
        evidence=sent.evidence,
        now=now,
        session_id=session_id or caller.session_id,
        connection=caller.connection,
    )


def _require_sound(patterns: Sequence[NewPattern], reinforcements: Sequence[SessionReport], now: datetime) -> None:
    for position, pattern in enumerate(patterns):
        if problem := timestamp_problem(pattern, now, f"patterns.{position}"):
            raise InvalidArgumentError(problem)
    named: set[str] = set()
    for position, one in enumerate(reinforcements):
        if one.pattern_id in named:
            raise InvalidArgumentError(f"reinforcements.{position}.patternId: named before; say one thing of a lesson")
        named.add(one.pattern_id)


def _of_session(pattern: NewPattern, session_id: str | None) -> NewPattern:
    if pattern.session_id or not session_id:
        return pattern
    sent = pattern.model_dump(by_alias=True, exclude_unset=True)
    return NewPattern.model_validate({**sent, "sessionId": session_id})


async def _changed(fleet: Fleet, program: Program, session: SentSession) -> tuple[Done, Sequence[Write]]:
    known = result_of(program.request_ids, "session", session.request_id)
    if known is not None:
        receipt = await read_receipt(fleet.programs, program.program_id, int(known), session.call)
        if receipt is None:
            raise InvalidArgumentError(
                f"requestId: {session.request_id!r} was used for another session, and nothing was written now; "
                "give this one a name of its own"
            )
        again = [pair for pair in session.asked.pairs if pair.pair_id in receipt.asked]
        return _asked(program, receipt.answer, session, again)._replace(since=receipt.at), []
    drafts = await read_drafts(fleet, _keys(program, session), session.now)
    work = _Work(program, drafts, session.now)
    answer = _applied(fleet, work, session)
    number = program.sessions
    requests = with_request(work.program.request_ids, request_key("session", session.request_id, str(number)))
    after = replace(work.program, request_ids=requests, sessions=number + 1)
    done = _asked(after, answer, session, session.asked.pairs)
    receipt = Receipt(session.call, answer, session.now, [one.pair_id for one in done.answer.to_judge or ()])
    write = receipt_write(fleet.programs, number, receipt)
    writes = [*work.drafts.writes(fleet, program.program_id), write]
    return done._replace(archived=work.kept, state_changed=work.drafts.state_changed), writes


def _asked(program: Program, answer: SessionAnswer, session: SentSession, pairs: Sequence[Pair]) -> Done:
    """Return the program after it was shown the pairs that the answer asks about; no receipt keeps their texts."""
    chosen = chosen_questions(program, pairs, session.now, answered=session.answered)
    answer = replace(answer, to_judge=tuple(to_judge_answers(program, chosen)) or None)
    return Done(with_questions(program, chosen, session.now), (), answer, chosen=chosen)


def _keys(program: Program, session: SentSession) -> list[str]:
    """Return the keys of the entries that a session may change: of its words and of the lessons it stores again."""
    keys: list[str | None] = []
    for about, _ in session.reports:
        with suppress(PatternNotFoundError):  # its item says so
            keys.append(entry_key(program, about))
    lessons = [pattern_of(program, lesson.id) for lesson in session.lessons]
    keys += [lesson.knowledge_key for lesson in lessons if lesson is not None]
    return [key for key in keys if key]


def _applied(fleet: Fleet, work: _Work, session: SentSession) -> SessionAnswer:
    """Apply a session's items: first what is known, so that no new lesson evicts what helped."""
    reinforcements = [_reinforced(work, pattern_id, report) for pattern_id, report in session.reports]
    patterns = [_stored(work, lesson, session) for lesson in session.lessons]
    handed = updated(work.program, session.handoff)
    work.accept(handed)
    notes = [_noted(work, note) for note in session.notes]
    items: list[StoredItem | ReinforcedItem | NotedItem] = [*patterns, *reinforcements, *notes]
    return SessionAnswer(
        similarity_engine=fleet.degraded_engine if session.lessons else None,
        program_id=work.program.program_id,
        failed=sum(one.status == "failed" for one in items),
        patterns=tuple(patterns),
        reinforcements=tuple(reinforcements),
        notes=tuple(notes),
        version=work.program.state_version,
        patterns_count=len(work.program.patterns),
    )


def _reinforced(work: _Work, pattern_id: str, report: OutcomeReport) -> ReinforcedItem:
    try:
        said, drafts = with_word(work.drafts, work.program, pattern_id, report)
        work.accept(said, drafts)
    except FleetMemoryError as error:
        return ReinforcedItem(status="failed", pattern_id=pattern_id, error=_said(error))
    answer = reinforce_answer(said, report)
    return ReinforcedItem(
        status=report.outcome,
        pattern_id=answer.pattern_id,
        confidence=answer.confidence,
        strength=answer.strength,
        revived=answer.revived or None,
        knowledge=answer.knowledge,
        note=answer.note,
    )


def _stored(work: _Work, lesson: SentLesson, session: SentSession) -> StoredItem:
    sent = admitted(work.program, lesson, profile=session.profile, now=session.now)
    done, drafts = drafted_store(work.drafts, sent)
    try:
        work.accept(done, drafts)
    except FleetMemoryError as error:
        return StoredItem(status="failed", pattern_id=lesson.id, error=_said(error))
    return StoredItem(
        status=done.status,
        pattern_id=done.pattern.id,
        duplicate_of=done.duplicate.pattern.id if done.duplicate else None,
        related=tuple(near.pattern.id for near in done.related) or None,
        evicted=tuple(evicted_answer(line.pattern) for line in done.archived) or None,
    )


def _noted(work: _Work, note: NewNote) -> NotedItem:
    try:
        done = require_room_for_notes(added(work.program, note))
        work.accept(done)
    except FleetMemoryError as error:
        return NotedItem(status="failed", error=_said(error))
    archived = tuple(GoneNote(id=gone.note.id, text=gone.note.text) for gone in done.archived)
    return NotedItem(status="added", note_id=done.note_id, archived=archived or None)


def _said(error: FleetMemoryError) -> str:
    return f"{error.code}: {error}"
