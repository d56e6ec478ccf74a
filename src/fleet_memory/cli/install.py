"""`fleet-memory install CLIENT`: add the server to a client's configuration, and to Claude Code's
its hooks.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fleet_memory.cli import doctor
from fleet_memory.cli.printing import add_json_flag, agreed, complain, print_answer, say
from fleet_memory.cli.settings_flags import INSTALLED
from fleet_memory.clients.address import TOKEN_VARIABLE, Address, address_of, token_variable
from fleet_memory.clients.changes import ChangedMeanwhileError, FileChange, planned_changes
from fleet_memory.clients.claude_hooks import ClaudeHooks, plugin_here
from fleet_memory.clients.client_commands import carry_out, runnable
from fleet_memory.clients.clients import CLIENTS, Client, known_clients, this_folder
from fleet_memory.clients.diagnosis import Finding, findings
from fleet_memory.clients.hooks import EVENTS
from fleet_memory.clients.parts import Part
from fleet_memory.clients.remote import remote_findings
from fleet_memory.clients.server_entry import (
    ServerEntry,
    StartedServer,
    server_in,
    servers_here,
)
from fleet_memory.clients.starting import shell_command, this_installation
from fleet_memory.clients.summary import summary
from fleet_memory.errors import EXIT_CONFLICT, EXIT_NO, EXIT_USAGE, InvalidArgumentError
from fleet_memory.settings import SETTINGS, Settings, is_name
from fleet_memory.store_address import SqliteFile

INSTALLED_TOOLSETS: Final = "core,state"  # an installed agent leaves a handoff
ALLOWING: Final = (
    "Claude Code asks before each call, until you allow `mcp__fleet-memory` under /permissions."
)
MAX_PLANS: Final = 5  # chosen: a file that changes more often is not ours to edit now


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("client", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument(
        "--agent", dest="program", metavar="NAME", help="its agents' program; the same as --program"
    )
    parser.add_argument(
        "--project", action="store_true", help="for this folder only, in files that a team shares"
    )
    parser.add_argument(
        "--url", metavar="URL", help="call the service at this address instead of starting a server"
    )
    parser.add_argument(
        "--token-env",
        metavar="VARIABLE",
        help="with --url: the variable that holds the agent's token",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="show the change and do nothing")
    parser.add_argument("--undo", action="store_true", help="take it out again")
    parser.add_argument(
        "--diff", action="store_true", help="show the changed lines, not only the values in them"
    )
    add_json_flag(parser)
    parser.add_argument("--no-check", action="store_true", help="do not run doctor at the end")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the change of the client's configuration, ask, write it, and let doctor look at the
    result.
    """
    if given.client not in CLIENTS:
        complain(f"CLIENT: {given.client!r} is unknown; known are {', '.join(CLIENTS)}")
        return EXIT_USAGE
    folder = this_folder()
    plugin = plugin_here(folder) if given.client == "claude-code" and not given.undo else None
    if plugin:
        complain(
            f"the plugin {plugin} is on and brings the same server and hooks; with both, each "
            "hook runs twice. "
            f"Keep the plugin, or run `claude plugin uninstall {plugin}` first. Nothing was "
            "changed."
        )
        return EXIT_NO
    client, address = known_clients()[given.client], _address(given)
    parts = [_remote_part(given, client, address)] if address else _parts(given, settings, client)
    unfit = [ClaudeHooks({}, _project(given))] if address and given.client == "claude-code" else []
    for _ in range(MAX_PLANS):
        try:
            changes = [*planned_changes(parts, undo=given.undo), *planned_changes(unfit, undo=True)]
            return _installed(given, settings, address, changes)
        except ChangedMeanwhileError as changed:
            _show(given, f"{changed} has changed meanwhile; this is the change now:")
    complain("the files change all the time; close the client and try again. Nothing was changed.")
    return EXIT_CONFLICT


def _installed(
    given: argparse.Namespace,
    settings: Settings,
    address: Address | None,
    changes: Sequence[FileChange],
) -> int:
    """Show the changes, ask, make them, and look at the result. Raises ChangedMeanwhileError before
    any change.
    """
    for change in changes:
        _show(given, _shown(change, as_diff=given.diff))
    if changes and not given.diff:
        _show(given, "All else in these files stays; --diff shows the lines.")
    writes = bool(changes) and not given.dry_run
    if writes and not (given.yes or agreed()):
        return EXIT_NO
    if writes:
        carry_out(changes)
    checks = not (given.dry_run or given.undo or given.no_check)
    diagnosed = _found(given, settings, address) if checks else []
    content = {
        "client": given.client,
        "written": writes,
        "files": [str(change.file) for change in changes],
    }
    notes = _notes(given, address) if address and not given.undo else []
    text = "\n".join(
        filter(None, [*_outcome(given, changes), *notes, doctor.diagnosis_text(diagnosed)])
    )
    print_answer(content | doctor.diagnosis_json(diagnosed), text, as_json=given.json)
    return 0 if doctor.is_healthy(diagnosed) else EXIT_NO


def _outcome(given: argparse.Namespace, changes: Sequence[FileChange]) -> list[str]:
    if not changes:
        return [
            f"Nothing to do: {given.client} {'does not have' if given.undo else 'already has'} "
            "fleet-memory."
        ]
    if given.dry_run:
        return ["Nothing was changed."]
    notes = (
        [] if given.undo else [f"Restart {given.client} to use it; `--undo` takes it out again."]
    )
    notes += [ALLOWING] if notes and given.client == "claude-code" else []
    return [f"Changed {change.file}" for change in changes] + notes


def _found(given: argparse.Namespace, settings: Settings, address: Address | None) -> list[Finding]:
    if address is None:
        return findings(settings, this_folder(), given.client)
    token = os.environ.get(given.token_env or "", "")
    return remote_findings(address, token) if token or not given.token_env else []


def _notes(given: argparse.Namespace, address: Address) -> list[str]:
    """Return the lines that the client's user has to know about a service's entry."""
    variable = given.token_env
    here = (
        ""
        if not variable or os.environ.get(variable)
        else " It is not set in this shell, so nothing was asked."
    )
    notes = [
        f"The token stays out of the file: set {variable} where {given.client} starts.{here}"
        if variable
        else "Without --token-env the client sends no token: the service must sign it in by "
        "its issuer, or need none."
    ]
    if not address.is_secret:
        notes.append("http: anyone on the way can read the token and every lesson; use https.")
    if given.client == "claude-code":
        notes.append(
            "No hooks: they read a memory of this machine. The agent boots by the tool "
            "gsp_bootstrap."
        )
    return notes


def _show(given: argparse.Namespace, text: str) -> None:
    """Print something for a person to read before the answer."""
    if given.json:
        sys.stderr.write(f"{text}\n")
    else:
        say(text)


def _shown(change: FileChange, *, as_diff: bool) -> str:
    shown = change.diff if as_diff else summary(change)
    return f"{shown}\n  by: {shlex.join(change.command)}" if runnable(change.command) else shown


def _project(given: argparse.Namespace) -> Path | None:
    return this_folder() if given.project else None


def _address(given: argparse.Namespace) -> Address | None:
    """Return the service's address, None without one. Raises InvalidArgumentError for flags that do
    not go together.
    """
    if given.url is None:
        if given.token_env is not None:
            raise InvalidArgumentError("--token-env: it counts with --url only")
        return None
    named = next(
        (setting.flag for setting in SETTINGS if getattr(given, setting.name, None) is not None),
        None,
    )
    if named:
        raise InvalidArgumentError(
            f"{named}: it does not count with --url; the service and the agent's token decide"
        )
    return address_of(given.url)


def _remote_part(given: argparse.Namespace, client: Client, address: Address) -> ServerEntry:
    variable = token_variable(given.token_env) if given.token_env else ""
    if client.remote is None:
        raise InvalidArgumentError(
            f"{given.client} takes no address in its file; nothing was changed. Add "
            f"{address.url} under Settings, "
            "Connectors, where the service's issuer signs you in; or have a bridge started "
            "that sends the token: "
            f'npx mcp-remote {address.url} --header "Authorization:Bearer '
            f'${{{variable or TOKEN_VARIABLE}}}"'
        )
    return ServerEntry(client, client.remote.entry(address.url, variable), _project(given))


def _parts(given: argparse.Namespace, settings: Settings, client: Client) -> list[Part]:
    project = _project(given)
    earlier = None if given.undo else server_in(client, client.file(project))
    flags = _flags(given, settings, earlier, project)
    start = this_installation().words(shared=given.project)
    others = earlier.words_without(flags) if earlier else []
    entry = ServerEntry(client, client.started([*start, "serve", *_words(flags), *others]), project)
    if given.client != "claude-code":
        return [entry]
    windows = sys.platform == "win32"
    of_hooks = _words(_flags_of_hooks(flags, earlier))
    commands = {
        event: shell_command([*start, "hook", event, *of_hooks], windows=windows)
        for event in EVENTS
    }
    return [entry, ClaudeHooks(commands, project)]


def _flags(
    given: argparse.Namespace,
    settings: Settings,
    earlier: StartedServer | None,
    project: Path | None,
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


def _flags_of_hooks(
    flags: Mapping[str, str | None], earlier: StartedServer | None
) -> dict[str, str | None]:
    """Return the settings of the hooks: the entry's, also those in its `env`, which the client
    keeps from hooks.
    """
    names = [
        setting.flag
        for setting in SETTINGS
        if setting.name in INSTALLED and setting.name != "toolsets"
    ]
    return {flag: flags[flag] or (earlier.setting(flag) if earlier else None) for flag in names}


def _words(flags: Mapping[str, str | None]) -> list[str]:
    return [word for flag, value in flags.items() if value is not None for word in (flag, value)]


def _place(file: Path, project: Path | None) -> str:
    """Return the store's path: the client starts the server in another folder, but a team's file
    names no machine.
    """
    if project is None:
        return str(file)
    if not file.is_relative_to(project):
        raise InvalidArgumentError(
            "--store: with --project it must be in this folder, because the team's machines "
            "have no such path; "
            "each person can set FLEET_MEMORY_STORE instead"
        )
    return file.relative_to(project).as_posix()


def _agent(given: argparse.Namespace, program: str | None) -> str | None:
    """Return another program for the client, None to leave it; asked for where another's is the
    same or has none.
    """
    servers = servers_here(this_folder())
    alike = [
        name
        for name, server in servers.items()
        if name != given.client and server.words and server.program == program
    ]
    if not alike:
        return None
    _show(
        given,
        f"{' and '.join(alike)} {'has' if len(alike) == 1 else 'have'} fleet-memory too, with "
        f"{'the same' if program else 'no'} program. Agents of one program count "
        "as one: give each client its own with --agent NAME.",
    )
    if program or given.yes or given.dry_run or not (sys.stdin and sys.stdin.isatty()):
        return None
    sys.stderr.write("The program of this client's agents, or nothing to leave it: ")
    sys.stderr.flush()
    name = sys.stdin.readline().strip()
    if name and not is_name(name):
        raise InvalidArgumentError(f"{name!r} is no name for a program; nothing was changed")
    return name or None
