"""The flags of the settings: a command shows and takes those that count for it, and refuses the
others by name.
"""

import argparse
import os
from collections.abc import Callable, Collection, Sequence
from typing import Final, NoReturn

from fleet_memory.errors import ForbiddenError
from fleet_memory.settings import SETTINGS, Settings, load

ALL: Final = tuple(setting.name for setting in SETTINGS)
MEMORY: Final = ("store", "fleet", "now", "embedder", "embedder_url")  # of a command for operators
HTTP: Final = (  # of `serve --http` alone
    "public_url",
    "rate",
    "issuer",
    "audience",
    "jwks_url",
    "program_claim",
    "role_claim",
)
PLAIN: Final = ("store", "fleet", "now")  # of a command that compares no texts
INSTALLED: Final = tuple(  # of a client's entry; its `env` has the others, if anything
    name
    for name in ALL
    if name not in ("folder", "now", "judge_url", "log_level", "log_format", *HTTP)
)
ONE_CLIENT: Final = tuple(
    name for name in ALL if name not in HTTP
)  # of a process that serves one client
OWN_MEMORY: Final = (
    "store",
    "fleet",
    "program",
    "now",
    "embedder",
    "embedder_url",
)  # of one that a program may give
_SUBJECT: Final = (
    "The program that the command is about"  # --program of a command that starts no server
)


def add_settings(parser: argparse.ArgumentParser, uses: Collection[str]) -> None:
    """Add the flags of these settings to the parser of a command, each with the beginning of its
    help.
    """
    group = parser.add_argument_group(
        "settings",
        "each also an environment variable; more in\n"
        "https://github.com/fleet-memory/fleet-memory/blob/main/docs/configuration.md",
    )
    for setting in SETTINGS:
        if setting.name in uses:
            default = f", default {setting.default}" if setting.default else ""
            is_subject = setting.name == "program" and "maintenance" not in uses
            sentence = (
                _SUBJECT
                if is_subject
                else setting.help.partition(". ")[0].partition(": ")[0].removesuffix(".")
            )
            metavar = setting.name.rpartition("_")[2].upper()
            group.add_argument(
                setting.flag, metavar=metavar, help=f"{sentence} ({setting.variable}{default})"
            )


def settings_parser(uses: Collection[str] = ONE_CLIENT) -> argparse.ArgumentParser:
    """Return a parser of the flags of these settings, as a parent for another parser."""
    parser = argparse.ArgumentParser(add_help=False)
    add_settings(parser, uses)
    return parser


def refusing_parser(
    uses: Collection[str], takers: Callable[[str], Sequence[str]]
) -> argparse.ArgumentParser:
    """Return a parser that refuses the flags of all other settings; `takers` names the commands
    that take a setting.
    """

    class Refuse(argparse.Action):
        def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
            parser.error(
                f"{self.option_strings[0]} does not count here; it does for: "
                f"{', '.join(takers(self.dest))}"
            )

    refusing = argparse.ArgumentParser(add_help=False)
    for setting in SETTINGS:
        if setting.name not in uses:
            refusing.add_argument(
                setting.flag, action=Refuse, help=argparse.SUPPRESS, default=argparse.SUPPRESS
            )
    return refusing


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
