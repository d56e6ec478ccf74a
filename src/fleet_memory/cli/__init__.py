"""The command line. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 backend unavailable, 4 conflict, 5 internal.

One module per command; whatever takes long to import is imported by the command that needs it: --help answers at once.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from typing import Final

from fleet_memory import __version__
from fleet_memory.cli import (
    call,
    check,
    delete_program,
    demo,
    health,
    hook,
    install,
    maintain,
    reembed,
    restore,
    retire,
    review,
    seed,
    serve,
    transfer,
)
from fleet_memory.cli.printing import complain
from fleet_memory.errors import EXIT_INTERNAL, FleetMemoryError
from fleet_memory.settings import SETTINGS, load

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT

COMMANDS: Final = (  # in the order of --help
    serve,
    call,
    check,
    health,
    maintain,
    transfer,
    reembed,
    seed,
    retire,
    restore,
    delete_program,
    review,
    install,
    hook,
    demo,
)

_logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    asked = sys.argv[1:] if arguments is None else arguments
    if asked[:1] == ["hook"] and not {"-h", "--help"} & {*asked}:
        code = hook.unfailing(asked[1:], _settings_flags())
        sys.stdout.flush()
        os._exit(code)  # a store that hangs must not hold up the end either
    parser = _parser()
    given = parser.parse_args(asked)
    if not given.command:
        parser.print_help()
        return 0
    code = _exit_code(given)
    if given.command == "serve":
        logging.shutdown()
        os._exit(code)  # a thread may be parked in a read of stdin; waiting for it would hang
    return code


def _exit_code(given: argparse.Namespace) -> int:
    # Before numpy is imported: twenty servers share one machine, and idle BLAS threads spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        settings = load({setting.name: getattr(given, setting.name) for setting in SETTINGS}, os.environ)
        return int(given.run(given, settings))
    except FleetMemoryError as error:
        complain(" ".join(filter(None, (str(error), error.operator_detail))))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception:
        _logger.exception("%s failed", given.command)
        return EXIT_CRASHED if given.command == "serve" else EXIT_INTERNAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fleet-memory", description="Shared memory for fleets of AI agents.")
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shared = _settings_flags()
    for command in COMMANDS:
        command.add(commands, shared)
    return parser


def _settings_flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("settings", "Each is also an environment variable; the flag wins.")
    for setting in SETTINGS:
        default = f", default {setting.default}" if setting.default else ""
        metavar = setting.name.rpartition("_")[2].upper()
        group.add_argument(setting.flag, metavar=metavar, help=f"{setting.help} ({setting.variable}{default})")
    return parser
