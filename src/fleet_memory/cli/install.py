"""`fleet-memory install CLIENT`: add the server to a client's configuration, and to Claude Code's its hooks."""

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fleet_memory.cli import doctor
from fleet_memory.cli.printing import add_json_flag, agreed, complain, print_answer, say
from fleet_memory.errors import EXIT_CONFLICT, EXIT_NO, EXIT_USAGE, InvalidArgumentError
from fleet_memory.integration.changes import ChangedMeanwhileError, FileChange, planned_changes
from fleet_memory.integration.claude_hooks import ClaudeHooks, plugin_here
from fleet_memory.integration.client_commands import carry_out, runnable
from fleet_memory.integration.clients import CLIENTS, Client, known_clients, this_folder
from fleet_memory.integration.diagnosis import findings
from fleet_memory.integration.hooks import EVENTS
from fleet_memory.integration.parts import Part
from fleet_memory.integration.server_entry import ServerEntry, StartedServer, server_in, servers_here
from fleet_memory.integration.starting import shell_command, this_installation
from fleet_memory.settings import SETTINGS, Settings, is_name
from fleet_memory.store_address import SqliteFile

EXAMPLE: Final = "fleet-memory install claude-code --dry-run"
_SELDOM: Final = ("now", "judge_url", "log_level")  # what is given by the entry's `env` if at all
USES: Final = tuple(setting.name for setting in SETTINGS if setting.name not in _SELDOM)
INSTALLED_TOOLSETS: Final = "core,state"  # an installed agent leaves a handoff
MAX_PLANS: Final = 5  # chosen: a file that changes more often is not ours to edit now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("client", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--agent", dest="program", metavar="NAME", help="the same as --program")
    parser.add_argument("--project", action="store_true", help="for this folder only, in files that a team shares")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the change and do nothing")
    parser.add_argument("--undo", action="store_true", help="take it out again")
    add_json_flag(parser)
    parser.add_argument("--no-check", action="store_true", help="do not run doctor at the end")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the change of the client's configuration, ask, write it, and let doctor look at the result."""
    if given.client not in CLIENTS:
        complain(f"CLIENT: {given.client!r} is unknown; known are {', '.join(CLIENTS)}")
        return EXIT_USAGE
    folder = this_folder()
    plugin = plugin_here(folder) if given.client == "claude-code" and not given.undo else None
    if plugin:
        complain(
            f"the plugin {plugin} is on and brings the same server and hooks; with both, each hook runs twice. "
            f"Keep the plugin, or run `claude plugin uninstall {plugin}` first. Nothing was changed."
        )
        return EXIT_NO
    parts = _parts(given, settings, known_clients()[given.client])
    for _ in range(MAX_PLANS):
        try:
            return _installed(given, settings, planned_changes(parts, undo=given.undo))
        except ChangedMeanwhileError as changed:
            _show(given, f"{changed} has changed meanwhile; this is the change now:")
    complain("the files change all the time; close the client and try again. Nothing was changed.")
    return EXIT_CONFLICT


def _installed(given: argparse.Namespace, settings: Settings, changes: Sequence[FileChange]) -> int:
    """Show the changes, ask, make them, and look at the result. Raises ChangedMeanwhileError before any change."""
    for change in changes:
        _show(given, _shown(change))
    writes = bool(changes) and not given.dry_run
    if writes and not (given.yes or agreed()):
        return EXIT_NO
    if writes:
        carry_out(changes)
    checks = not (given.dry_run or given.undo or given.no_check)
    found = findings(settings, this_folder(), given.client) if checks else []
    content = {"client": given.client, "written": writes, "files": [str(change.file) for change in changes]}
    text = "\n".join(filter(None, [*_outcome(given, changes), doctor.diagnosis_text(found)]))
    print_answer(content | doctor.diagnosis_json(found), text, as_json=given.json)
    return 0 if doctor.is_healthy(found) else EXIT_NO


def _outcome(given: argparse.Namespace, changes: Sequence[FileChange]) -> list[str]:
    if not changes:
        return [f"Nothing to do: {given.client} {'does not have' if given.undo else 'already has'} fleet-memory."]
    if given.dry_run:
        return ["Nothing was changed."]
    restart = [] if given.undo else [f"Restart {given.client} to see it; `--undo` takes it out again."]
    return [f"Changed {change.file}" for change in changes] + restart


def _show(given: argparse.Namespace, text: str) -> None:
    """Print something for a person to read before the answer."""
    if given.json:
        sys.stderr.write(f"{text}\n")
    else:
        say(text)


def _shown(change: FileChange) -> str:
    command = change.command if runnable(change.command) else ()
    return f"{change.file}, by the client's own command:\n$ {shlex.join(command)}" if command else change.diff


def _parts(given: argparse.Namespace, settings: Settings, client: Client) -> list[Part]:
    project = this_folder() if given.project else None
    earlier = None if given.undo else server_in(client, client.file(project))
    flags = _flags(given, settings, earlier, project)
    start = this_installation().words(shared=given.project)
    others = earlier.words_without(flags) if earlier else []
    entry = ServerEntry(client, [*start, "serve", *_words(flags), *others], project)
    if given.client != "claude-code":
        return [entry]
    windows = sys.platform == "win32"
    of_hooks = _words(_flags_of_hooks(flags, earlier))
    commands = {event: shell_command([*start, "hook", event, *of_hooks], windows=windows) for event in EVENTS}
    return [entry, ClaudeHooks(commands, project)]


def _flags(
    given: argparse.Namespace, settings: Settings, earlier: StartedServer | None, project: Path | None
) -> dict[str, str | None]:
    """Return the entry's settings: those given as flags, else those of an earlier run."""
    flags = {setting.flag: getattr(given, setting.name, None) for setting in SETTINGS}
    if flags["--store"] is not None and isinstance(settings.store, SqliteFile):
        flags["--store"] = _place(settings.store.path.absolute(), project)
    if given.undo:
        return flags
    if earlier:
        flags = {flag: value or earlier.flag(flag) for flag, value in flags.items()}
    flags["--toolsets"] = flags["--toolsets"] or INSTALLED_TOOLSETS
    program = flags["--program"] or (earlier.program if earlier else None)
    return flags | {"--program": _agent(given, program) or flags["--program"]}


def _flags_of_hooks(flags: Mapping[str, str | None], earlier: StartedServer | None) -> dict[str, str | None]:
    """Return the settings of the hooks: the entry's, also those in its `env`, which the client keeps from hooks."""
    names = [setting.flag for setting in SETTINGS if setting.name in USES and setting.name != "toolsets"]
    return {flag: flags[flag] or (earlier.setting(flag) if earlier else None) for flag in names}


def _words(flags: Mapping[str, str | None]) -> list[str]:
    return [word for flag, value in flags.items() if value is not None for word in (flag, value)]


def _place(file: Path, project: Path | None) -> str:
    """Return the store's path: the client starts the server in another folder, but a team's file names no machine."""
    if project is None:
        return str(file)
    if not file.is_relative_to(project):
        raise InvalidArgumentError(
            "--store: with --project it must be in this folder, because the team's machines have no such path; "
            "each person can set FLEET_MEMORY_STORE instead"
        )
    return file.relative_to(project).as_posix()


def _agent(given: argparse.Namespace, program: str | None) -> str | None:
    """Return another name for the agent, None to leave it; asked for where another client's has the same or none."""
    servers = servers_here(this_folder())
    alike = [
        name for name, server in servers.items() if name != given.client and server.words and server.program == program
    ]
    if not alike:
        return None
    _show(
        given,
        f"{' and '.join(alike)} {'has' if len(alike) == 1 else 'have'} fleet-memory too, with "
        f"{'the same' if program else 'no'} name for the agent. Agents that work in one folder under one name count "
        "as one: give each its own with --agent NAME.",
    )
    if program or given.yes or given.dry_run or not (sys.stdin and sys.stdin.isatty()):
        return None
    sys.stderr.write("The name of this client's agent, or nothing to leave it: ")
    sys.stderr.flush()
    name = sys.stdin.readline().strip()
    if name and not is_name(name):
        raise InvalidArgumentError(f"{name!r} is no name for an agent; nothing was changed")
    return name or None
