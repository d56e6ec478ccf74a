"""Leave a session: its verdicts, one by one, and then everything it taught, in one commit.

The verdicts come first: they are about the texts as they were shown, not as the session rewrites
them. A program remembers each session by its name, or by its content for ten minutes: a repetition
changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, Field, JsonValue

from fleet_memory.errors import (
    CapacityExceededError,
    FleetMemoryError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    PatternNotFoundError,
)
from fleet_memory.fleet import Fleet, Tool, Toolset
from fleet_memory.jobs.drafting import Drafts, read_drafts
from fleet_memory.jobs.judging import Judge, Judged, Refused, judge
from fleet_memory.jobs.publishing import publish_changes, publish_if_due
from fleet_memory.jobs.storing import drafted_store, embed_lessons, ids_in_pairs
from fleet_memory.jobs.words import (
    drafted_report,
    keys_of_word,
    with_close_names,
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
    timestamp_problem,
)
from fleet_memory.rules.lifecycle.outcomes import OutcomeReport
from fleet_memory.rules.lifecycle.stamping import (
    ProgramChange,
    result_of,
    with_request,
)
from fleet_memory.rules.lifecycle.state import StatePatch, added, distinct_questions, with_missing
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.fields import (
    HandoffText,
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
    ConfidenceNow,
    Evicting,
    HowItHeld,
    LessonOrKey,
    Seen,
    reinforce_answer,
    store_answer,
    with_evicted,
)
from fleet_memory.tools.shared import (
    Degraded,
    EntryStanding,
    NoteAnswer,
    OwnProgram,
    RequestId,
)
from fleet_memory.tools.state import (
    MAX_TITLE_CHARS,
    ContextSummary,
    gone_notes,
    members_sent,
    updated,
)

_T = TypeVar("_T")
MAX_LESSONS: Final = 20
MAX_REPORTS: Final = 50
MAX_NOTES: Final = 20
MAX_MISSING_SENT: Final = 10
MAX_HINTS: Final = 5  # close names are sought among all that there are; chosen


class SessionReport(Input):
    """A session's word about one lesson, as the arguments of reinforce_memory."""

    pattern_id: LessonOrKey
    outcome: HowItHeld = "confirmed"
    confidence: ConfidenceNow = None
    evidence: Seen = ""


class SessionNote(Input):
    """A short-term note of a session, as the arguments of write_note."""

    text: Annotated[NoteText, Field(description="One thing to keep in mind")]
    pinned: Annotated[bool, Field(description="Whether the cap takes it last")] = False


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


class SessionItem(Value):
    """The outcome for one lesson, one word or one note of a session; `error`: why it failed.
    `related` are ids.
    """

    status: StoreStatus | Outcome | Literal["added", "failed"]
    pattern_id: str | None = None
    note_id: str | None = None
    duplicate_of: str | None = None
    related: tuple[str, ...] | None = None
    domain_hint: str | None = None
    confidence: float | None = None
    strength: float | None = None
    revived: bool | None = None
    knowledge: EntryStanding | None = None
    archived: tuple[NoteAnswer, ...] | None = None
    note: str | None = None
    error: str | None = None


class SessionAnswer(Degraded, Evicting):
    """The outcome for each item of a session, in the order sent; `failed` counts those that were
    not applied.

    `repeated`: an earlier call left this very session, and this one changed nothing.
    `handed_over`: the handoff is written, in this `version` of the state. `missing` counts the
    stored questions. `patterns_count` is the number of the program's lessons after new ones.
    """

    program_id: str
    repeated: Literal[True] | None = None
    failed: int
    patterns: tuple[SessionItem, ...] | None = None
    reinforcements: tuple[SessionItem, ...] | None = None
    notes: tuple[SessionItem, ...] | None = None
    handed_over: Literal[True] | None = None
    missing: int | None = None
    judged: tuple[JudgedAnswer, ...] | None = None
    version: int
    patterns_count: int | None = None


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
    session = session_id or fleet.session_of(program_id)
    whence = session, fleet.caller.source
    name = digest(request_id or "", session_id or "", *map(_as_sent, items), *missing)
    lessons = await embed_lessons(fleet, patterns, session)
    reports = [
        (it.pattern_id, OutcomeReport(it.outcome, it.confidence, it.evidence, now, None, *whence))
        for it in reinforcements
    ]

    def earlier(program: Program) -> SessionAnswer | None:
        """Return the answer of a repeated call; None for a new session.

        Without a request id the program's latest change is a repetition for ten minutes, by a
        clock that may be another server's.
        """
        at, _, failed = result_of(program.request_ids, f"session/{name}").partition("~")
        if not at:
            return None
        made = datetime.fromisoformat(at)
        is_latest = made == program.last_update and abs(now - made) < RETRY_WITHIN
        if request_id is None and not is_latest:
            return None
        return SessionAnswer(
            program_id=program_id, repeated=True, failed=int(failed), version=program.state_version
        )

    judged: Sequence[Judged | Refused] = ()
    if verdicts and (known := earlier(await fleet.programs.read(program_id))):
        return known
    if verdicts:
        judge_ = Judge(program_id, fleet.caller.connection, fleet.caller.token_id)
        judged = await judge(fleet, judge_, verdicts)
    refused = sum(isinstance(outcome, Refused) for outcome in judged)

    async def change(program: Program) -> tuple[_Left, Sequence[Write]]:
        if known := earlier(program):
            return _Left(program, (), known), []
        keys = [key for lesson in lessons for key in keys_of_store(program, lesson)]
        for about, _ in reports:
            with suppress(PatternNotFoundError):  # its item reports that
                keys += keys_of_word(program, about)
        drafts = await read_drafts(fleet, dict.fromkeys(keys), now)
        drafts = await with_others(fleet, program, drafts, [about for about, _ in reports])
        in_pairs = await ids_in_pairs(fleet, program, lessons)
        work = _Work(fleet, program, program, drafts, now, in_pairs, failed=refused)
        # words first, so that no new lesson evicts a confirmed one
        words = work.each("reinforcements", work.reinforced, reports)
        stored = work.each("patterns", work.stored, lessons)
        if summary is not None:
            work.accept(updated(work.program, StatePatch(members_sent(summary)), now))
        noted = work.each("notes", work.noted, notes)
        asked = with_missing(work.program.missing, missing, now)
        with suppress(CapacityExceededError):  # the lessons come first
            work.accept(ProgramChange(replace(work.program, missing=asked)))
        kept = work.program.missing == asked
        after = replace(work.program, sessions=program.sessions + 1)
        request = f"session/{name} {now.isoformat()}~{work.failed}"
        after = replace(after, request_ids=with_request(after.request_ids, request))
        answer = SessionAnswer(
            similarity_engine=fleet.degraded_engine if stored else None,
            program_id=program_id,
            failed=work.failed,
            patterns=stored,
            reinforcements=words,
            notes=noted,
            handed_over=True if summary is not None else None,
            missing=len(distinct_questions(missing)) * kept or None,
            judged=tuple(map(judged_answer, judged)) or None,
            version=after.state_version,
            patterns_count=len(after.patterns) if stored else None,
        )
        writes = work.drafts.writes(fleet, program_id, fleet.caller.token_id)
        return _Left(after, work.archived, answer, work.drafts.news), writes

    left = await fleet.programs.update_with(program_id, change, now)
    await publish_changes(fleet, program_id, left.changes)
    if any(isinstance(each, Judged) and each.change and each.change.is_visible for each in judged):
        await publish_if_due(fleet)
    return with_evicted(left.answer, left.archived)


class _Left(NamedTuple):
    """A program after a session, the answer, and the entries of the fleet that have another
    state.
    """

    program: Program
    archived: Sequence[ProgramRecord]
    answer: SessionAnswer
    changes: tuple[EntryChange, ...] = ()


@dataclass
class _Work:
    """A session while it is applied, item by item: the program before it and so far, the entries,
    and the records for the archive.
    """

    fleet: Fleet
    before: Program
    program: Program
    drafts: Drafts
    now: datetime
    in_pairs: frozenset[str]
    failed: int
    archived: list[ProgramRecord] = field(default_factory=list)

    def each(
        self, kind: str, apply: Callable[[_T], SessionItem], items: Iterable[_T]
    ) -> tuple[SessionItem, ...] | None:
        """Apply items; one that cannot be applied fails alone, with its place and reason."""
        done: list[SessionItem] = []
        for at, item in enumerate(items):
            try:
                done.append(apply(item))
            except FleetMemoryError as error:
                self.failed += 1
                reason = f"{error.code}: {kind}.{at}: {error}"
                done.append(SessionItem(status="failed", error=reason))
        return tuple(done) or None

    def accept(self, change: ChangeResult, drafts: Drafts | None = None) -> None:
        """Go on from an item. Raises CapacityExceededError when the program would outgrow its
        document.
        """
        # compared with the beginning: lessons of one session do not evict each other
        room = with_room(self.before, change.program, self.now)
        self.program, self.drafts = room.program, drafts or self.drafts
        self.archived += [*change.archived, *room.archived]

    def reinforced(self, said: tuple[str, OutcomeReport]) -> SessionItem:
        """Apply a word about a lesson or an entry."""
        about, report = said
        try:
            reported, drafts = drafted_report(self.drafts, self.program, about, report)
        except (KnowledgeNotFoundError, PatternNotFoundError) as error:
            if self.failed >= MAX_HINTS:
                raise
            keys = self.fleet.knowledge.snapshots.known_close_keys(about)
            raise with_close_names(error, self.program, about, keys) from None
        self.accept(reported, drafts)
        told = reinforce_answer(reported, self.now)
        faded = told.strength if told.strength != told.confidence else None
        return SessionItem.from_fields(
            {**told.wire(), "status": report.outcome, "strength": faded}
            | {"revived": told.revived or None}
        )

    def stored(self, lesson: SentLesson) -> SessionItem:
        """Store a lesson."""
        if problem := (
            timestamp_problem(lesson.sent, self.now)
            or change_problem(self.program, lesson, self.in_pairs, "")
        ):
            raise InvalidArgumentError(problem)
        profile = self.fleet.embedder.profile
        admission = admitted(
            self.program, lesson, profile=profile, in_pairs=self.in_pairs, now=self.now
        )
        self.accept(admission, drafted_store(self.drafts, admission))
        told = store_answer(self.fleet, admission)
        related = [near.id for near in told.related] or None
        return SessionItem.from_fields({**told.wire(), "related": related})

    def noted(self, note: SessionNote) -> SessionItem:
        """Write a note."""
        noted = added(self.program, note.text, self.now, pinned=note.pinned)
        self.accept(noted)
        return SessionItem(
            status="added" if noted.changed else "unchanged",
            note_id=noted.note_id,
            archived=gone_notes(noted) or None,
        )


def _with_notes(summary: ContextSummary | None, handoff: str | None) -> ContextSummary | None:
    if not handoff:
        return summary
    return ContextSummary.model_validate({**members_sent(summary), "handoffNotes": handoff})


def _as_sent(item: BaseModel) -> str:
    return item.model_dump_json(by_alias=True, exclude_unset=True)


_MEMBERS: Final = {  # of contextSummary, by the names that agents give them
    **{name: name for name in ("lastTask", "activeWorkItems", "handoffNotes", "openQuestions")},
    "nextSteps": "activeWorkItems",
}
_LISTS: Final = {  # with the field that a text in place of an object is
    "patterns": "pattern",
    "reinforcements": "patternId",
    "verdicts": "pairId",
    "notes": "text",
    "missing": None,
}


def session_as_meant(sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return first guesses of agents at the arguments in the shape that the schema has: lists for
    single items, objects for texts, and one `contextSummary`.

    A guess that can mean one thing only is taken as that; the schema refuses anything else. Clients
    that fill every field send blank texts and nulls, which mean an absent field.

    Raises InvalidArgumentError for a part of the handoff in two places.
    """
    meant = {name: value for name, value in sent.items() if not _is_blank(value)}
    for name, in_place in _LISTS.items():
        if name in meant:
            meant[name] = _listed(meant[name], in_place)
    summary: dict[str, JsonValue] = {}
    for place in ("contextSummary", "handoff", *_MEMBERS):
        if (value := meant.pop(place, None)) is None:
            continue
        if place in _MEMBERS or isinstance(value, str):
            value = {_MEMBERS.get(place, "handoffNotes"): value}
        if not isinstance(value, dict):
            return meant | {place: value}  # refused by the schema
        for name, part in value.items():
            member = _MEMBERS.get(name, name)
            if summary.get(member) is not None:
                raise InvalidArgumentError(
                    f"{place}: {member} was sent twice, and nothing was written; send it once"
                )
            if not (_is_blank(part) and (member == "lastTask" or isinstance(part, list))):
                summary[member] = _member(member, part)
    return meant | {"contextSummary": summary} if summary else meant


def _is_blank(value: JsonValue) -> bool:
    """Whether a value, or each item of a list, is null or a text of spaces; `[]` is not blank."""
    items = value if isinstance(value, list) and value else [value]
    return all(item is None or (isinstance(item, str) and not item.strip()) for item in items)


def _listed(value: JsonValue, field: str | None) -> JsonValue:
    """Return a value as a list; with `field` a text in it becomes an object with that field."""
    listed: list[JsonValue] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            listed.append({name: part for name, part in item.items() if part is not None})
        elif not _is_blank(item):
            listed.append({field: item} if field and isinstance(item, str) else item)
    return listed


def _member(name: str, value: JsonValue) -> JsonValue:
    """Return a part of the handoff; a sentence is the whole last task, or the lines of a list."""
    if name == "lastTask" and isinstance(value, dict):
        return {key: part for key, part in value.items() if part is None or not _is_blank(part)}
    if name == "lastTask" and isinstance(value, str):
        field = "title" if len(value) <= MAX_TITLE_CHARS else "outcome"
        return {"taskId": None, "title": None, "outcome": None, "notes": None, field: value}
    if name in ("activeWorkItems", "openQuestions") and isinstance(value, (str, list)):
        items = map(str.strip, value.splitlines()) if isinstance(value, str) else value
        return [item for item in items if not _is_blank(item)]
    return value


_TOOLS: Final = (
    Tool(
        commit_session,
        "Commit a session",
        "end of session, handoff",
        "adds",
        "own",
        reshape=session_as_meant,
    ),
)
SESSION_TOOLS: Final = Toolset(
    "session",
    _TOOLS,
    instructions=("commit_session does the end in one call, with your handoff.",),
)
