"""The command line: a table of the commands, each imported when it is chosen.

A module of one command offers `add_arguments(parser)` and `run(given, settings) -> int`, which
returns the exit code; a module of several offers them by the command's name, e.g. `add_retire` and
`run_retire`. A command without arguments of its own has no `add`.
"""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fleet_memory import __version__
from fleet_memory.cli.printing import (
    OutputError,
    complain,
    discard_output,
    field_lines,
    flush_output,
    prepare_streams,
    print_answer,
)
from fleet_memory.cli.settings_flags import (
    ALL,
    INSTALLED,
    MEMORY,
    ONE_CLIENT,
    OWN_MEMORY,
    PLAIN,
    add_settings,
    refusing_parser,
    settings_of,
)
from fleet_memory.errors import (
    EXIT_CODES,
    EXIT_INTERNAL,
    FleetMemoryError,
    InvalidArgumentError,
    UnknownProgramError,
)
from fleet_memory.rules.text.names import close_names
from fleet_memory.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from fleet_memory.fleet import PeoplesCommand

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT


class Command(NamedTuple):
    """A command of the table: its name, its module in this package, its line in --help, and the
    names of the settings that count for it.
    """

    name: str
    module: str
    help: str
    uses: Sequence[str]
    of_toolset: "PeoplesCommand | None" = None

    @property
    def description(self) -> str:
        """Its line in --help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:].removesuffix('.')}."

    @property
    def example(self) -> str:
        """A line that works, e.g. "fleet-memory demo --mine"."""
        given = "echo '{}' | " if self.name == "hook" else ""
        words = self.of_toolset.example if self.of_toolset else _EXAMPLES.get(self.name, "")
        return f"{given}fleet-memory {self.name} {words}".rstrip()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Define its arguments; with --json the answer is one JSON object on stdout."""
        if self.of_toolset:
            self.of_toolset.add_arguments(parser)
        elif add := self._function("add"):
            cast("Callable[[argparse.ArgumentParser], None]", add)(parser)
        if self.name not in WITHOUT_JSON:
            parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, given: argparse.Namespace, settings: Settings) -> int:
        """Run it and return the exit code."""
        if self.of_toolset:
            return _run_of_toolset(self.of_toolset, given, settings)
        return cast("Callable[[argparse.Namespace, Settings], int]", self._function("run"))(
            given, settings
        )

    def _function(self, verb: str) -> object:
        module = import_module(f"{__name__}.{self.module}")
        of_one = {"add": "add_arguments", "run": "run"}[verb]
        of_several = f"{verb}_{self.name.replace('-', '_')}"
        return getattr(module, of_several, None) or getattr(module, of_one, None)


WITHOUT_JSON: Final = {  # commands, and why they have no --json as the others do
    "serve": "speaks MCP",
    "call": "prints the tool's JSON in any case",
    "hook": "speaks the client's protocol",
    "demo": "is a story",
}
COMMANDS: Final = (  # in the order of --help
    Command("serve", "serve", "serve one MCP client over stdin and stdout, or many over HTTP", ALL),
    Command(
        "call",
        "call",
        "call one tool and print its answer",
        (*OWN_MEMORY, "judge_url", "maintenance", "log_level"),
    ),
    Command(
        "check",
        "keeping",
        "check that the memory can be read and is intact",
        ("store", "fleet", "embedder", "embedder_url"),
    ),
    Command(
        "health",
        "keeping",
        "show the state of the fleet's memory, or of one program's with --program",
        OWN_MEMORY,
    ),
    Command("list", "reading", "list the lessons of --program, or the fleet's entries", OWN_MEMORY),
    Command(
        "show",
        "reading",
        "show an entry with its sources, words and history, or a lesson",
        OWN_MEMORY,
    ),
    Command("why", "reading", "say why a lesson is not knowledge", (*PLAIN, "program")),
    Command("search", "reading", "find lessons and entries by meaning and words", OWN_MEMORY),
    Command("log", "reading", "show the changes of shared knowledge, the newest first", PLAIN),
    Command(
        "who", "reading", "list the programs, with their lessons and entries", (*PLAIN, "program")
    ),
    Command("domains", "reading", "list the domains, the commonest first", (*PLAIN, "program")),
    Command(
        "maintain",
        "keeping",
        "propose pairs and publish what follows, e.g. from cron",
        (*MEMORY, "judge_url"),
    ),
    Command("export", "moving", "write the fleet's memory to a file", PLAIN),
    Command("import", "moving", "merge a file of `export` into the store", MEMORY),
    Command("reembed", "keeping", "move the memory to the configured embedder", MEMORY),
    Command("seed", "curating", "set rules that every agent reads, from a file", MEMORY),
    Command("retire", "curating", "take an entry of shared knowledge out of use", MEMORY),
    Command("reinstate", "curating", "bring a retired entry back", MEMORY),
    Command("reword", "curating", "give an entry another text", MEMORY),
    Command("lesson", "curating", "release a lesson that gives its reader orders", MEMORY),
    Command(
        "split", "curating", "take a wrong contribution, that of --program, out of an entry", MEMORY
    ),
    Command(
        "policy",
        "keeping",
        "show or set the rules of the fleet, e.g. the votes that publish an entry",
        MEMORY,
    ),
    Command(
        "restore",
        "curating",
        "bring back a lesson or note of --program from the archive, or list them",
        OWN_MEMORY,
    ),
    Command(
        "delete-program",
        "erasing",
        "archive a program's lessons and notes and remove the program",
        MEMORY,
    ),
    Command("purge", "erasing", "erase a text, a program, one lesson or an entry for good", MEMORY),
    Command(
        "token",
        "tokens",
        "create, list and revoke the tokens of agents that connect over HTTP",
        PLAIN,
    ),
    Command("review", "review", "judge pairs of lessons that may be the same", MEMORY),
    Command("install", "install", "add the server to a client's configuration", INSTALLED),
    Command(
        "doctor", "install", "check this machine and its clients, and name the remedies", OWN_MEMORY
    ),
    Command("hook", "hook", "answer a coding client's hook, e.g. SessionStart", ONE_CLIENT),
    Command("demo", "demo", "watch three agents learn and share", ("embedder", "embedder_url")),
)
_EXAMPLES: Final = {  # words after the command, each line works as it is printed
    "serve": "--store team.db --toolsets core,session",
    "call": 'recall_memory \'{"programId": "basher", "query": "claims"}\'',
    "check": "--store team.db",
    "health": "--program basher",
    "list": "--program basher --domain git",
    "show": "pattern/git/rebase-often",
    "why": "basher/check-claims",
    "search": "how do we claim tasks",
    "log": "--since 2026-03-01",
    "who": "--program basher",
    "domains": "--program basher",
    "maintain": "--dry-run",
    "export": "backup.jsonl",
    "import": "backup.jsonl --store copy.db",
    "reembed": "--embedder lexical",
    "seed": "rules.toml --dry-run",
    "retire": 'pattern/git/rebase-often --why "we merge now"',
    "reinstate": 'pattern/git/rebase-often --why "we rebase again"',
    "reword": 'pattern/git/rebase-often "Rebase daily" --why "clearer"',
    "split": 'pattern/git/rebase-often --program iso --why "about svn"',
    "lesson": 'allow basher/check-claims --why "it names our own tool"',
    "policy": "set threshold 3",
    "restore": "--program basher",
    "delete-program": "basher --dry-run",
    "purge": "--text hunter2 --dry-run",
    "token": "create --program basher --role agent --expires 90d",
    "install": "claude-code --dry-run",
    "hook": "SessionStart",
    "demo": "--mine",
}
READING: Final = frozenset(  # commands that change nothing
    {
        "check",
        "health",
        "list",
        "show",
        "why",
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


def every_command() -> list[Command]:
    """Return the commands of the table and those of toolsets, which are imported for it."""
    from fleet_memory.server.composition import installed_toolsets  # noqa: PLC0415 most commands need none

    added = [command for toolset in installed_toolsets() for command in toolset.commands]
    return [*COMMANDS, *(Command(each.name, "", each.help, OWN_MEMORY, each) for each in added)]


def _run_of_toolset(
    command: "PeoplesCommand", given: argparse.Namespace, settings: Settings
) -> int:
    from fleet_memory.cli.existing import with_memory  # noqa: PLC0415 for the same reason

    content = with_memory(settings, lambda fleet: command.run(fleet, given)).wire()
    lines = field_lines(content) if command.lines is None else command.lines(content)
    print_answer(content, "\n".join(lines), as_json=given.json)
    return 0


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
    """Return the first word that is no flag and no setting's value, and the other words: flags may
    stand before it.
    """
    values = {setting.flag for setting in SETTINGS}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in values else 1
    return "".join(words[at : at + 1]), [*words[:at], *words[at + 1 :]]


def _exit_code(chosen: str, words: Sequence[str]) -> int:
    try:
        command = next((command for command in COMMANDS if command.name == chosen), None)
        if command is None and chosen:
            command = next((each for each in every_command() if each.name == chosen), None)
        if command is None:
            code = _without_command(chosen, words)
        else:
            given = _parser(command).parse_intermixed_args([_utf8(word) for word in words])
            code = _answered(command, given)
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
        from fleet_memory.rules.text.credentials import without_credentials  # noqa: PLC0415 its rules take 7 ms

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


def _utf8(word: str) -> str:
    """Return an argument. Raises InvalidArgumentError for one that is not text in this locale."""
    if any("\udc80" <= mark <= "\udcff" for mark in word):
        raise InvalidArgumentError(f"{word!a}: is not UTF-8 text, or the locale is not (LC_ALL)")
    return word


def _answered(command: Command, given: argparse.Namespace) -> int:
    """Run a command; a program that has stored nothing is the same empty answer everywhere."""
    try:
        return command.run(given, settings_of(given, command.uses))
    except UnknownProgramError as error:
        from fleet_memory.rules.text.credentials import without_credentials  # noqa: PLC0415 its rules take 7 ms

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
    commands = every_command()
    wide = max(len(command.name) for command in commands)
    parser = argparse.ArgumentParser(
        "fleet-memory",
        usage="fleet-memory [SETTINGS] COMMAND ...",
        description="Shared memory for fleets of AI agents. `fleet-memory COMMAND --help` "
        "explains a command.",
        epilog="commands:\n"
        + "\n".join(f"  {command.name:{wide}}  {command.help}" for command in commands),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    if chosen:
        close = close_names(chosen, [command.name for command in commands], limit=1)
        parser.error(f"{chosen!r} is no command" + (f", did you mean {close[0]}?" if close else ""))
    parser.parse_args(words)
    parser.print_help()
    return 0


def _parser(command: Command) -> argparse.ArgumentParser:
    """Return the parser of a command: its own arguments, and the settings that count for it."""
    parser = argparse.ArgumentParser(
        f"fleet-memory {command.name}",
        description=command.description,
        epilog=f"example: {command.example}\nexit codes: {EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[refusing_parser(command.uses, _takers)],
        # a command may have another use for the name of a setting, e.g. --program
        conflict_handler="resolve",
    )
    command.add_arguments(parser)
    parser.usage = parser.format_usage().removeprefix("usage: ").rstrip() + " [SETTINGS]"
    add_settings(parser, command.uses)
    return parser


def _takers(setting: str) -> list[str]:
    """Return the names of the commands for which a setting counts."""
    return [command.name for command in COMMANDS if setting in command.uses]
