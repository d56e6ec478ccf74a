"""`fleet-memory hook EVENT`: answer the hook of a coding client: when a session starts, compacts,
stops or ends.

It never fails a session: on any error it exits with 0, prints nothing and writes one line to
stderr.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Final, NoReturn

from fleet_memory.cli.arguments import Actions, argument, settings_of, settings_parser
from fleet_memory.cli.printing import complain, flush_output, one_line, say
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.settings import Settings

WITHIN_S: Final = 9.0  # seconds; the client waits for us, ten at most
MAX_INPUT_CHARS: Final = 1_000_000  # characters; a real one has some hundred
BOM: Final = "\ufeff"  # in front of what PowerShell pipes
MAINTAIN: Final = "maintain"  # no event of a client: SessionEnd starts it
_DETACHED: Final = (
    0x00000008 | 0x00000200
)  # DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP, which only Windows has
EVENT: Final = argument(
    "event",
    "EVENT",
    "SessionStart, SubagentStart, UserPromptSubmit, PreToolUse, PostToolUseFailure, PreCompact, "
    "Stop or SessionEnd",
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgumentError(message)  # exit code 2 would make Claude Code block


def run_unfailing(words: Sequence[str]) -> int:
    """Answer the hook of a command line in bounded time; return 0 even for an error."""
    work = Thread(target=_work, args=(words,), daemon=True)
    work.start()
    work.join(None if MAINTAIN in words[:1] else WITHIN_S)
    if work.is_alive():
        complain(f"hook: no answer within {WITHIN_S:.0f} s; the session goes on without it")
    return 0


def _work(words: Sequence[str]) -> None:
    try:
        parser = _Parser("fleet-memory hook", parents=[settings_parser()])
        EVENT(parser)
        given = parser.parse_args(words)
        if answer(given, settings_of(given)):
            _maintain_in_background([word for word in words if word != given.event])
    except FleetMemoryError as error:
        complain(one_line(f"hook: {error} {error.operator_detail}"))
    except Exception as error:  # noqa: BLE001 the outermost edge: a session must not fail because of its memory
        complain(one_line(f"hook: {type(error).__name__}: {error}"))


def answer(given: argparse.Namespace, settings: Settings) -> bool:
    """Print the answer; return whether maintenance is due, which the client must not wait for."""
    import anyio  # noqa: PLC0415 inside the time limit, and an import that fails must not fail a session

    from fleet_memory.clients import hooks  # noqa: PLC0415 the same
    from fleet_memory.clients.entries import EVENTS  # noqa: PLC0415 the same
    from fleet_memory.clients.identity import user_state  # noqa: PLC0415 the same

    if given.event == MAINTAIN:
        anyio.run(hooks.maintain, settings)
        return False
    if given.event not in (*EVENTS, hooks.NOTE):
        raise InvalidArgumentError(
            f"EVENT: {given.event!r} is unknown; known are {', '.join(EVENTS)}"
        )
    state = user_state()
    sent = _input(sys.stdin.read(MAX_INPUT_CHARS).removeprefix(BOM))
    if output := anyio.run(hooks.answer_hook, settings, given.event, sent, state):
        say(output)
        flush_output()
    if given.event == "SessionStart":
        hooks.forget_old_sessions(state)
    return given.event == "SessionEnd" and settings.maintenance_s > 0


def _maintain_in_background(flags: Sequence[str]) -> None:
    """Start `fleet-memory hook maintain` as a process of its own, which outlives the hook and its
    client.
    """
    detached = (
        {"creationflags": _DETACHED} if sys.platform == "win32" else {"start_new_session": True}
    )
    subprocess.Popen(  # noqa: S603 this very program
        [sys.executable, "-P", "-m", "fleet_memory", "hook", MAINTAIN, *flags],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a pipe of the client's that stays open would make it wait
        stderr=subprocess.DEVNULL,
        **detached,
    )


def _input(text: str) -> Mapping[str, object]:
    """Return the client's JSON object on stdin, an empty one for no input."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"stdin: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError("stdin: not a JSON object")
    return value


ACTIONS: Final[Actions] = {"hook": (answer, EVENT)}
