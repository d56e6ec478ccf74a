"""`fleet-memory call`."""

import argparse
import json
import sys
from typing import TYPE_CHECKING, Final

from fleet_memory.cli.printing import print_json, refused
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands

UNHEALTHY: Final = frozenset({"forgetting", "hoarding", "echoing", "repeating", "unreinforced"})
# Answers that are a no
_NO: Final = {"status": {"duplicate"}, "verdict": UNHEALTHY}


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    call = commands.add_parser("call", parents=[shared], help="call one tool and print its answer")
    call.add_argument("tool", metavar="TOOL", help="for example recall_memory")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help="its arguments, or - to read stdin")
    call.set_defaults(run=_call)


def _call(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.in_process import called  # noqa: PLC0415 half a second

    arguments = _object(sys.stdin.read() if given.arguments == "-" else given.arguments)
    answer = anyio.run(called, settings, given.tool, arguments)
    if answer.refusal:
        return refused(answer.refusal)
    print_json(answer.content)
    return EXIT_NO if any(answer.content.get(name) in values for name, values in _NO.items()) else 0


def _object(text: str) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f'JSON: {error}. Example: \'{{"programId": "basher"}}\'') from error
    if not isinstance(parsed, dict):
        raise InvalidArgumentError('JSON: must be an object, e.g. \'{"programId": "basher"}\'')
    return parsed
