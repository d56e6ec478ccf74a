"""Answers to a coding client's hooks: a boot at the start, a reminder before a session's memory is cut or lost.

Formats and caps are those of Claude Code's hooks reference. A hook must not delay a session: it imports no more than
it needs, and the caller of `answer_hook` bounds its time.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from anyio import to_thread

from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap
from fleet_memory.views.boot_text import boot_lines

EVENTS: Final = ("SessionStart", "PreCompact", "Stop", "SessionEnd")
MAX_OUTPUT_CHARS: Final = 10_000  # characters that Claude Code reads of a hook; Source: its hooks reference
BOOT_TOKENS: Final = 2_200  # leaves room for titles under that cap
MIN_TOOL_CALLS: Final = 15  # tool calls of a session that may have taught something
MAX_TRANSCRIPT_BYTES: Final = 64_000_000  # bytes that Stop looks through, about a tenth of a second

COMPACTING: Final = (
    "Keep in the summary, word for word: lessons of this session that Fleet Memory does not have yet, each with the "
    "evidence that taught it; ids and keys of recalled lessons that proved true or false; what is unfinished."
)
COMPACTED: Final = (
    "Your context was just compacted. If the summary names lessons that are not stored yet, store them now with "
    "store_memory."
)
REMINDER: Final = (
    "Fleet Memory: this session has stored nothing yet. If it taught something that will matter again, store it now "
    "(store_memory: one lesson in one sentence, with what you saw) and reinforce_memory what helped or proved wrong. "
    "If pairs of lessons waited for you at its start, judge them now. "
    "If it taught nothing, just stop: you will not be asked again."
)
_WROTE: Final = re.compile(
    rb'"name"\s*:\s*"mcp__[A-Za-z0-9_-]*fleet[_-]memory[A-Za-z0-9_-]*__'
    rb'(?:store_memory|reinforce_memory|commit_session|update_program_state|write_note)"'
)
_CALLED: Final = re.compile(rb'"type"\s*:\s*"tool_use"')
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_:/-]+")


async def answer_hook(settings: Settings, event: str, given: Mapping[str, object]) -> str:
    """Return the output for the client after an event, "" for none. Raises the errors of opening a store."""
    if event == "SessionStart":
        return _context(await _booted(settings, given))
    if event == "SessionEnd" and settings.maintenance_s:
        await _maintain(settings)
    if event == "PreCompact":
        return COMPACTING  # plain text: Claude Code adds it to the instructions of the summary
    if event == "Stop" and await to_thread.run_sync(_wants_a_reminder, given):
        return json.dumps({"decision": "block", "reason": REMINDER})
    return ""


async def _maintain(settings: Settings) -> None:
    """Maintain the fleet if that is due: sessions may all be too short for a server's own turn."""
    from fleet_memory.jobs.maintenance import maintain_if_due  # noqa: PLC0415 the other events go without

    await with_fleet(settings, lambda fleet: maintain_if_due(fleet, settings.maintenance_s))


def program_of(settings: Settings, folder: str) -> str:
    """Return the program of a session: the configured one, else the name of the folder that it works in."""
    return settings.program or _FOREIGN.sub("-", Path(folder).name).strip("-")[:100] or "agent"


async def _booted(settings: Settings, given: Mapping[str, object]) -> list[str]:
    name = program_of(settings, str(given.get("cwd") or Path.cwd()))
    boot = boot_lines(await with_fleet(settings, lambda fleet: gsp_bootstrap(fleet, name, max_tokens=BOOT_TOKENS)))
    return [boot[0], COMPACTED, *boot[1:]] if given.get("source") == "compact" else boot


def _context(boot: Sequence[str]) -> str:
    """Return the lines as context to add; over the cap the longest go first, except the first two."""
    kept = list(boot)
    while len(written := _written(kept)) > MAX_OUTPUT_CHARS:
        kept.remove(max(kept[2:], key=len))
    return written


def _written(kept: Sequence[str]) -> str:
    output = {"hookEventName": "SessionStart", "additionalContext": "\n".join(kept)}
    return json.dumps({"hookSpecificOutput": output})


def _wants_a_reminder(given: Mapping[str, object]) -> bool:
    """Whether a session worked, and neither wrote to the memory nor was reminded; its transcript is only counted."""
    path = given.get("transcript_path")
    if given.get("stop_hook_active") is True or not isinstance(path, str) or not path:
        return False
    file = Path(path).expanduser()
    if not file.is_file() or file.stat().st_size > MAX_TRANSCRIPT_BYTES:
        return False
    transcript = file.read_bytes()
    if _WROTE.search(transcript) or REMINDER[:60].encode() in transcript:
        return False
    return sum(1 for _ in _CALLED.finditer(transcript)) >= MIN_TOOL_CALLS
