"""`fleet-memory call`: call one tool through a client, so that it shows the answer that a client
gets.
"""

import argparse
import json
from typing import Final

import anyio

from fleet_memory.cli.arguments import Actions, argument
from fleet_memory.cli.printing import complain, print_json, stdin_text
from fleet_memory.errors import EXIT_NO, InvalidArgumentError, exit_of
from fleet_memory.server.app import call_in_process
from fleet_memory.server.composition import installed_toolsets
from fleet_memory.settings import CURATION, Settings
from fleet_memory.tools.health import UNHEALTHY

# Answers that are a no
_NO: Final = {"status": {"duplicate"}, "verdict": UNHEALTHY}


def run_call(given: argparse.Namespace, settings: Settings) -> int:
    """Call the tool and print its answer; 1 when the answer is a no."""
    arguments = _object(stdin_text("JSON") if given.arguments == "-" else given.arguments or "{}")
    answer = anyio.run(call_in_process, settings, given.tool, arguments)
    if answer.refusal:
        complain(answer.refusal)
        return exit_of(answer.refusal.partition(":")[0])
    print_json(answer.content)
    return EXIT_NO if any(answer.content.get(name) in values for name, values in _NO.items()) else 0


def _object(text: str) -> dict[str, object]:
    try:
        parsed = json.loads(text.removeprefix("\ufeff"))  # a byte order mark, as PowerShell writes
    except RecursionError as error:
        raise InvalidArgumentError("JSON: is nested too deeply") from error
    except ValueError as error:
        raise InvalidArgumentError(
            f'JSON: {error}. Example: \'{{"programId": "basher"}}\''
        ) from error
    if not isinstance(parsed, dict):
        raise InvalidArgumentError('JSON: must be an object, e.g. \'{"programId": "basher"}\'')
    return parsed


_OFFERED: Final = [
    tool.name for each in installed_toolsets() if each.name != CURATION for tool in each.tools
]
ACTIONS: Final[Actions] = {
    "call": (
        run_call,
        argument("tool", "TOOL", f"one of {', '.join(_OFFERED)}"),
        argument("arguments", "JSON", "its arguments, or - to read stdin", nargs="?"),
    )
}
