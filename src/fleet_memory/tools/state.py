"""The toolset `state`: a program's state and notes between its sessions, and lessons to forget."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue

from fleet_memory.errors import (
    InvalidArgumentError,
    NoteNotFoundError,
    StateMovedError,
)
from fleet_memory.fleet import Fleet, Tool, Toolset
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.jobs.storing import forget_lesson
from fleet_memory.repositories.records import archive_record_id
from fleet_memory.rules.lifecycle.state import (
    Noted,
    Stated,
    StatePatch,
    added,
    edited,
    stated,
    too_large,
    was_made,
    without_note,
)
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, count_fitting
from fleet_memory.rules.text.keys import close_names
from fleet_memory.schemas.fields import (
    EvidenceText,
    HandoffText,
    LineText,
    LooseObject,
    Name,
    NoteText,
    QueryText,
    Timestamp,
    outlined_as,
)
from fleet_memory.schemas.programs import (
    MAX_DAYS,
    MAX_PATTERNS,
    ArchivedNote,
    DecayConfig,
    Program,
)
from fleet_memory.schemas.value import Input, Value
from fleet_memory.tools.core.boot import ProgramAnswer
from fleet_memory.tools.core.lessons import Evicting, with_evicted
from fleet_memory.tools.shared import (
    Absence,
    AnyProgram,
    NoteAnswer,
    OwnProgram,
    with_absence,
)

MAX_WORK_ITEMS: Final = 30
MAX_QUESTIONS: Final = 20
MAX_TITLE_CHARS: Final = 300  # characters of a `LineText`
NoteStatus: TypeAlias = Literal["added", "edited", "removed", "unchanged"]
Days: TypeAlias = Annotated[int, Field(ge=1, le=MAX_DAYS)]


class LastTask(Input):
    """The last task of a program."""

    task_id: Annotated[LineText | None, Field(description="Its id where you got it")] = None
    title: Annotated[LineText | None, Field(description="What it was")] = None
    outcome: Annotated[EvidenceText | None, Field(description="How it ended")] = None
    notes: Annotated[EvidenceText | None, Field(description="For whoever continues")] = None


class ContextSummary(Input):
    """A program's handover to its next session."""

    last_task: Annotated[LastTask | None, Field(description="Merged field by field")] = None
    active_work_items: Annotated[
        tuple[LineText, ...] | None,
        Field(max_length=MAX_WORK_ITEMS, description="What is not finished; replaced whole"),
    ] = None
    handoff_notes: Annotated[HandoffText | None, Field(description="For the next session")] = None
    open_questions: Annotated[
        tuple[LineText, ...] | None, Field(max_length=MAX_QUESTIONS, description="Replaced whole")
    ] = None


class DecayPatch(Input):
    """A change of how a program forgets; an absent field stays, null sets the default."""

    max_age: Annotated[
        Days | None, Field(description="Days without reinforcement until stale, default 90")
    ] = None
    max_unpromoted_patterns: Annotated[
        Annotated[int, Field(ge=1, le=MAX_PATTERNS)] | None,
        Field(description="Patterns kept before only a question finds the weakest, default 100"),
    ] = None
    prune_after: Annotated[
        Days | None, Field(description="Days stale until it leaves first, default 90")
    ] = None


class NotedAnswer(Evicting):
    """How a note changed; `lines` are those of all notes, of 80. `archived` names the notes that
    left.
    """

    status: NoteStatus
    note_id: str
    lines: int
    archived: tuple[NoteAnswer, ...] | None = None


class ForgetAnswer(Value):
    """A pattern that went to the archive, and its contribution to an entry with it."""

    archive_id: str


class SummaryAnswer(Value):
    """A context summary, and from when it was the program's."""

    at: Timestamp
    version: int
    context_summary: ContextSummary


class StateAnswer(Absence, ProgramAnswer):
    """A program's state without its empty parts; `version` counts its changes, `history` has the
    newest first.

    `omitted` counts the older summaries that were asked for and did not fit. `missing` are the
    questions that its memory could not answer, the newest last.
    """

    version: int
    decay_config: DecayConfig | None = None
    notes: tuple[NoteAnswer, ...] | None = None
    missing: tuple[str, ...] | None = None
    history: tuple[SummaryAnswer, ...] | None = None
    omitted: int | None = None
    last_update: Timestamp | None = None


class UpdateStateAnswer(Evicting):
    """How an update ended."""

    status: Literal["updated", "unchanged"]
    version: int


def gone_notes(noted: Noted) -> tuple[NoteAnswer, ...]:
    """Return the notes that left for the archive."""
    lines = (line for line in noted.archived if isinstance(line, ArchivedNote))
    return tuple(NoteAnswer(id=line.note.id, text=line.note.text) for line in lines)


async def get_program_state(
    fleet: Fleet,
    program_id: AnyProgram,
    history: Annotated[
        int, Field(ge=0, le=50, description="How many earlier handovers to show")
    ] = 0,
) -> StateAnswer:
    """When you take up a program's work: read its handover, config, baselines and notes, which boot
    shows too, and the version for an update.

    With history: also so many of its latest handovers, newest first.
    """
    await allow_read(fleet, program_id, "get_program_state")
    program = await fleet.programs.read(program_id)
    summaries = [
        SummaryAnswer.from_fields(past.wire())
        for past in await fleet.programs.history.newest(program, history)
    ]
    fitting = count_fitting({}, (summary.wire() for summary in summaries), DEFAULT_TOKENS)
    shown = summaries[: max(1, fitting)]
    answer = StateAnswer(
        version=program.state_version,
        context_summary=program.context_summary or None,
        config=program.config or None,
        baselines=program.baselines or None,
        decay_config=program.decay if program.decay != DecayConfig() else None,
        notes=tuple(NoteAnswer.from_json(note.compact()) for note in program.notes.values())
        or None,
        missing=tuple(question.text for question in program.missing) or None,
        history=tuple(shown) or None,
        omitted=len(summaries) - len(shown) or None,
        last_update=program.last_update,
    )
    return await with_absence(answer, fleet, program)


async def update_program_state(
    fleet: Fleet,
    program_id: OwnProgram,
    context_summary: Annotated[
        ContextSummary | None, Field(description="Your handover"), outlined_as()
    ] = None,
    config: Annotated[
        LooseObject | None, Field(description="Your own settings, any object")
    ] = None,
    baselines: Annotated[
        LooseObject | None, Field(description="Figures to compare with, any object")
    ] = None,
    decay_config: Annotated[
        DecayPatch | None, Field(description="How you forget"), outlined_as()
    ] = None,
    expected_version: Annotated[
        int | None, Field(ge=0, description="From get_program_state; refused if it has moved")
    ] = None,
) -> UpdateStateAnswer:
    """When your program's facts changed: update contextSummary (as in commit_session), config,
    baselines (figures to compare with) or decayConfig.

    JSON Merge Patch: absent stays, null removes, lists are replaced. Refused if expectedVersion is
    not the latest. decayConfig: maxAge, pruneAfter in days; maxUnpromotedPatterns.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    summary, decay = members_sent(context_summary), members_sent(decay_config)
    patch = StatePatch(summary, config or {}, baselines or {}, decay)
    stated = await fleet.programs.update(
        program_id, lambda program: updated(program, patch, now, expected_version), now
    )
    answer = UpdateStateAnswer(
        status="updated" if stated.updated else "unchanged", version=stated.program.state_version
    )
    return with_evicted(answer, stated.archived)


def updated(
    program: Program, patch: StatePatch, now: datetime, expected_version: int | None = None
) -> Stated:
    """Return the program after an update; without a version it applies to any. Raises
    StateMovedError for its version, InvalidArgumentError for its size.
    """
    version = program.state_version
    if expected_version not in (None, version):
        raise StateMovedError(
            f"{program.program_id}'s state is at version {version}, not {expected_version}: "
            "another session changed it. Call get_program_state, decide again, and call with "
            f"expectedVersion {version}."
        )
    after = stated(program, patch, now)
    if problem := too_large(after.program):
        raise InvalidArgumentError(problem)
    return after


def members_sent(patch: Input | None) -> dict[str, JsonValue]:
    """Return the members that the client sent, nulls included."""
    return patch.model_dump(mode="json", by_alias=True, exclude_unset=True) if patch else {}


async def write_note(
    fleet: Fleet,
    program_id: OwnProgram,
    text: Annotated[NoteText | None, Field(description="One thing to keep in mind")] = None,
    note_id: Annotated[Name | None, Field(description="The note to change, e.g. n7")] = None,
    pinned: Annotated[bool | None, Field(description="Whether the cap takes it last")] = None,
    remove: Annotated[bool | None, Field(description="Moves it to the archive")] = None,
) -> NotedAnswer:
    """When the next days must know something, such as a port that is taken: write a note. Boot
    shows it.

    With noteId: change its text or pinned, or remove it. One text is one note. Beyond 80 lines the
    oldest are archived, pinned ones last.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    is_change = text is not None or pinned is not None
    if bool(remove) == is_change or (note_id is None and text is None):
        raise InvalidArgumentError(
            "text: alone, or with pinned, it is a new note; noteId with text or pinned changes a "
            "note; noteId with remove, and nothing else, removes it"
        )

    def change(program: Program) -> Noted:
        if note_id is None:
            return added(program, text or "", now, pinned=bool(pinned))
        old = program.notes.get(note_id)
        if old is None and remove and was_made(program, note_id):
            return Noted(program, note_id)
        if old is None:
            raise NoteNotFoundError(program_id, note_id, close_names(note_id, program.notes))
        if remove:
            return without_note(program, old, now)
        return edited(program, old, now, text=text, pinned=pinned)

    noted = await fleet.programs.update(program_id, change, now)
    done: NoteStatus = "added" if note_id is None else "removed" if remove else "edited"
    answer = NotedAnswer(
        status=done if noted.changed else "unchanged",
        note_id=noted.note_id,
        lines=noted.lines,
        archived=tuple(note for note in gone_notes(noted) if note.id != noted.note_id) or None,
    )
    return with_evicted(answer, noted.archived)


async def forget_memory(
    fleet: Fleet,
    program_id: OwnProgram,
    pattern_id: Annotated[Name, Field(description="A pattern id of yours")],
    reason: Annotated[QueryText, Field(description="Why it should go; the archive keeps it")],
) -> ForgetAnswer:
    """When a lesson should not be in your memory: archive it (patternId), with the reason.

    One that proved false: reinforce_memory with contradicted.
    """
    fleet.caller.require_write(program_id)
    gone = await forget_lesson(fleet, program_id, pattern_id, reason)
    return ForgetAnswer(archive_id=archive_record_id(gone))


_TOOLS: Final = (
    Tool(
        get_program_state, "Read program state", "read handover, config, notes", "reads", "program"
    ),
    Tool(update_program_state, "Update program state", "save config, handover", "writes", "own"),
    Tool(write_note, "Write a note", "note for the next days", "adds", "own"),
    Tool(forget_memory, "Forget a lesson", "delete a wrong lesson", "writes", "own"),
)
STATE_TOOLS: Final = Toolset("state", _TOOLS)
