"""The command line. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 backend unavailable, 4 conflict, 5 internal.

One module per command, imported when it is chosen: --help answers at once. A module offers `add_arguments(parser)` and
`run(given, settings) -> int`, which returns the exit code.
"""

import argparse
import io
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

from fleet_memory import __version__
from fleet_memory.cli.printing import complain, discard_output, flush_output
from fleet_memory.cli.settings_flags import settings_of, settings_parser
from fleet_memory.errors import EXIT_INTERNAL, FleetMemoryError

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT


class Command(NamedTuple):
    """A command of the table: its name, its module in this package, and its line in --help."""

    name: str
    module: str
    help: str


COMMANDS: Final = (  # in the order of --help
    Command("serve", "serve", "serve one MCP client over stdin and stdout"),
    Command("call", "call", "call one tool and print its answer"),
    Command("check", "check", "say whether the memory can be read and is intact"),
    Command("health", "health", "show how the fleet's memory does, or one program's with --program"),
    Command("maintain", "maintain", "archive what faded and consolidate, for cron"),
    Command("export", "export", "write the fleet's memory to a file"),
    Command("import", "import_", "put a file of `export` into the store"),
    Command("reembed", "reembed", "move the memory to the configured embedder"),
    Command("seed", "seed", "set the rules of the house from a file"),
    Command("retire", "retire", "take an entry of shared knowledge out of use"),
    Command("reinstate", "reinstate", "bring a retired entry back"),
    Command("reword", "reword", "give an entry another text"),
    Command("split", "split", "take the contribution of --program out of an entry: it is not the same"),
    Command("policy", "policy", "show or set the rules of the fleet, e.g. the votes that publish an entry"),
    Command("restore", "restore", "bring back a lesson or note of --program from the archive, or list them"),
    Command("delete-program", "delete_program", "archive a program's lessons and notes and remove the program"),
    Command("review", "review", "judge the pairs that wait for a reader"),
    Command("install", "install", "add the server to a client's configuration"),
    Command("hook", "hook", "answer a coding client's hook: SessionStart, PreCompact, Stop or SessionEnd"),
    Command("demo", "demo", "watch three agents learn and share"),
)

_logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _use_utf8()
    # Before numpy is imported: twenty servers share one machine, and idle BLAS threads spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = sys.argv[1:] if arguments is None else arguments
    chosen = next((word for word in words if not word.startswith("-")), "")
    if words[:1] == ["hook"] and not {"-h", "--help"} & {*words}:
        code = int(_module("hook").run_unfailing(words[1:]))
        os._exit(code)  # a store that hangs must not delay the end either
    code = _exit_code(words, chosen)
    if chosen == "serve":
        logging.shutdown()
        os._exit(code)  # a thread may be parked in a read of stdin; waiting for it would hang
    return code


def _use_utf8() -> None:
    """Make the text streams UTF-8: Windows and the C locale give Python others, which cannot print every lesson."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
        if isinstance(stream, io.TextIOWrapper):  # None where it is closed
            stream.reconfigure(encoding="utf-8", errors=errors)


def _exit_code(words: Sequence[str], chosen: str) -> int:
    try:
        parser = _parser(chosen)
        given = _parsed(parser, words, chosen)
        if given.command:
            code = int(given.run(given, settings_of(given)))
        else:
            parser.top.print_help()
            code = 0
        flush_output()
    except FleetMemoryError as error:
        complain(" ".join(filter(None, (str(error), error.operator_detail))))
        code = error.exit_code
    except BrokenPipeError:  # the reader of our output has seen enough, e.g. `| head`
        discard_output()
        code = 0
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception:
        _logger.exception("%s failed", chosen)
        code = EXIT_CRASHED if chosen == "serve" else EXIT_INTERNAL
    return code


class _Parser(NamedTuple):
    """The parser of the command line, and that of the chosen command; None where there is none of that name."""

    top: argparse.ArgumentParser
    command: argparse.ArgumentParser | None


def _parsed(parser: _Parser, words: Sequence[str], chosen: str) -> argparse.Namespace:
    """Return the arguments of the chosen command; flags may stand before, between and after its other words."""
    if parser.command is None or words[0] != chosen:
        return parser.top.parse_args(words)
    return parser.command.parse_intermixed_args(words[1:], argparse.Namespace(command=chosen))


def _parser(chosen: str) -> _Parser:
    parser = argparse.ArgumentParser("fleet-memory", description="Shared memory for fleets of AI agents.")
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shared = settings_parser()
    leaf = None
    for command in COMMANDS:
        each = commands.add_parser(command.name, parents=[shared], help=command.help)
        if command.name == chosen:
            module = _module(command.module)
            module.add_arguments(each)
            each.set_defaults(run=module.run)
            leaf = each
    return _Parser(parser, leaf)


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")
