"""Answers to a coding client's hooks: a boot at the start, lessons for a prompt, a reminder at its
end.

Formats and caps are those of Claude Code's hooks reference. A hook must not delay a session: it
imports no more than its event needs, and the caller of `answer_hook` bounds its time.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from anyio import to_thread

from fleet_memory import moment
from fleet_memory.clients.identity import (
    HookState,
    agent_of,
    program_of,
    short_hash,
)
from fleet_memory.clients.moments import (
    forget_index,
    forget_older,
    note_shown,
    read_shown_lessons,
    take_told,
    write_index,
)
from fleet_memory.clients.transcripts import is_worth_a_reminder
from fleet_memory.clock import clock
from fleet_memory.errors import StoreUnavailableError
from fleet_memory.moment import is_worth_reading
from fleet_memory.rules.text import utf16_length
from fleet_memory.settings import Settings, is_name

if TYPE_CHECKING:  # the events without a memory go without it
    from fleet_memory.clients.reading import Reading

NOTE: Final = (
    "note"  # no event of a client: a hook on a tool that showed another's lesson starts it
)
MAX_OUTPUT_CHARS: Final = (
    10_000  # UTF-16 units that Claude Code reads of a hook's context; Source: its hooks reference
)
KEEP_SESSIONS: Final = timedelta(days=60)  # chosen: a session is seldom resumed later
KEEP_TEXTS: Final = timedelta(days=3)  # of a session that was killed; chosen: few last a weekend
COMPACTED_BOOT_TOKENS: Final = 1_200  # beside the work in hand; chosen
PAUSE_S: Final = 600.0  # of prompts after one that waited for a store; chosen
COMPACTING: Final = (
    "Keep in the summary, word for word: lessons of this session that Fleet Memory does not "
    "have yet, each with the "
    "evidence that taught it; ids and keys of recalled lessons that proved true or false; what "
    "is unfinished."
)
COMPACTED: Final = (
    "Your context was just compacted. If the summary names lessons that are not stored yet, "
    "store them now with "
    "store_memory."
)
REMINDER: Final = (
    "Fleet Memory: this session has stored nothing yet. If it taught something that will "
    "matter again, store it now "
    "(store_memory: one lesson in one sentence, with what you saw) and reinforce_memory what "
    "helped or proved wrong. "
    "If pairs of lessons waited for you at its start, judge them now. "
    "If it taught nothing, just stop: you will not be asked again."
)


class _Session(NamedTuple):
    """A client's session: its id, "" for none, its program, and the agent that a hook is about.

    `subagent` is the client's id of a subagent, "" of the main one. `shown` are hashes of the ids
    and keys that it has read. `was_prompted` since it started, or its context was emptied.
    """

    id: str
    program: str
    agent: str
    subagent: str
    shown: Collection[str]
    was_prompted: bool


async def answer_hook(
    settings: Settings, event: str, given: Mapping[str, object], state: HookState
) -> str:
    """Return the output for the client after an event, "" for none; `given` is the client's input.

    Raises the errors of opening a store.
    """
    if event == "SessionEnd":  # clients end it after 1.5 s; Source: Claude Code's hooks reference
        await to_thread.run_sync(forget_index, state.folder, given.get("session_id"))
        return ""
    if event == NOTE:
        await note_showings(settings, state)
        return ""
    if event in moment.TOOL_EVENTS:
        return await to_thread.run_sync(moment.answer_call, given, state.folder)
    # a prompt must not wait again for a store that did not answer some minutes ago
    away_s = await to_thread.run_sync(state.age_s, "unreachable", _memory_of(settings))
    is_pausing = event != "SessionStart" and away_s < PAUSE_S
    try:
        if event in ("SessionStart", "UserPromptSubmit", "Stop") and not is_pausing:
            await note_showings(settings, state)
        if not await to_thread.run_sync(_has_something_to_say, settings, event, given):
            return ""
        if event == "Stop":
            return _context(event, [REMINDER])
        if event == "PreCompact":
            return COMPACTING  # plain text: Claude Code adds it to the instructions of the summary
        if is_pausing:
            return ""
        return await _read_unasked(settings, event, given, state)
    except StoreUnavailableError:
        await to_thread.run_sync(state.write, "unreachable", _memory_of(settings), {})
        raise


async def note_showings(settings: Settings, state: HookState) -> None:
    """Store which lessons of others the hooks on tools have shown since this was done last. Raises
    the errors of opening a store.
    """
    told = await to_thread.run_sync(take_told, state.folder, _memory_of(settings))
    if told.files:
        from fleet_memory.clients.reading import note_told  # noqa: PLC0415 most events go without

        await note_told(settings, told)


async def _read_unasked(
    settings: Settings, event: str, given: Mapping[str, object], state: HookState
) -> str:
    """Return the context of a start or a prompt, and keep what the session has read with it."""
    session = await to_thread.run_sync(_session, settings, given, state)
    reading = await _reading(settings, event, given, session)
    is_start, memory = event == "SessionStart", _memory_of(settings)

    def keep() -> None:
        anew = is_start and given.get("source") != "resume"  # a compaction or /clear empties it
        note_shown(state.folder, session.id, session.subagent, reading.shown, anew=anew)
        if event != "SubagentStart":
            prompted = {"prompted": True} if event == "UserPromptSubmit" else {}
            state.write("sessions", session.id, {"program": session.program, **prompted})
        if is_start:
            of = {"memory": memory, "program": session.agent, "claims": reading.claims}
            write_index(state.folder, session.id, of, reading.moments)

    if session.id:
        await to_thread.run_sync(keep)
    return _context(event, reading.lines) if reading.lines else ""


async def maintain(settings: Settings) -> None:
    """Maintain the fleet if that is due: sessions may all be too short for a server's own turn."""
    from fleet_memory.jobs.maintenance import maintain_if_due  # noqa: PLC0415 the events go without
    from fleet_memory.server.composition import with_fleet  # noqa: PLC0415 the same

    await with_fleet(settings, lambda fleet: maintain_if_due(fleet, settings.maintenance_s))


async def _reading(
    settings: Settings, event: str, given: Mapping[str, object], session: _Session
) -> "Reading":
    """Return what an event adds to the context of a session."""
    from fleet_memory.clients import reading  # noqa: PLC0415 the other events go without

    if event == "UserPromptSubmit":
        prompt = str(given.get("prompt"))
        return await reading.lessons_for(
            settings, session.agent, prompt, session.shown, is_first=not session.was_prompted
        )
    if event == "SubagentStart":
        return await reading.boot_for(settings, session.agent, is_subagent=True)
    if given.get("source") != "compact":
        return await reading.boot_for(settings, session.agent)
    boot = await reading.boot_for(settings, session.agent, COMPACTED_BOOT_TOKENS)
    work = await to_thread.run_sync(lambda: reading.work_in_hand(_transcript(given)))
    return boot._replace(lines=[*boot.lines[:3], COMPACTED, *work, *boot.lines[3:]])


def _is_of_a_person(given: Mapping[str, object]) -> bool:
    """Whether a prompt was written by somebody, and has enough words for lessons to fit."""
    return given.get("source", "user") in ("user", "sdk") and is_worth_reading(
        str(given.get("prompt") or "")
    )


def _has_something_to_say(settings: Settings, event: str, given: Mapping[str, object]) -> bool:
    """Whether an event has an answer."""
    if event == "Stop":
        return _wants_a_reminder(given)
    return event != "UserPromptSubmit" or (settings.prompt_lessons and _is_of_a_person(given))


def _session(settings: Settings, given: Mapping[str, object], state: HookState) -> _Session:
    session_id = str(given.get("session_id") or "")
    program = program_of(settings, given, state)
    subagent = "".join(str(given.get("agent_id") or "").split())
    return _Session(
        id=session_id if is_name(session_id) else "",
        program=program,
        agent=agent_of(settings, program, given),
        subagent=subagent,
        shown=read_shown_lessons(state.folder, session_id, subagent),
        was_prompted=state.read("sessions", session_id).get("prompted") is True,
    )


def forget_old_sessions(state: HookState) -> None:
    """Remove this machine's facts of sessions of long ago."""
    now = clock(None)()
    for kind in ("sessions", "moments"):
        forget_older(state.folder, kind, now - KEEP_SESSIONS)
    forget_older(state.folder, "moments", now - KEEP_TEXTS, ".json")


def _memory_of(settings: Settings) -> str:
    return short_hash(f"{settings.store!r}\n{settings.fleet}", 12)


def _context(event: str, lines: Sequence[str]) -> str:
    """Return the lines as context to add; over the cap the longest go first, except the first
    two.
    """
    fitting = list(lines)
    while utf16_length("\n".join(fitting)) > MAX_OUTPUT_CHARS:
        fitting.remove(max(fitting[2:], key=len))
    return json.dumps(
        {"hookSpecificOutput": {"hookEventName": event, "additionalContext": "\n".join(fitting)}}
    )


def _wants_a_reminder(given: Mapping[str, object]) -> bool:
    """Whether a session worked, and neither wrote to the memory nor was reminded."""
    path = _transcript(given)
    if given.get("stop_hook_active") is True or path is None:
        return False
    return is_worth_a_reminder(path, REMINDER[:60].encode())


def _transcript(given: Mapping[str, object]) -> Path | None:
    with suppress(OSError, RuntimeError, ValueError):  # no file, or no path at all
        path = Path(str(given.get("transcript_path"))).expanduser()
        return path if path.is_file() else None
    return None
