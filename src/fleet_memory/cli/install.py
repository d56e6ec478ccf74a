"""Setting up: `install` adds the server to a client's configuration, and hooks to Claude Code's;
`doctor` looks at this machine and its clients, or at the service at --url.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fleet_memory.cli.printing import agreed, complain, print_answer, say
from fleet_memory.cli.settings_flags import INSTALLED
from fleet_memory.clients.clients import (
    CLIENTS,
    Client,
    claude_settings,
    known_clients,
    shell_command,
    this_folder,
    this_installation,
)
from fleet_memory.clients.doctor import Finding, findings
from fleet_memory.clients.entries import (
    EVENTS,
    StartedServer,
    cut_hooks,
    cut_server,
    plugin_here,
    put_hooks,
    put_server,
    server_in,
    servers_here,
)
from fleet_memory.clients.files import Change, ChangedMeanwhileError, Edit, make_changes, planned
from fleet_memory.clients.identity import user_state
from fleet_memory.clients.moments import forget_texts
from fleet_memory.clients.service import (
    TOKEN_VARIABLE,
    Address,
    address_of,
    remote_findings,
    token_variable,
)
from fleet_memory.errors import EXIT_CONFLICT, EXIT_NO, EXIT_USAGE, InvalidArgumentError
from fleet_memory.settings import SETTINGS, Settings, is_name
from fleet_memory.store_address import SqliteFile

INSTALLED_TOOLSETS: Final = "core,session"  # an installed agent leaves a handoff
ALLOWING: Final = (
    "Claude Code asks before each call, until you allow `mcp__fleet-memory` under /permissions."
)


def add_install(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of `install`."""
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
    parser.add_argument("--no-check", action="store_true", help="do not run doctor at the end")


def run_install(given: argparse.Namespace, settings: Settings) -> int:
    """Show the change of the client's configuration, ask, write it, and let doctor look at the
    result.
    """
    if given.client not in CLIENTS:
        complain(f"CLIENT: {given.client!r} is unknown; known are {', '.join(CLIENTS)}")
        return EXIT_USAGE
    folder, client, address = this_folder(), known_clients()[given.client], _address(given)
    project, is_claude = folder if given.project else None, given.client == "claude-code"
    plugin = plugin_here(folder) if is_claude and not given.undo else None
    if plugin:
        complain(
            f"the plugin {plugin} is on and brings the same server and hooks; with both, each "
            "hook runs twice. "
            f"Keep the plugin, or run `claude plugin uninstall {plugin}` first. Nothing was "
            "changed."
        )
        return EXIT_NO
    changes: list[Change] = [cut_server(client), cut_hooks]
    if address:
        entry = _remote_entry(given, client, address)
        changes[0] = changes[0] if given.undo else put_server(client, entry)
    elif not given.undo:
        entry, commands = _local(given, settings, client, project)
        changes = [put_server(client, entry), put_hooks(commands)]
    files = [client.file(project), *([claude_settings(project)] if is_claude else [])]
    edits = [planned(file, change) for file, change in zip(files, changes, strict=False)]
    return _installed(given, settings, address, [edit for edit in edits if edit])


def _installed(
    given: argparse.Namespace, settings: Settings, address: Address | None, edits: Sequence[Edit]
) -> int:
    """Show the changes, ask, make them, and look at the result."""
    if edits:
        shown = [line for edit in edits for line in edit.lines]
        _show(given, "\n".join([*shown, "All else in these files stays."]))
    writes = bool(edits) and not given.dry_run
    if writes and not (given.yes or agreed()):
        return EXIT_NO
    if writes:
        try:
            make_changes(edits)
        except ChangedMeanwhileError as changed:
            complain(f"{changed} has changed meanwhile; nothing was changed. Try again.")
            return EXIT_CONFLICT
        if given.undo and given.client == "claude-code":  # no hook ends their sessions any more
            forget_texts(user_state().folder)
    diagnosed = list[Finding]()
    if not (given.dry_run or given.undo or given.no_check):
        token = os.environ.get(given.token_env or "", "")
        if address is None:
            diagnosed = findings(settings, this_folder(), given.client)
        elif token or not given.token_env:
            diagnosed = remote_findings(address, token)
    files = [str(edit.file) for edit in edits]
    content = {"client": given.client, "written": writes, "files": files}
    notes = _notes(given, address) if address and not given.undo else []
    return _print_diagnosis(given, diagnosed, [*_outcome(given, files), *notes], content)


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """Define the arguments of `doctor`."""
    parser.add_argument(
        "--url", metavar="URL", help="ask the service at this address instead of this machine"
    )
    parser.add_argument(
        "--token-env",
        metavar="VARIABLE",
        default=TOKEN_VARIABLE,
        help=f"with --url: the variable that holds the token (default {TOKEN_VARIABLE})",
    )


def run_doctor(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something needs doing."""
    if given.url is None:
        return _print_diagnosis(given, findings(settings, this_folder()))
    token = os.environ.get(token_variable(given.token_env), "")
    return _print_diagnosis(given, remote_findings(address_of(given.url), token))


def _print_diagnosis(
    given: argparse.Namespace,
    diagnosed: Sequence[Finding],
    lines: Sequence[str] = (),
    content: Mapping[str, object] | None = None,
) -> int:
    """Print a line for each finding, and one below it with the remedy; return the exit code."""
    is_healthy, printed = all(finding.is_ok for finding in diagnosed), [*lines]
    width = max((len(finding.name) for finding in diagnosed), default=0)
    for each in diagnosed:
        printed.append(f"{'ok ' if each.is_ok else 'NO '} {each.name:{width}}  {each.text}")
        printed += [f"{'':{width + 6}}-> {each.advice}"] if each.advice else []
    report = {"healthy": is_healthy, "findings": [finding.wire() for finding in diagnosed]}
    print_answer({**(content or {}), **report}, "\n".join(printed), as_json=given.json)
    return 0 if is_healthy else EXIT_NO


def _outcome(given: argparse.Namespace, files: Sequence[str]) -> list[str]:
    if not files:
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
    return [f"Changed {file}" for file in files] + notes


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


def _remote_entry(given: argparse.Namespace, client: Client, address: Address) -> dict[str, object]:
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
    return client.remote.entry(address.url, variable)


def _local(
    given: argparse.Namespace, settings: Settings, client: Client, project: Path | None
) -> tuple[dict[str, object], dict[str, str]]:
    """Return the entry that starts a server of this machine, and the command of each hook."""
    earlier = server_in(client, client.file(project))
    flags = _flags(given, settings, earlier, project)
    folder = client.folder[project is not None] or flags["--folder"]
    flags["--folder"] = None if flags["--program"] else folder
    start = this_installation().words(shared=given.project)
    others = earlier.words_without(flags) if earlier else []
    # hooks get the settings in the entry's `env` as flags: the client keeps its `env` from them
    of_hooks = {
        setting.flag: flags[setting.flag] or (earlier.setting(setting.flag) if earlier else None)
        for setting in SETTINGS
        if setting.name in INSTALLED
    }
    if of_hooks["--toolsets"] == INSTALLED_TOOLSETS:
        of_hooks["--toolsets"] = None
    commands = {
        event: shell_command(
            [*start, "hook", event, *_words(of_hooks)], windows=sys.platform == "win32"
        )
        for event in EVENTS
    }
    return client.started([*start, "serve", *_words(flags), *others]), commands


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
    if earlier:
        flags = {flag: value or earlier.flag(flag) for flag, value in flags.items()}
    flags["--toolsets"] = flags["--toolsets"] or INSTALLED_TOOLSETS
    program = flags["--program"] or (earlier.program if earlier else None)
    return flags | {"--program": _agent(given, program) or flags["--program"]}


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
