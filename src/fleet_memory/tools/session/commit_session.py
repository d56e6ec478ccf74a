"""Leave a session: its verdicts, one by one, and then everything it taught, in one commit.

The verdicts come first: they are about the texts as they were shown, not as the session rewrites
them.

A program remembers each session by its name, or by its content for ten minutes, with the items that
failed. A repetition carries these out alone, and answers the others from the memory as it is.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, Field

from fleet_memory.errors import (
    CapacityExceededError,
    FleetMemoryError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    PatternNotFoundError,
)
from fleet_memory.fleet import Fleet, Tool, Toolset
from fleet_memory.jobs.auditing import log_session
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.publishing import publish_changes, publish_if_due
from fleet_memory.jobs.storing import drafted_store, embed_lessons, ids_in_pairs
from fleet_memory.jobs.words import (
    drafted_report,
    entries_of_word,
    keys_of_word,
    with_others,
)
from fleet_memory.repositories.programs import ChangeResult, with_room
from fleet_memory.rules.entries import EntryChange
from fleet_memory.rules.lifecycle.admission import (
    RETRY_WITHIN,
    SentLesson,
    admitted,
    change_problem,
    keys_of_store,
    pattern_of,
    same_lessons,
    timestamp_problem,
)
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport, Reported
from fleet_memory.rules.lifecycle.stamping import (
    ProgramChange,
    request_key,
    result_of,
    stamped,
    with_request,
)
from fleet_memory.rules.lifecycle.state import NewNote, added, distinct_questions, with_missing
from fleet_memory.rules.text.keys import digest
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.fields import (
    Confidence,
    EvidenceText,
    HandoffText,
    Key,
    LineText,
    Name,
    NoteText,
    outlined_as,
)
from fleet_memory.schemas.patterns import NewPattern, Outcome, StoreStatus
from fleet_memory.schemas.programs import Program, ProgramRecord
from fleet_memory.schemas.value import Input, Value
from fleet_memory.stores import Write
from fleet_memory.tools.core.judging import JudgedAnswer, SessionVerdicts, judged_answer
from fleet_memory.tools.core.lessons import (
    EvictedPattern,
    better_known_domain,
    evicted_answers,
    reinforce_answer,
    steering_note,
)
from fleet_memory.tools.session.shapes import session_as_meant
from fleet_memory.tools.shared import (
    Degraded,
    EntryStanding,
    OwnProgram,
    RequestId,
)
from fleet_memory.tools.state import (
    ContextSummary,
    GoneNote,
    Update,
    gone_notes,
    patch_of,
    require_room_for_notes,
    updated,
)

MAX_LESSONS: Final = 20
MAX_REPORTS: Final = 50
MAX_NOTES: Final = 20
MAX_MISSING_SENT: Final = 10
MAX_HINTS: Final = 5  # close names are sought among all that there are; chosen


class SessionReport(Input):
    """A session's word about one lesson."""

    pattern_id: Annotated[
        Key, Field(description="A pattern id of yours, or a key of `knowledge` or `others`")
    ]
    outcome: Annotated[Outcome, Field(description="Whether it proved true or false")] = "confirmed"
    confidence: Annotated[
        Confidence | None, Field(description="How sure you are now; unchanged when absent")
    ] = None
    evidence: Annotated[EvidenceText, Field(description="What you saw")] = ""


class SessionNote(Input):
    """A short-term note of a session."""

    text: Annotated[NoteText, Field(description="What to keep in mind, up to 500 characters")]
    pinned: Annotated[bool, Field(strict=True, description="Whether the cap must spare it")] = False


SessionLessons: TypeAlias = Annotated[
    tuple[
        Annotated[
            NewPattern,
            outlined_as("pattern", "domain", "confidence", "evidence", "id", "projectId", "change"),
        ],
        ...,
    ],
    Field(max_length=MAX_LESSONS, description="As for store_memory"),
]
SessionReports: TypeAlias = Annotated[
    tuple[
        Annotated[SessionReport, outlined_as("patternId", "outcome", "confidence", "evidence")], ...
    ],
    Field(max_length=MAX_REPORTS, description="As for reinforce_memory"),
]
SessionNotes: TypeAlias = Annotated[
    tuple[Annotated[SessionNote, outlined_as("text", "pinned")], ...],
    Field(max_length=MAX_NOTES, description="As for write_note"),
]
MissingQuestions: TypeAlias = Annotated[
    tuple[LineText, ...],
    Field(max_length=MAX_MISSING_SENT, description="Questions memory could not answer"),
]


class StoredItem(Value):
    """The outcome for one lesson of a session; `related` are ids, `error`: why it failed."""

    status: StoreStatus | Literal["failed"]
    pattern_id: str | None = None
    duplicate_of: str | None = None
    related: tuple[str, ...] | None = None
    domain_hint: str | None = None
    note: str | None = None
    error: str | None = None


class ReinforcedItem(Value):
    """One lesson after a session's word about it; `error`: why it failed."""

    status: Outcome | Literal["failed"]
    pattern_id: str
    confidence: float | None = None
    strength: float | None = None
    revived: bool | None = None
    knowledge: EntryStanding | None = None
    note: str | None = None
    error: str | None = None


class NotedItem(Value):
    """The outcome for one note of a session."""

    status: Literal["added", "failed"]
    note_id: str | None = None
    archived: tuple[GoneNote, ...] | None = None
    error: str | None = None


class SessionAnswer(Degraded):
    """The outcome for each item of a session, in the order sent; `failed` counts those that were
    not applied.

    `handed_over`: the handoff is written, in this `version` of the state. `missing` counts the
    stored questions. `patterns_count` is the number of the program's lessons after new ones.
    `evicted` names 25 of the lessons that left to make room, `omitted` counts the others.
    """

    program_id: str
    failed: int
    patterns: tuple[StoredItem, ...] | None = None
    reinforcements: tuple[ReinforcedItem, ...] | None = None
    notes: tuple[NotedItem, ...] | None = None
    handed_over: Literal[True] | None = None
    missing: int | None = None
    judged: tuple[JudgedAnswer, ...] | None = None
    version: int
    patterns_count: int | None = None
    evicted: tuple[EvictedPattern, ...] | None = None
    omitted: int | None = None


class _Mark(NamedTuple):
    """A session as its program remembers it: the program's `last_update` after it, and the places
    of the items that failed, e.g. `reinforcements.1`.
    """

    at: datetime
    failed: Sequence[str]


class _Sent(NamedTuple):
    """A session as it was sent, with vectors. `name` is a digest of its request id and content."""

    name: str
    has_request_id: bool
    lessons: Sequence[SentLesson]
    reports: Sequence[tuple[str, OutcomeReport]]
    handoff: Update | None
    notes: Sequence[NewNote]
    missing: Sequence[str]
    now: datetime

    def mark_in(self, program: Program) -> _Mark | None:
        """Return the session that this call repeats; None for a new one.

        Without a request id the program's latest change is a repetition for ten minutes, by a
        clock that may be another server's.
        """
        made = result_of(program.request_ids, "session", self.name)
        if made is None:
            return None
        at, _, failed = made.partition("~")
        mark = _Mark(datetime.fromisoformat(at), failed.split(",") if failed else [])
        is_latest = mark.at == program.last_update and abs(self.now - mark.at) < RETRY_WITHIN
        return mark if self.has_request_id or is_latest else None

    def entry_keys(self, program: Program) -> list[str]:
        """Return the keys of the entries that it may change: of its words and of the lessons that
        it stores again.
        """
        keys: list[str] = []
        for about, _ in self.reports:
            with suppress(PatternNotFoundError):  # its item reports that
                keys += keys_of_word(program, about)
        keys += [key for lesson in self.lessons for key in keys_of_store(program, lesson)]
        return [*dict.fromkeys(keys)]


class _Left(NamedTuple):
    """A program after a session, the answer, and the entries of the fleet that have another
    state.
    """

    program: Program
    archived: Sequence[ProgramRecord]
    answer: SessionAnswer
    changes: tuple[EntryChange, ...]


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
    """Before you stop, once: hand over, and store what you have not stored yet, in one commit.

    {"programId": "basher", "patterns": [...], "handoff": "Orders migrated; invoices next",
    "missing": ["Who owns CI?"]}

    An item that cannot be applied fails alone. The same call within ten minutes stores nothing
    twice.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    summary = _with_notes(context_summary, handoff)
    items = (*patterns, *reinforcements, *((summary,) if summary else ()), *notes, *verdicts)
    session = session_id or fleet.caller.session_id
    sent = _Sent(
        name=digest(request_id or "", session_id or "", *map(_as_sent, items), *missing),
        has_request_id=request_id is not None,
        lessons=await embed_lessons(fleet, patterns, session),
        reports=[
            (
                report.pattern_id,
                OutcomeReport(
                    outcome=report.outcome,
                    confidence=report.confidence,
                    evidence=report.evidence,
                    now=now,
                    session_id=session,
                    connection=fleet.caller.connection,
                    token=fleet.caller.token_id,
                ),
            )
            for report in reinforcements
        ],
        handoff=Update(patch_of(summary), None, None, now) if summary else None,
        notes=[NewNote(note.text, note.pinned, None, now) for note in notes],
        missing=missing,
        now=now,
    )

    async def change(program: Program) -> tuple[_Left, Sequence[Write]]:
        drafts = await read_drafts(fleet, sent.entry_keys(program), now)
        drafts = await with_others(fleet, program, drafts, [about for about, _ in sent.reports])
        in_pairs = await ids_in_pairs(fleet, program, sent.lessons)
        work = _Work(fleet, program, program, drafts, sent, sent.mark_in(program), in_pairs)
        left = work.leave()
        return left, work.drafts.writes(fleet, program_id, fleet.caller.token_id)

    judged: Sequence[Judged | Refused] = ()
    if verdicts:
        earlier = sent.mark_in(await fleet.programs.read(program_id))
        since = earlier.at if earlier else None
        judge_ = Judge(program_id, fleet.caller.connection, fleet.caller.token_id, since)
        judged = await judge(fleet, judge_, verdicts)
    left = await fleet.programs.update_with(program_id, change, now)
    await publish_changes(fleet, program_id, left.changes)
    changes = [outcome.change for outcome in judged if isinstance(outcome, Judged)]
    if any(change.is_visible for change in changes if change):
        await publish_if_due(fleet)
    evicted, omitted = evicted_answers(left.archived)
    failed = left.answer.failed + sum(isinstance(outcome, Refused) for outcome in judged)
    lists = {"lessons": patterns, "reinforcements": reinforcements, "notes": notes}
    log_session(program_id, {name: len(items) for name, items in lists.items()}, failed)
    return replace(
        left.answer,
        failed=failed,
        judged=tuple(map(judged_answer, judged)) or None,
        evicted=evicted or None,
        omitted=omitted,
    )


@dataclass
class _Work:
    """A session while it is applied, item by item: the program before it and so far, the entries,
    and the records for the archive. An item that cannot be applied fails alone, with its reason.
    """

    fleet: Fleet
    before: Program
    program: Program
    drafts: Drafts
    sent: _Sent
    repeated: _Mark | None
    in_pairs: Collection[str]
    archived: list[ProgramRecord] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def leave(self) -> _Left:
        """Apply every item; reports first, so that no new lesson evicts a confirmed one."""
        sent = self.sent
        reports = [
            self._reinforced(f"reinforcements.{at}", about, report)
            for at, (about, report) in enumerate(sent.reports)
        ]
        stored = [self._stored(f"patterns.{at}", lesson) for at, lesson in enumerate(sent.lessons)]
        if sent.handoff is not None and self.repeated is None:
            self._accept(updated(self.program, sent.handoff))
        notes = [self._noted(f"notes.{at}", note) for at, note in enumerate(sent.notes)]
        missing = self._with_missing()
        answer = SessionAnswer(
            similarity_engine=self.fleet.degraded_engine if stored else None,
            program_id=self.program.program_id,
            failed=len(self.failed),
            patterns=tuple(stored) or None,
            reinforcements=tuple(reports) or None,
            notes=tuple(notes) or None,
            handed_over=True if sent.handoff is not None else None,
            missing=missing or None,
            version=self.program.state_version,
            patterns_count=len(self.program.patterns) if stored else None,
        )
        if self.repeated is None or self.program is not self.before:
            self._remember()
        return _Left(self.program, self.archived, answer, self.drafts.news)

    def _remember(self) -> None:
        sessions = self.before.sessions + (self.repeated is None)
        after = replace(self.program, sessions=sessions)
        at = stamped(self.before, after, self.sent.now).last_update or self.sent.now
        made = f"{at.isoformat()}~{','.join(self.failed)}"
        request = request_key("session", self.sent.name, made)
        self.program = replace(after, request_ids=with_request(after.request_ids, request))

    def _is_done(self, place: str) -> bool:
        return self.repeated is not None and place not in self.repeated.failed

    def _accept(self, change: ChangeResult, drafts: Drafts | None = None) -> None:
        """Go on from an item. Raises CapacityExceededError when the program would outgrow its
        document.
        """
        # compared with the beginning: lessons of one session do not evict each other
        room = with_room(self.before, change.program, self.sent.now)
        self.program = room.program
        self.drafts = drafts or self.drafts
        self.archived += [*change.archived, *room.archived]

    def _refusal(self, place: str, error: FleetMemoryError) -> str:
        self.failed.append(place)
        return f"{error.code}: {place}: {error}"

    def _reinforced(self, place: str, about: str, report: OutcomeReport) -> ReinforcedItem:
        try:
            if self._is_done(place):
                reported = self._as_reported(about)
            else:
                reported, drafts = drafted_report(self.drafts, self.program, about, report)
                self._accept(reported, drafts)
        except FleetMemoryError as error:
            reason = self._refusal(place, self._with_close_names(error, about))
            return ReinforcedItem(status="failed", pattern_id=about, error=reason)
        answer = reinforce_answer(reported, report)
        confidence, strength = round(answer.confidence, 2), round(answer.strength, 2)
        return ReinforcedItem(
            status=report.outcome,
            pattern_id=answer.pattern_id,
            confidence=confidence,
            strength=strength if strength != confidence else None,
            revived=answer.revived or None,
            knowledge=answer.knowledge,
            note=answer.note,
        )

    def _as_reported(self, about: str) -> Reported:
        """Return a lesson or an entry as it is, after a word that an earlier call recorded."""
        own, found = (
            pattern_of(self.program, about),
            entries_of_word(self.drafts, self.program, about),
        )
        if own is None and not found:
            raise KnowledgeNotFoundError(about)
        return Reported(self.program, own, entries=found)

    def _with_close_names(self, error: FleetMemoryError, about: str) -> FleetMemoryError:
        """Return the error of an unknown name with close names, after 5 failures as it is."""
        if len(self.failed) >= MAX_HINTS:
            return error
        keys = self.fleet.knowledge.snapshots.known_close_keys(about)
        if isinstance(error, KnowledgeNotFoundError):
            return KnowledgeNotFoundError(about, keys)
        if isinstance(error, PatternNotFoundError):
            ids = close_names(about, self.program.patterns)
            return PatternNotFoundError(self.program.program_id, about, ids, keys)
        return error

    def _stored(self, place: str, lesson: SentLesson) -> StoredItem:
        if self._is_done(place):
            known = next(iter(same_lessons(self.program, lesson)), None)
            return StoredItem(status="unchanged", pattern_id=known.id if known else lesson.sent.id)
        profile, now = self.fleet.embedder.profile, self.sent.now
        try:
            if problem := (
                timestamp_problem(lesson.sent, now)
                or change_problem(self.program, lesson, self.in_pairs, "")
            ):
                raise InvalidArgumentError(problem)
            admission = admitted(
                self.program, lesson, profile=profile, in_pairs=self.in_pairs, now=now
            )
            self._accept(admission, drafted_store(self.drafts, admission))
        except FleetMemoryError as error:
            reason = self._refusal(place, error)
            return StoredItem(status="failed", pattern_id=lesson.sent.id, error=reason)
        known_domains = self.fleet.knowledge.snapshots.known_domains()
        return StoredItem(
            status=admission.status,
            pattern_id=admission.pattern.id,
            duplicate_of=admission.duplicate.pattern.id if admission.duplicate else None,
            related=tuple(near.pattern.id for near in admission.related) or None,
            domain_hint=better_known_domain(admission, known_domains),
            note=steering_note(admission.pattern),
        )

    def _noted(self, place: str, note: NewNote) -> NotedItem:
        if self._is_done(place):
            ids = [known.id for known in self.program.notes.values() if known.text == note.text]
            return NotedItem(status="added", note_id=ids[-1] if ids else None)
        try:
            noted = require_room_for_notes(added(self.program, note))
            self._accept(noted)
        except FleetMemoryError as error:
            return NotedItem(status="failed", error=self._refusal(place, error))
        archived = gone_notes(noted) or None
        return NotedItem(status="added", note_id=noted.note_id, archived=archived)

    def _with_missing(self) -> int:
        """Keep the questions that memory could not answer, and return how many; none in a full
        memory.
        """
        if self.repeated is None:
            missing = with_missing(self.program.missing, self.sent.missing, self.sent.now)
            try:
                self._accept(ProgramChange(replace(self.program, missing=missing)))
            except CapacityExceededError:  # the lessons come first
                return 0
        return len(distinct_questions(self.sent.missing))


def _with_notes(summary: ContextSummary | None, handoff: str | None) -> ContextSummary | None:
    if not handoff:
        return summary
    sent = patch_of(summary).context_summary
    return ContextSummary.model_validate({**sent, "handoffNotes": handoff})


def _as_sent(item: BaseModel) -> str:
    return item.model_dump_json(by_alias=True, exclude_unset=True)


_TOOLS: Final = (
    Tool(
        commit_session,
        "Commit a session",
        "end of session, handoff",
        "adds",
        "own",
        {"handoff": "All is done"},
        reshape=session_as_meant,
    ),
)
SESSION_TOOLS: Final = Toolset(
    "session",
    _TOOLS,
    instructions=("commit_session does the end in one call, with your handoff.",),
)
