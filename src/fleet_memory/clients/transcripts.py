"""A session's transcript as far as hooks read it: its tool calls are counted, nothing of it is
kept.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MIN_TOOL_CALLS: Final = 15  # tool calls of a session that may have taught something
MAX_TRANSCRIPT_BYTES: Final = 64_000_000  # bytes that Stop looks through, about a tenth of a second

_WRITING: Final = (
    r"mcp__[A-Za-z0-9_-]*fleet[_-]memory[A-Za-z0-9_-]*__"
    r"(?:store_memory|reinforce_memory|commit_session|update_program_state|write_note)"
)
_WROTE: Final = re.compile(rf'"name"\s*:\s*"{_WRITING}"'.encode())
_WRITING_NAME: Final = re.compile(_WRITING)
_CALLED: Final = re.compile(rb'"type"\s*:\s*"tool_use"')
_FAILED: Final = re.compile(rb'"is_error"\s*:\s*true')


def is_worth_a_reminder(file: Path, reminder: bytes) -> bool:
    """Whether a session worked, and neither wrote to the memory nor was reminded. False for a file
    over the limit.
    """
    if not file.is_file() or file.stat().st_size > MAX_TRANSCRIPT_BYTES:
        return False
    transcript = file.read_bytes()
    if reminder in transcript or sum(1 for _ in _CALLED.finditer(transcript)) < MIN_TOOL_CALLS:
        return False
    return not _has_written(transcript)


def _has_written(transcript: bytes) -> bool:
    """Whether a call wrote to the memory: one without a result counts, one whose result is an error
    does not.
    """
    if not _WROTE.search(transcript):
        return False
    lines = transcript.splitlines()
    failed = {
        str(part.get("tool_use_id"))
        for line in lines
        if _FAILED.search(line)
        for part in _parts(line)
        if part.get("is_error") is True
    }
    return any(
        str(part.get("id")) not in failed
        for line in lines
        if _WROTE.search(line)
        for part in _parts(line)
        if _WRITING_NAME.fullmatch(str(part.get("name")))
    )


def _parts(line: bytes) -> Iterator[dict[str, object]]:
    """Yield every JSON object of a line, at any depth."""
    try:
        waiting: list[object] = [json.loads(line)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
