"""The command line, one module per command, imported when it is chosen: --help answers at once.

A module offers `add_arguments(parser)` and `run(given, settings) -> int`, which returns the exit
code. Its docstring's first line, after the command's name, is its description in --help; `EXAMPLE`
is a line that works as it is printed; `USES` names the settings that count for it, without it all
but those of HTTP.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Final, NamedTuple

from fleet_memory import __version__
from fleet_memory.cli.printing import (
    OutputError,
    complain,
    discard_output,
    flush_output,
    prepare_streams,
    print_answer,
)
from fleet_memory.cli.settings_flags import ONE_CLIENT, add_settings, refusing_parser, settings_of
from fleet_memory.errors import EXIT_CODES, EXIT_INTERNAL, FleetMemoryError, UnknownProgramError
from fleet_memory.rules.text.closest import close_names
from fleet_memory.settings import SETTINGS

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT


class Command(NamedTuple):
    """A command of the table: its name, its module in this package, and its line in --help."""

    name: str
    module: str
    help: str


COMMANDS: Final = (  # in the order of --help
    Command("serve", "serve", "serve one MCP client over stdin and stdout, or many over HTTP"),
    Command("call", "call", "call one tool and print its answer"),
    Command("check", "check", "check that the memory can be read and is intact"),
    Command(
        "health",
        "health",
        "show the state of the fleet's memory, or of one program's with --program",
    ),
    Command("list", "list_", "list the lessons of --program, or the fleet's entries"),
    Command("show", "show", "show an entry with its sources, words and history, or a lesson"),
    Command("search", "search", "find lessons and entries by meaning and words"),
    Command("log", "log", "show the changes of shared knowledge, the newest first"),
    Command("who", "who", "list the programs, with their lessons and entries"),
    Command("domains", "domains", "list the domains, the commonest first"),
    Command("maintain", "maintain", "archive faded lessons and propose pairs, e.g. from cron"),
    Command("export", "export", "write the fleet's memory to a file"),
    Command("import", "import_", "merge a file of `export` into the store"),
    Command("reembed", "reembed", "move the memory to the configured embedder"),
    Command("seed", "seed", "set rules that every agent reads, from a file"),
    Command("retire", "retire", "take an entry of shared knowledge out of use"),
    Command("reinstate", "reinstate", "bring a retired entry back"),
    Command("reword", "reword", "give an entry another text"),
    Command("split", "split", "take a wrong contribution, that of --program, out of an entry"),
    Command(
        "policy",
        "policy",
        "show or set the rules of the fleet, e.g. the votes that publish an entry",
    ),
    Command(
        "restore",
        "restore",
        "bring back a lesson or note of --program from the archive, or list them",
    ),
    Command(
        "delete-program",
        "delete_program",
        "archive a program's lessons and notes and remove the program",
    ),
    Command("purge", "purge", "erase a text, a program, one lesson or an entry for good"),
    Command(
        "token", "token", "create, list and revoke the tokens of agents that connect over HTTP"
    ),
    Command("review", "review", "judge pairs of lessons that may be the same"),
    Command("install", "install", "add the server to a client's configuration"),
    Command("doctor", "doctor", "check this machine and its clients, and name the remedies"),
    Command("hook", "hook", "answer a coding client's hook, e.g. SessionStart"),
    Command("demo", "demo", "watch three agents learn and share"),
)
READING: Final = frozenset(  # commands that change nothing
    {
        "check",
        "health",
        "list",
        "show",
        "search",
        "log",
        "who",
        "domains",
        "export",
        "doctor",
        "demo",
    }
)
_COMMANDS_FOR_CALLS: Final = {
    "Call recall_memory with scope 'shared' to list the entries.": (
        "`fleet-memory list` lists the entries."
    ),
    "Call recall_memory to list its lessons.": "`fleet-memory list --program NAME` lists its "
    "lessons.",
}

_logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # Before numpy is imported: twenty servers share one machine, and idle BLAS threads spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prepare_streams()
    chosen, words = _chosen(sys.argv[1:] if arguments is None else arguments)
    if chosen == "hook" and not {"-h", "--help"} & {*words}:
        code = int(_module("hook").run_unfailing(words))
        os._exit(code)  # a store that hangs must not delay the end either
    code = _exit_code(chosen, words)
    if chosen == "serve":
        logging.shutdown()
        os._exit(code)  # a thread may be parked in a read of stdin; waiting for it would hang
    return code


def _chosen(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the first word that is no flag and no setting's value, and the other words: flags may
    stand before it.
    """
    values = {setting.flag for setting in SETTINGS}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in values else 1
    return "".join(words[at : at + 1]), [*words[:at], *words[at + 1 :]]


def _exit_code(chosen: str, words: Sequence[str]) -> int:
    command = next((command for command in COMMANDS if command.name == chosen), None)
    try:
        if command is None:
            code = _without_command(chosen, words)
        else:
            module = _module(command.module)
            given = _parser(command, module).parse_intermixed_args(words)
            code = _answered(module, given)
        flush_output()
    except OutputError as error:
        discard_output()
        complain(
            str(error)
            if chosen in READING
            else f"{error}; what {chosen} has changed by now stays changed"
        )
        code = error.exit_code
    except FleetMemoryError as error:
        from fleet_memory.rules.text.shown_names import without_credentials  # noqa: PLC0415 its rules take 7 ms

        words = " ".join(filter(None, (str(error), error.operator_detail)))
        complain(without_credentials(_for_people(words)))
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


def _answered(module: ModuleType, given: argparse.Namespace) -> int:
    """Run a command; a program that has stored nothing is the same empty answer everywhere."""
    try:
        return int(module.run(given, settings_of(given, uses_of(module))))
    except UnknownProgramError as error:
        from fleet_memory.rules.text.shown_names import without_credentials  # noqa: PLC0415 its rules take 7 ms

        close = {"suggestions": [*error.close]} if error.close else {}
        answer = {"programId": without_credentials(error.program_id), "exists": False, **close}
        print_answer(answer, without_credentials(str(error)), as_json=given.json)
        return error.exit_code


def _for_people(text: str) -> str:
    """Return an error's text with commands instead of tool calls."""
    for call, command in _COMMANDS_FOR_CALLS.items():
        text = text.replace(call, command)
    return text


def _without_command(chosen: str, words: Sequence[str]) -> int:
    """Show the commands where none is named; exits with 2 for a word that is none."""
    wide = max(len(command.name) for command in COMMANDS)
    parser = argparse.ArgumentParser(
        "fleet-memory",
        usage="fleet-memory [SETTINGS] COMMAND ...",
        description="Shared memory for fleets of AI agents. `fleet-memory COMMAND --help` "
        "explains a command.",
        epilog="commands:\n"
        + "\n".join(f"  {command.name:{wide}}  {command.help}" for command in COMMANDS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    if chosen:
        close = close_names(chosen, [command.name for command in COMMANDS], limit=1)
        parser.error(f"{chosen!r} is no command" + (f", did you mean {close[0]}?" if close else ""))
    parser.parse_args(words)
    parser.print_help()
    return 0


def _parser(command: Command, module: ModuleType) -> argparse.ArgumentParser:
    """Return the parser of a command: its own arguments, and the settings that count for it."""
    uses = uses_of(module)
    example = getattr(module, "EXAMPLE", "")
    parser = argparse.ArgumentParser(
        f"fleet-memory {command.name}",
        description=description(command),
        epilog="\n".join(
            [*([f"example: {example}"] if example else []), f"exit codes: {EXIT_CODES}"]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[refusing_parser(uses, _takers)],
        # a command may have another use for the name of a setting, e.g. --program
        conflict_handler="resolve",
    )
    module.add_arguments(parser)
    parser.usage = parser.format_usage().removeprefix("usage: ").rstrip() + " [SETTINGS]"
    add_settings(parser, uses)
    return parser


def description(command: Command) -> str:
    """Return the first line of its module's docstring, e.g. "Write the fleet's memory to a
    file.".
    """
    text = str(_module(command.module).__doc__).partition("\n")[0].partition("`: ")[2]
    return text[:1].upper() + text[1:]


def _takers(setting: str) -> list[str]:
    """Return the names of the commands for which a setting counts."""
    return [command.name for command in COMMANDS if setting in uses_of(_module(command.module))]


def uses_of(module: ModuleType) -> Sequence[str]:
    """Return the names of the settings that count for a command."""
    uses: Sequence[str] = getattr(module, "USES", ONE_CLIENT)
    return uses


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")
