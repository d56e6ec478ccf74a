"""The arguments of commands: flags and words, and the flags of the settings.

A command shows and takes the settings that count for it, and refuses the others.
"""

import argparse
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

from fleet_memory.cli.printing import Output
from fleet_memory.errors import ForbiddenError, InvalidArgumentError
from fleet_memory.settings import SETTINGS, Settings, load

Argument: TypeAlias = Callable[[argparse.ArgumentParser], object]
"""Adds one argument to the parser of a command."""
Run: TypeAlias = Callable[[argparse.Namespace, Settings], Output | int]
"""Runs a command; returns its answer, or the exit code where it has printed all itself."""
Actions: TypeAlias = Mapping[str, tuple[Run, *tuple[Argument, ...]]]
"""The commands of a module by name, e.g. {"entry retire": (retire, KEY, WHY)}."""

ALL: Final = tuple(setting.name for setting in SETTINGS)
MEMORY: Final = ("store", "fleet", "now", "embedder", "embedder_url")  # of a command for operators
HTTP: Final = tuple(setting.name for setting in SETTINGS if setting.http)
PLAIN: Final = ("store", "fleet", "now")  # of a command that compares no texts
_LEFT_OUT: Final = ("folder", "now", "judge_url", "log_level", "log_format", *HTTP)
# of a client's entry; its `env` has the others, if anything
INSTALLED: Final = tuple(name for name in ALL if name not in _LEFT_OUT)
# of a process that serves one client
ONE_CLIENT: Final = tuple(name for name in ALL if name not in HTTP)
OWN_MEMORY: Final = (*MEMORY, "program")  # of one that may be about one program
USES: Final = {  # groups of settings that commands.toml names
    "all": ALL,
    "memory": MEMORY,
    "plain": PLAIN,
    "installed": INSTALLED,
    "one client": ONE_CLIENT,
}


def flag(name: str, meaning: str) -> Argument:
    """Return an argument that is there or not, e.g. `flag("--yes", "do not ask")`."""
    return lambda parser: parser.add_argument(name, action="store_true", help=meaning)


def argument(
    name: str,
    metavar: str | None,
    meaning: str,
    **more: Any,  # noqa: ANN401 argparse's own arguments
) -> Argument:
    """Return a flag with a value, or a word, e.g. `argument("key", "KEY", "an entry")`; `more` is
    as `add_argument` takes it.
    """
    return lambda parser: parser.add_argument(name, metavar=metavar, help=meaning, **more)


def limit(what: str, default: int = 25, most: int = 100) -> Argument:
    """Return --limit: how many items the answer has."""

    def count(text: str) -> int:
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {most}")
        return int(text)

    meaning = f"{what}, 1 to {most} (default {default})"
    return argument("--limit", "N", meaning, default=default, type=count)


YES: Final = flag("--yes", "do not ask")
DRY_RUN: Final = flag("--dry-run", "show what would change and do nothing")
WHY: Final = argument("--why", "TEXT", "the reason, kept in the log", required=True)
KEY: Final = argument("key", "KEY", "an entry, e.g. pattern/git/rebase-often")
LESSON: Final = argument("name", "PROGRAM/ID", "a lesson, e.g. basher/check-claims")
JSON: Final = flag("--json", "print one JSON object")


def lesson_named(name: str, program: str | None) -> tuple[str, str]:
    """Return the program and the id that PROGRAM/ID, or ID with --program, names."""
    owner, lesson_id = (program, name) if program else name.rpartition("/")[::2]
    if not owner:
        raise InvalidArgumentError(
            f"{name}: whose lesson? Name it as PROGRAM/ID; keys begin with pattern/"
        )
    return owner, lesson_id


def utf8(word: str) -> str:
    """Return a text. Raises InvalidArgumentError for one that is not text in this locale."""
    if any("\udc80" <= mark <= "\udcff" for mark in word):
        raise InvalidArgumentError(f"{word!a}: is not UTF-8 text, or the locale is not (LC_ALL)")
    return word


def add_settings(parser: argparse.ArgumentParser, uses: Collection[str]) -> None:
    """Add the flags of these settings to the parser of a command, each with the beginning of its
    help; one that the command has for itself, e.g. --program, stays.
    """
    group = parser.add_argument_group(
        "settings",
        "each also an environment variable; more in\n"
        "https://github.com/fleet-memory/fleet-memory/blob/main/docs/configuration.md",
    )
    for setting in SETTINGS:
        if setting.name in uses:
            default = f", default {setting.default}" if setting.default else ""
            sentence = setting.help.partition(". ")[0].partition(": ")[0].removesuffix(".")
            metavar = setting.name.rpartition("_")[2].upper()
            group.add_argument(
                setting.flag, metavar=metavar, help=f"{sentence} ({setting.variable}{default})"
            )


def settings_parser(uses: Collection[str] = ONE_CLIENT) -> argparse.ArgumentParser:
    """Return a parser of the flags of these settings, as a parent for another parser."""
    parser = argparse.ArgumentParser(add_help=False)
    add_settings(parser, uses)
    return parser


def settings_of(given: argparse.Namespace, uses: Collection[str] = ONE_CLIENT) -> Settings:
    """Return the settings of the flags that were given and the environment; what does not count
    keeps its default.

    The environment's program always counts: it binds every command but `serve`, which is
    configured. Raises SettingsError, ForbiddenError for a flag that names another program.
    """
    bound, named = (
        os.environ.get("FLEET_MEMORY_PROGRAM", "").strip(),
        getattr(given, "program", None),
    )
    if "program" in uses and uses not in (ALL, ONE_CLIENT) and named and bound not in ("", named):
        raise ForbiddenError(
            f"You are {bound} by FLEET_MEMORY_PROGRAM, and --program names {named}."
        )
    ignored = {setting.variable for setting in SETTINGS if setting.name not in (*uses, "program")}
    environment = {name: value for name, value in os.environ.items() if name not in ignored}
    return load({name: getattr(given, name, None) for name in uses}, environment)
