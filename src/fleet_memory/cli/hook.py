"""`fleet-memory hook EVENT`: what a coding client runs when a session starts, compacts, stops or ends.

It never fails a session: whatever goes wrong it exits with 0, prints nothing and says one line on stderr.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Final, NoReturn

from fleet_memory.cli.printing import complain
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.settings import SETTINGS, Settings, load

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands

WITHIN_S: Final = 5.0  # seconds; the client waits for us
MAX_INPUT_CHARS: Final = 1_000_000  # characters; a real one has some hundred
EVENT_HELP: Final = "SessionStart, PreCompact, Stop or SessionEnd"


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command to what --help lists."""
    hook = commands.add_parser("hook", parents=[shared], help=f"answer a coding client's hook: {EVENT_HELP}")
    hook.add_argument("event", metavar="EVENT", help=EVENT_HELP)
    hook.set_defaults(run=None)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgumentError(message)  # exit code 2 would tell Claude Code to block


def unfailing(arguments: Sequence[str], shared: argparse.ArgumentParser) -> int:
    """Run the hook that was asked for; return 0 whatever happens, in bounded time."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in main
    said: list[str] = []
    work = Thread(target=_work, args=(arguments, shared, said), daemon=True)
    work.start()
    work.join(WITHIN_S)
    if work.is_alive():
        complain(f"hook: no answer within {WITHIN_S:.0f} s; the session goes on without it")
    elif said and said[0]:
        sys.stdout.write(said[0] + "\n")
    return 0


def _work(arguments: Sequence[str], shared: argparse.ArgumentParser, said: list[str]) -> None:
    try:
        parser = _Parser("fleet-memory hook", parents=[shared])
        parser.add_argument("event", metavar="EVENT", help=EVENT_HELP)
        given = parser.parse_args(arguments)
        settings = load({setting.name: getattr(given, setting.name) for setting in SETTINGS}, os.environ)
        said.append(_said(settings, given.event, _input(sys.stdin.read(MAX_INPUT_CHARS))))
    except FleetMemoryError as error:
        complain(f"hook: {' '.join(filter(None, (str(error), error.operator_detail)))}".replace("\n", " "))
    except Exception as error:  # noqa: BLE001 the outermost edge: a session must not fail because of its memory
        complain(f"hook: {type(error).__name__}: {error}".replace("\n", " "))


def _said(settings: Settings, event: str, given: Mapping[str, object]) -> str:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.integration.hooks import EVENTS as known  # noqa: N811, PLC0415 a fifth of a second
    from fleet_memory.integration.hooks import told  # noqa: PLC0415 the same

    if event not in known:
        raise InvalidArgumentError(f"EVENT: {event!r} is unknown; known are {', '.join(known)}")
    return anyio.run(told, settings, event, given)


def _input(text: str) -> Mapping[str, object]:
    """Return what the client told on stdin; nothing at all is as good as an empty object."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"stdin: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError("stdin: not a JSON object")
    return value
