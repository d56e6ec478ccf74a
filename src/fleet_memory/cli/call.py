"""`fleet-memory call`: call one tool through a client, so that it shows the answer that a client
gets.
"""

import argparse
import json
from typing import Final

import anyio

from fleet_memory.cli.arguments import Actions, argument
from fleet_memory.cli.printing import complain, print_json, stdin_text
from fleet_memory.errors import EXIT_INTERNAL, EXIT_NO, FleetMemoryError, InvalidArgumentError
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
        return _exit_codes().get(answer.refusal.partition(":")[0], EXIT_INTERNAL)
    print_json(answer.content)
    return EXIT_NO if any(answer.content.get(name) in values for name, values in _NO.items()) else 0


def _exit_codes() -> dict[str, int]:
    """Return the exit code of each code that a refusal may begin with."""
    kinds = [FleetMemoryError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {
        kind.code: kind.exit_code for kind in reversed(kinds)
    }  # of kinds with one code, that of the widest


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
