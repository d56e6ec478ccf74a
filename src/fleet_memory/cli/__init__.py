"""The command line: a table of the commands, the module of each imported when it is chosen.

A module has its commands in `ACTIONS`, by their names, each with its function and its arguments. A
name has one word, e.g. "search", or two, e.g. "entry retire".
"""

import argparse
import logging
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fleet_memory import __version__
from fleet_memory.cli.arguments import (
    JSON,
    OWN_MEMORY,
    USES,
    Actions,
    Argument,
    Run,
    add_settings,
    settings_of,
    utf8,
)
from fleet_memory.cli.printing import (
    OutputError,
    complain,
    discard_output,
    flush_output,
    prepare_streams,
    print_output,
)
from fleet_memory.errors import (
    EXIT_CODES,
    EXIT_INTERNAL,
    EXIT_USAGE,
    FleetMemoryError,
    exit_of,
)
from fleet_memory.rules.text.keys import close_names
from fleet_memory.settings import SETTINGS

if TYPE_CHECKING:
    from fleet_memory.fleet import PeoplesCommand

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT


class Command(NamedTuple):
    """A command: its name, its line in --help, the words of an example behind its name, its module
    in this package, the settings that count for it, and whether it has --json; or the command of a
    toolset.
    """

    name: str
    help: str
    example_words: str = ""
    module: str = ""
    uses: tuple[str, ...] = OWN_MEMORY
    has_json: bool = True
    of_toolset: "PeoplesCommand | None" = None

    @property
    def description(self) -> str:
        """Its line in --help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:].removesuffix('.')}."

    @property
    def example(self) -> str:
        """A line that works, e.g. "fleet-memory demo --mine"."""
        given = "echo '{}' | " if self.name == "hook" else ""
        return f"{given}fleet-memory {self.name} {self.example_words}".rstrip()

    def action(self) -> tuple[Run, Sequence[Argument]]:
        """Return its function and its arguments; with --json the answer is one JSON object."""
        if self.of_toolset:
            from fleet_memory.cli.memory import of_toolset  # noqa: PLC0415 most commands need none

            return of_toolset(self.of_toolset), [self.of_toolset.add_arguments, JSON]
        module = import_module(f"{__name__}.{self.module}")
        run, *arguments = cast("Actions", module.ACTIONS)[self.name]
        return run, [*arguments, *([JSON] if self.has_json else [])]


def _read_commands() -> Iterator[Command]:
    text = Path(__file__).with_name("commands.toml").read_text(encoding="utf-8")
    for name, row in tomllib.loads(text).items():
        uses = chain.from_iterable(USES.get(each, (each,)) for each in row["settings"])
        words, has_json = row.get("example", ""), row.get("json", True)
        yield Command(name, row["help"], words, row["module"], tuple(uses), has_json)


COMMANDS: Final = [*_read_commands()]  # in the order of --help
GROUPS: Final = {name.partition(" ")[0] for name, *_ in COMMANDS if " " in name}
EARLIER: Final = {  # names of version 0.2, and what does the same now; also second words alone
    "check": "doctor store",
    "health": "doctor memory",
    "who": "list programs",
    "delete-program": "lesson forget PROGRAM --all --why TEXT",
    "reembed": "maintain --rebuild",
    **{name.partition(" ")[2]: name for name, *_ in COMMANDS},
}

_logger = logging.getLogger(__name__)


def every_command() -> list[Command]:
    """Return the commands of the table and those of toolsets, which are imported for it."""
    from fleet_memory.server.composition import installed_toolsets  # noqa: PLC0415 most commands need none
    from fleet_memory.window import WINDOW  # noqa: PLC0415 the same

    added = [WINDOW, *(each for toolset in installed_toolsets() for each in toolset.commands)]
    return [
        *COMMANDS,
        *(Command(each.name, each.help, each.example, of_toolset=each) for each in added),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    # Before numpy is imported: twenty servers share one machine, and idle BLAS threads spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    prepare_streams()
    chosen, words = _chosen(sys.argv[1:] if arguments is None else arguments)
    if chosen == "hook" and not {"-h", "--help"} & {*words}:
        code = int(import_module(f"{__name__}.hook").run_unfailing(words))
        os._exit(code)  # a store that hangs must not delay the end either
    code = _exit_code(chosen, words)
    if chosen == "serve":
        logging.shutdown()
        os._exit(code)  # a thread may be parked in a read of stdin; waiting for it would hang
    return code


def _chosen(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command, the first words that are no flags and no setting's values,
    e.g. "entry retire", and the other words.
    """
    values = {setting.flag for setting in SETTINGS}
    free, at = list[int](), 0
    while at < len(words) and len(free) < 1 + any(words[first] in GROUPS for first in free):
        if words[at].startswith("-"):
            at += 2 if words[at] in values else 1
        else:
            free.append(at)
            at += 1
    others = [word for at, word in enumerate(words) if at not in free]
    return " ".join(words[at] for at in free), others


def _exit_code(chosen: str, words: Sequence[str]) -> int:
    try:
        command = next((command for command in COMMANDS if command.name == chosen), None)
        if command is None and chosen:
            command = next((each for each in every_command() if each.name == chosen), None)
        code = _answered(command, words) if command else _without_command(chosen, words)
        flush_output()
    except OutputError as error:
        discard_output()
        complain(f"{error}; what was changed stays changed")
        code = exit_of(error.code)
    except FleetMemoryError as error:
        from fleet_memory.rules.text.credentials import without_credentials  # noqa: PLC0415 its rules take 7 ms

        said = " ".join(filter(None, (str(error), error.operator_detail)))
        complain(without_credentials(said))
        code = exit_of(error.code)
    except BrokenPipeError:  # the reader of our output has seen enough, e.g. `| head`
        discard_output()
        code = 0
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except Exception:
        _logger.exception("%s failed", chosen)
        code = EXIT_CRASHED if chosen == "serve" else EXIT_INTERNAL
    return code


def _answered(command: Command, words: Sequence[str]) -> int:
    """Run a command and print its output; return the exit code."""
    run, arguments = command.action()
    given = parser_of(command, arguments).parse_intermixed_args([utf8(word) for word in words])
    output = run(given, settings_of(given, command.uses))
    if isinstance(output, int):
        return output
    print_output(output, as_json=given.json)
    return output.code


def _without_command(chosen: str, words: Sequence[str]) -> int:
    """Show the commands where none is named, else say in one line what was meant."""
    first = chosen.partition(" ")[0]
    if chosen and not (chosen in GROUPS and {"-h", "--help"} & {*words}):
        if first in EARLIER and first not in GROUPS:
            said = f"{first!r} is `fleet-memory {EARLIER[first]}` now"
        elif first in GROUPS:
            names = [
                name.partition(" ")[2] for name, *_ in COMMANDS if name.startswith(f"{first} ")
            ]
            said = f"{chosen!r} is no command; {first} has {', '.join(names)}"
        else:
            close = close_names(chosen, [command.name for command in every_command()], limit=1)
            said = f"{chosen!r} is no command; " + (
                f"did you mean {close[0]}?" if close else "`fleet-memory --help` lists them"
            )
        complain(said)
        return EXIT_USAGE
    shown = [command for command in every_command() if command.name.startswith(chosen)]
    wide = max(len(command.name) for command in shown)
    parser = argparse.ArgumentParser(
        f"fleet-memory {chosen}".rstrip(),
        usage=f"fleet-memory [SETTINGS] {chosen or 'COMMAND'} ...",
        description="Shared memory for fleets of AI agents. `fleet-memory COMMAND --help` "
        "explains a command.",
        epilog="commands:\n"
        + "\n".join(f"  {command.name:{wide}}  {command.help}" for command in shown),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    parser.parse_args(words)
    parser.print_help()
    return 0


def parser_of(command: Command, arguments: Sequence[Argument]) -> argparse.ArgumentParser:
    """Return the parser of a command: its own arguments, and the settings that count for it."""
    parser = argparse.ArgumentParser(
        f"fleet-memory {command.name}",
        description=command.description,
        epilog=f"example: {command.example}\nexit codes: {EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        # a command may have another use for the name of a setting, e.g. --program
        conflict_handler="resolve",
    )
    for add in arguments:
        add(parser)
    if command.uses:
        parser.usage = parser.format_usage().removeprefix("usage: ").rstrip() + " [SETTINGS]"
        add_settings(parser, command.uses)
    return parser
