"""`fleet-memory hook EVENT`: answer the hook of a coding client: when a session starts, compacts, stops or ends.

It never fails a session: on any error it exits with 0, prints nothing and writes one line to stderr.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import Final, NoReturn

from fleet_memory.cli.printing import complain, flush_output, say
from fleet_memory.cli.settings_flags import settings_of, settings_parser
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.settings import Settings

EXAMPLE: Final = "echo '{}' | fleet-memory hook SessionStart"
WITHIN_S: Final = 5.0  # seconds; the client waits for us
MAX_INPUT_CHARS: Final = 1_000_000  # characters; a real one has some hundred
EVENT_HELP: Final = "SessionStart, PreCompact, Stop or SessionEnd"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("event", metavar="EVENT", help=EVENT_HELP)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Answer the hook like any command; clients get `run_unfailing`."""
    say(_answer(settings, given.event, _input(sys.stdin.read(MAX_INPUT_CHARS))))
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgumentError(message)  # exit code 2 would make Claude Code block


def run_unfailing(words: Sequence[str]) -> int:
    """Answer the hook of a command line in bounded time; return 0 even for an error."""
    work = Thread(target=_work, args=(words,), daemon=True)
    work.start()
    work.join(WITHIN_S)
    if work.is_alive():
        complain(f"hook: no answer within {WITHIN_S:.0f} s; the session goes on without it")
    return 0


def _work(words: Sequence[str]) -> None:
    try:
        parser = _Parser("fleet-memory hook", parents=[settings_parser()])
        add_arguments(parser)
        given = parser.parse_args(words)
        if answer := _answer(settings_of(given), given.event, _input(sys.stdin.read(MAX_INPUT_CHARS))):
            say(answer)
            flush_output()
    except FleetMemoryError as error:
        complain(f"hook: {' '.join(filter(None, (str(error), error.operator_detail)))}".replace("\n", " "))
    except Exception as error:  # noqa: BLE001 the outermost edge: a session must not fail because of its memory
        complain(f"hook: {type(error).__name__}: {error}".replace("\n", " "))


def _answer(settings: Settings, event: str, given: Mapping[str, object]) -> str:
    import anyio  # noqa: PLC0415 inside the time limit, and an import that fails must not fail a session

    from fleet_memory.integration import hooks  # noqa: PLC0415 the same

    if event not in hooks.EVENTS:
        raise InvalidArgumentError(f"EVENT: {event!r} is unknown; known are {', '.join(hooks.EVENTS)}")
    return anyio.run(hooks.answer_hook, settings, event, given)


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
