"""The toolset `state`: a program's state and notes between its sessions, and lessons to forget."""

from collections.abc import Mapping
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
from fleet_memory.tools.core.lessons import Evicting, evicted_answers
from fleet_memory.tools.shared import (
    Absence,
    AnyProgram,
    NoteAnswer,
    OwnProgram,
    absence,
    has_foreign_key,
    shown_key,
)

MAX_WORK_ITEMS: Final = 30
MAX_QUESTIONS: Final = 20
MAX_TITLE_CHARS: Final = 300  # characters of a `LineText`
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

    status: Literal["added", "edited", "removed", "unchanged"]
    note_id: str
    lines: int
    archived: tuple[NoteAnswer, ...] | None = None


class ForgetAnswer(Value):
    """A pattern that went to the archive, and its contribution to the entry of `knowledge_key`
    with it.
    """

    archive_id: str
    knowledge_key: str | None = None


class SummaryAnswer(Value):
    """A context summary, and from when it was the program's."""

    at: Timestamp
    version: int
    context_summary: ContextSummary


class StateAnswer(Absence):
    """A program's state without its empty parts; `version` counts its changes, `history` has the
    newest first.

    `omitted` counts the older summaries that were asked for and did not fit. `missing` are the
    questions that its memory could not answer, the newest last.
    """

    version: int
    context_summary: ContextSummary | None = None
    config: Mapping[str, JsonValue] | None = None
    baselines: Mapping[str, JsonValue] | None = None
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


def noted_answer(status: Literal["added", "edited", "removed"], noted: Noted) -> NotedAnswer:
    """Return the result of a change of a note; `status` applies unless nothing changed."""
    gone = [note for note in gone_notes(noted) if note.id != noted.note_id]
    return NotedAnswer(
        status=status if noted.changed else "unchanged",
        note_id=noted.note_id,
        lines=noted.lines,
        archived=tuple(gone) or None,
        **evicted_answers(noted.archived),
    )


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
    summary = program.context_summary
    return StateAnswer(
        **await absence(fleet, program),
        version=program.state_version,
        context_summary=ContextSummary.model_validate(summary) if summary else None,
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
    patch = patch_of(context_summary)._replace(
        config=config or {}, baselines=baselines or {}, decay=_sent(decay_config)
    )
    stated = await fleet.programs.update(
        program_id, lambda program: updated(program, patch, now, expected_version), now
    )
    return UpdateStateAnswer(
        status="updated" if stated.updated else "unchanged",
        version=stated.program.state_version,
        **evicted_answers(stated.archived),
    )


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


def patch_of(context_summary: ContextSummary | None) -> StatePatch:
    """Return the patch of a summary as it was sent."""
    return StatePatch(context_summary=_sent(context_summary))


def _sent(patch: Input | None) -> dict[str, JsonValue]:
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
    if note_id is None:
        if text is None or remove:
            raise InvalidArgumentError(
                "noteId: required with remove"
                if remove
                else "text: required, unless noteId names a note to change"
            )
        noted = await fleet.programs.update(
            program_id,
            lambda program: added(program, text, now, pinned=bool(pinned)),
            now,
        )
        return noted_answer("added", noted)
    parts = [name for name, part in (("text", text), ("pinned", pinned)) if part is not None]
    if remove and parts:
        raise InvalidArgumentError(
            f"remove: contradicts {' and '.join(parts)}; send noteId and remove alone"
        )
    if not remove and not parts:
        raise InvalidArgumentError("text: required with noteId, unless pinned or remove is sent")

    def change(program: Program) -> Noted:
        old = program.notes.get(note_id)
        if old is None and remove and was_made(program, note_id):
            return Noted(program, note_id)
        if old is None:
            close = close_names(note_id, program.notes)
            raise NoteNotFoundError(program_id, note_id, close)
        if remove:
            return without_note(program, old, now)
        return edited(program, old, now, text=text, pinned=pinned)

    noted = await fleet.programs.update(program_id, change, now)
    return noted_answer("removed" if remove else "edited", noted)


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
    keys = (await fleet.knowledge.snapshots.read()).keys if has_foreign_key(gone.pattern) else ()
    return ForgetAnswer(
        archive_id=archive_record_id(gone),
        knowledge_key=shown_key(gone.pattern, keys),
    )


_TOOLS: Final = (
    Tool(
        get_program_state, "Read program state", "read handover, config, notes", "reads", "program"
    ),
    Tool(
        update_program_state,
        "Update program state",
        "save config, handover",
        "writes",
        "own",
        {"config": {"tone": "dry"}},
    ),
    Tool(write_note, "Write a note", "note for the next days", "adds", "own", {"text": "Port 80"}),
    Tool(
        forget_memory,
        "Forget a lesson",
        "delete a wrong lesson",
        "writes",
        "own",
        {"patternId": "forgotten", "reason": "It was another's"},
    ),
)
STATE_TOOLS: Final = Toolset("state", _TOOLS)
