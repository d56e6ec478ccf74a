"""A session's transcript as far as hooks read it: its tool calls are counted, and its last steps
are read after a compaction. Nothing of it is kept.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

MIN_TOOL_CALLS: Final = 15  # tool calls of a session that may have taught something
MAX_TRANSCRIPT_BYTES: Final = 64_000_000  # bytes that Stop looks through, about a tenth of a second

MAX_TAIL_BYTES: Final = 4_000_000  # of its end, read for the last steps; chosen
MAX_STEPS: Final = 6  # of each kind; chosen
OF_CLIENT: Final = ("isSidechain", "isMeta", "isCompactSummary")  # marks of other messages
FILE_TOOLS: Final = ("Edit", "Write", "NotebookEdit")

_EXIT: Final = re.compile(r"Exit code (\d+)")
_WROTE: Final = re.compile(
    rb'"tool_use"[^{}]{0,200}"name"\s*:\s*"mcp__[A-Za-z0-9_-]*fleet[_-]memory[A-Za-z0-9_-]*__'
    rb'(?:store_memory|reinforce_memory|commit_session|update_program_state|write_note)"'
)
_CALLED: Final = re.compile(rb'"type"\s*:\s*"tool_use"')


def is_worth_a_reminder(file: Path, reminder: bytes) -> bool:
    """Whether a session worked, and neither called a tool that writes to the memory nor was
    reminded. False for a file over the limit.
    """
    if file.stat().st_size > MAX_TRANSCRIPT_BYTES:
        return False
    transcript = file.read_bytes()
    is_settled = reminder in transcript or _WROTE.search(transcript)
    return not is_settled and len(_CALLED.findall(transcript)) >= MIN_TOOL_CALLS


def _json(line: bytes) -> object:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value


def last_steps(file: Path | None) -> list[tuple[str, str]]:
    """Return the last request and answer, open items, changed files and commands of a session, each
    with what it is, e.g. ("Ran, exit 2", "ls /nowhere"); none without a transcript.
    """
    said, changed, commands = dict[str, str](), dict[str, str](), dict[str, str]()
    ended, items = dict[str, str](), list[str]()
    for role, part in _said_and_done(file) if file and file.is_file() else ():
        given, id_ = _object(part.get("input")), str(part.get("id"))
        if part.get("type") == "tool_result":
            code = _EXIT.match(_text_of(part))
            failed = f"exit {code[1]}" if code else "failed"
            ended[str(part.get("tool_use_id"))] = failed if part.get("is_error") else "exit 0"
        elif text := _text_of(part):
            said[role] = text
        elif isinstance(command := given.get("command"), str):
            commands[id_] = command
        elif part.get("name") in FILE_TOOLS:
            changed[id_] = str(given.get("file_path") or given.get("notebook_path"))
        elif part.get("name") == "TodoWrite":
            todos = [_object(todo) for todo in _list(given.get("todos"))]
            items = [
                str(each.get("content")) for each in todos if each.get("status") != "completed"
            ]
    asked = [("Asked", text) for role, text in said.items() if role == "user"]
    answered = [("Answered", text) for role, text in said.items() if role == "assistant"]
    files = dict.fromkeys(changed[id_] for id_ in reversed(changed) if ended.get(id_) != "failed")
    return [
        *(asked + answered),
        *(("Open", item) for item in items[:MAX_STEPS]),
        *(("Changed", path) for path in [*files][:MAX_STEPS]),
        *(
            (f"Ran, {ended.get(id_, 'no result')}", command)
            for id_, command in [*commands.items()][-MAX_STEPS:]
        ),
    ]


def _said_and_done(file: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield who says or does each part of the main agent's messages, in order; nothing that the
    client wrote itself.
    """
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - MAX_TAIL_BYTES))
        for line in stream:
            entry = _object(_json(line))
            if entry.get("type") not in ("user", "assistant") or any(map(entry.get, OF_CLIENT)):
                continue
            message = _object(entry.get("message"))
            content, role = message.get("content"), str(message.get("role"))
            parts = [{"text": content}] if isinstance(content, str) else _list(content)
            for part in map(_object, parts):
                is_of_client = "text" in part and _text_of(part).startswith("<")  # a command
                if not is_of_client:
                    yield role, part


def _text_of(part: Mapping[str, object]) -> str:
    """Return the text of a part, or of a tool's result."""
    content = part.get("content", part.get("text"))
    texts = (_object(each).get("text") for each in _list(content))
    return content if isinstance(content, str) else "\n".join(str(text) for text in texts if text)


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
