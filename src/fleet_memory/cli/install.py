"""`fleet-memory install CLIENT`: add the server to a client's configuration, and to Claude Code's its hooks."""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

from fleet_memory.cli.printing import agreed, complain, say
from fleet_memory.errors import EXIT_USAGE
from fleet_memory.integration import files
from fleet_memory.integration.clients import CLIENTS, Server, edits
from fleet_memory.settings import SETTINGS, Settings
from fleet_memory.store_address import SqliteFile

EXAMPLE: Final = "fleet-memory install claude-code --dry-run"
INSTALLED_TOOLSETS: Final = "core,state"  # an installed agent leaves a handoff


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("client", metavar="CLIENT", help="claude-code, claude-desktop, cursor, vscode or codex")
    parser.add_argument("--project", action="store_true", help="for this folder only, not for all of the user's")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the change and do nothing")
    parser.add_argument("--undo", action="store_true", help="take it out again")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the change of the client's configuration, ask, and write it."""
    if given.client not in CLIENTS:
        complain(f"CLIENT: {given.client!r} is unknown; known are {', '.join(CLIENTS)}")
        return EXIT_USAGE
    wanted = edits(given.client, _server(given, settings), project=Path.cwd() if given.project else None)
    changes = files.undoing(wanted) if given.undo else files.installing(wanted)
    for change in changes:
        say(change.diff)
    if not changes:
        say(f"Nothing to do: {given.client} {'does not have' if given.undo else 'already has'} fleet-memory.")
    if given.dry_run or not changes:
        return 0
    if not (given.yes or agreed()):
        return EXIT_USAGE
    for change in changes:
        (files.undo_change if given.undo else files.write_change)(change)
    for change in changes:  # afterwards: a reader that went away must not stop the writing
        say(f"{'Restored' if change.exact else 'Wrote'} {change.file}")
    say(f"Restart {given.client} to see it." + ("" if given.undo else " `--undo` takes it out again."))
    return 0


def _server(given: argparse.Namespace, settings: Settings) -> Server:
    """Return how the server is started: as this command was, with the settings that were given as flags."""
    flags = {setting.flag: getattr(given, setting.name) for setting in SETTINGS}
    if flags["--store"] is not None and isinstance(settings.store, SqliteFile):
        flags["--store"] = str(settings.store.path.absolute())  # the client starts it in another folder
    flags["--toolsets"] = flags["--toolsets"] or INSTALLED_TOOLSETS
    words = [word for flag, value in flags.items() if value is not None for word in (flag, value)]
    return Server(_command(), words)


def _command() -> list[str]:
    """Return the command that runs this version: the installed script, or Python with the module."""
    started = Path(sys.argv[0])
    if started.stem == "fleet-memory" and (found := shutil.which(str(started.absolute()))):
        return [found]
    return [sys.executable, "-m", "fleet_memory"]
