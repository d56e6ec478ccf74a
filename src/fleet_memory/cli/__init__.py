"""The command line: a table of the commands, the module of each imported when it is chosen.

A module has its commands in `ACTIONS`, by their names, each with its function and its arguments. A
name has one word, e.g. "search", or two, e.g. "entry retire".
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from fleet_memory import __version__
from fleet_memory.cli.arguments import (
    ALL,
    INSTALLED,
    JSON,
    MEMORY,
    ONE_CLIENT,
    OWN_MEMORY,
    PLAIN,
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
)
from fleet_memory.rules.text.keys import close_names
from fleet_memory.settings import SETTINGS

if TYPE_CHECKING:
    from fleet_memory.fleet import PeoplesCommand

EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT


class Command(NamedTuple):
    """A command: its name, its module in this package, the names of the settings that count for it,
    its line in --help, and the words of an example behind its name.
    """

    name: str
    module: str
    uses: Sequence[str]
    help: str
    words: str
    of_toolset: "PeoplesCommand | None" = None

    @property
    def description(self) -> str:
        """Its line in --help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:].removesuffix('.')}."

    @property
    def example(self) -> str:
        """A line that works, e.g. "fleet-memory demo --mine"."""
        given = "echo '{}' | " if self.name == "hook" else ""
        return f"{given}fleet-memory {self.name} {self.words}".rstrip()

    def action(self) -> tuple[Run, Sequence[Argument]]:
        """Return its function and its arguments; with --json the answer is one JSON object."""
        if self.of_toolset:
            from fleet_memory.cli.memory import of_toolset  # noqa: PLC0415 most commands need none

            return of_toolset(self.of_toolset), [self.of_toolset.add_arguments, JSON]
        module = import_module(f"{__name__}.{self.module}")
        run, *arguments = cast("Actions", module.ACTIONS)[self.name]
        return run, [*arguments, *([] if self.name in WITHOUT_JSON else [JSON])]


WITHOUT_JSON: Final = {"serve", "call", "hook", "demo"}  # protocols, always JSON, and a story
_OPERATING: Final = {  # the module of each command, and the settings that count
    "serve": ("serve", ALL),
    "call": ("call", (*OWN_MEMORY, "judge_url", "maintenance", "log_level")),
    "list": ("reading", OWN_MEMORY),
    "list log": ("reading", PLAIN),
    "show": ("reading", OWN_MEMORY),
    "search": ("reading", OWN_MEMORY),
    "why": ("reading", PLAIN),
    "entry": ("curating", MEMORY),
    "lesson": ("curating", MEMORY),
    "lesson restore": ("curating", OWN_MEMORY),
    "review": ("curating", MEMORY),
    "seed": ("curating", MEMORY),
    "policy": ("curating", MEMORY),
    "purge": ("curating", MEMORY),
    "maintain": ("keeping", (*MEMORY, "judge_url")),
    "doctor": ("install", OWN_MEMORY),
    "export": ("keeping", PLAIN),
    "backup": ("keeping", PLAIN),
    "import": ("keeping", MEMORY),
    "token": ("tokens", PLAIN),
    "install": ("install", INSTALLED),
    "hook": ("hook", ONE_CLIENT),
    "demo": ("demo", ()),  # of the package itself
}
_KEY: Final = "pattern/git/rebase-often"
_HELP: Final = {  # each command: its line in --help, and an example of the words behind its name
    "serve": ("serve an MCP client over stdin and stdout, or many over HTTP", "--store team.db"),
    "call": ("call one tool and print its answer", 'memory_health \'{"programId": "basher"}\''),
    "list lessons": ("list lessons, the strongest first", "--program basher --domain git"),
    "list entries": ("list the entries of shared knowledge", "--state contested"),
    "list programs": ("list the programs, the one that changed last first", "--limit 5"),
    "list domains": ("list the domains, the commonest first", "--program basher"),
    "list log": ("list who changed what, the newest first", "--since 2026-03-01"),
    "show": ("show an entry with its sources and history, or a lesson", "basher/check-claims"),
    "search": ("find lessons and entries by meaning and words", "how do we claim tasks"),
    "why": ("say why a lesson is not knowledge", "basher/check-claims"),
    "entry retire": ("take an entry out of use", f'{_KEY} --why "we merge now"'),
    "entry reinstate": ("bring a retired entry back", f'{_KEY} --why "we rebase again"'),
    "entry reword": ("give an entry another text", f'{_KEY} "Rebase daily" --why "clearer"'),
    "entry split": ("take a contribution out of an entry", f'{_KEY} --program iso --why "svn"'),
    "lesson edit": ("give a lesson another text", 'b/check "Look" --change reworded --why "short"'),
    "lesson forget": ("move a lesson or a program to the archive", 'basher/check --why "wrong"'),
    "lesson restore": ("bring back a lesson or note, or list the archive", "basher/check"),
    "lesson allow": ("release a lesson that gives its reader orders", 'basher/check --why "safe"'),
    "review": ("list pairs of lessons that may be the same, or judge one", "28afbb62aa11085c same"),
    "seed": ("set rules that every agent reads, from a file", "rules.toml --dry-run"),
    "policy show": ("show the rules of the fleet", ""),
    "policy set": ("set rules of the fleet, e.g. the votes that publish", "threshold 3"),
    "purge": ("erase a text, a program, a lesson or an entry for good", "--text hunter2 --dry-run"),
    "maintain": ("propose pairs and publish what follows, e.g. from cron", "--dry-run"),
    "doctor": ("check the store, the memory and the clients of this machine", "store memory"),
    "export": ("write the fleet's memory to a file", "backup.jsonl"),
    "backup": ("copy the whole store while servers use it", "backup.db"),
    "import": ("take over notes, rules files, exports, other memories", "CLAUDE.md .cursor/rules"),
    "token create": ("make a token for an agent that connects over HTTP", "--program basher"),
    "token list": ("list the tokens", "--program basher"),
    "token work": ("list what a token wrote and was shown", "k3x9qpd2mabcdefg --since 2026-03-01"),
    "token revoke": ("end a token, or all of a program", "--program basher"),
    "install": ("add the server to a client's configuration", "claude-code --dry-run"),
    "hook": ("answer a coding client's hook", "SessionStart"),
    "demo": ("watch three agents learn and share", "--mine"),
}
COMMANDS: Final = [  # in the order of --help
    Command(name, *(_OPERATING.get(name) or _OPERATING[name.partition(" ")[0]]), *said)
    for name, said in _HELP.items()
]
GROUPS: Final = {name.partition(" ")[0] for name, *_ in COMMANDS if " " in name}
EARLIER: Final = {  # names of version 0.2, and what does the same now; also second words alone
    "check": "doctor store",
    "health": "doctor memory",
    "who": "list programs",
    "delete-program": "lesson forget PROGRAM --all --why TEXT",
    "reembed": "maintain --rebuild",
    **{
        second: name
        for name in _HELP
        if (second := name.partition(" ")[2]) not in ("", *_OPERATING)
    },
}

_logger = logging.getLogger(__name__)


def every_command() -> list[Command]:
    """Return the commands of the table and those of toolsets, which are imported for it."""
    from fleet_memory.server.composition import installed_toolsets  # noqa: PLC0415 most commands need none
    from fleet_memory.window import WINDOW  # noqa: PLC0415 the same

    added = [WINDOW, *(each for toolset in installed_toolsets() for each in toolset.commands)]
    return [
        *COMMANDS,
        *(Command(each.name, "", OWN_MEMORY, each.help, each.example, each) for each in added),
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
        code = error.exit_code
    except FleetMemoryError as error:
        from fleet_memory.rules.text.credentials import without_credentials  # noqa: PLC0415 its rules take 7 ms

        said = " ".join(filter(None, (str(error), error.operator_detail)))
        complain(without_credentials(said))
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
            names = [name.partition(" ")[2] for name in _HELP if name.startswith(f"{first} ")]
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
