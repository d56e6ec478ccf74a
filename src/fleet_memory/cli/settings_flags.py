"""The flags that every command shares: one for each setting."""

import argparse
import os

from fleet_memory.settings import SETTINGS, Settings, load


def settings_parser() -> argparse.ArgumentParser:
    """Return a parser of the settings' flags, as a parent for the parser of a command."""
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("settings", "Each is also an environment variable; the flag wins.")
    for setting in SETTINGS:
        default = f", default {setting.default}" if setting.default else ""
        metavar = setting.name.rpartition("_")[2].upper()
        group.add_argument(setting.flag, metavar=metavar, help=f"{setting.help} ({setting.variable}{default})")
    return parser


def settings_of(given: argparse.Namespace) -> Settings:
    """Return the settings of the flags that were given and the environment. Raises SettingsError."""
    return load({setting.name: getattr(given, setting.name) for setting in SETTINGS}, os.environ)
