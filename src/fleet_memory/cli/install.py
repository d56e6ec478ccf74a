"""Setting up: `install` adds the server to a client's configuration, and hooks to Claude Code's;
`doctor` looks at the memory, this machine and its clients, or at the service at --url.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.arguments import DRY_RUN, INSTALLED, YES, Actions, argument, flag
from fleet_memory.cli.memory import is_there, with_memory
from fleet_memory.cli.printing import Output, agreed, complain
from fleet_memory.clients.clients import (
    CLIENTS,
    Client,
    claude_settings,
    known_clients,
    shell_command,
    this_folder,
    this_installation,
)
from fleet_memory.clients.doctor import Finding, bad, client_findings, machine_findings, words_of
from fleet_memory.clients.entries import (
    EVENTS,
    StartedServer,
    cut_hooks,
    cut_server,
    plugin_here,
    put_hooks,
    put_server,
    server_in,
    unset_settings,
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
from fleet_memory.errors import (
    EXIT_CONFLICT,
    EXIT_NO,
    EXIT_UNAVAILABLE,
    EXIT_USAGE,
    InvalidArgumentError,
    StoreError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import CheckReport, check_memory
from fleet_memory.jobs.looking import existing_program
from fleet_memory.rules.curating import NOBODY_PROPOSES
from fleet_memory.server.composition import open_embedder, with_store
from fleet_memory.settings import SETTINGS, Settings
from fleet_memory.tools.health import (
    UNHEALTHY,
    FleetHealthAnswer,
    HealthAnswer,
    fleet_health,
    memory_health,
)

PARTS: Final = ("store", "memory", "clients")  # of what `doctor` looks at
_MAX_TOKENS: Final = 10_000  # of a fleet's health: room for 25 contested entries; chosen
INSTALLED_TOOLSETS: Final = "core,session"  # an installed agent leaves a handoff
ALLOWING: Final = (
    "Claude Code asks before each call, until you allow `mcp__fleet-memory` under /permissions."
)


def run_install(given: argparse.Namespace, settings: Settings) -> Output | int:
    """Show the change of the client's configuration, ask, and write it."""
    if given.client not in CLIENTS:
        complain(f"CLIENT: {given.client!r} is unknown; known are {', '.join(CLIENTS)}")
        return EXIT_USAGE
    if given.project and given.program and given.client == "claude-code":
        raise InvalidArgumentError(
            "--agent: not with --project: beside a person's own hooks those of the project would "
            "name another agent; leave it out, and the folder names the agent"
        )
    folder, client, address = this_folder(), known_clients()[given.client], _address(given)
    project, is_claude = folder if given.project else None, given.client == "claude-code"
    plugin = plugin_here(folder) if is_claude and not given.undo else None
    if plugin:
        complain(
            f"the plugin {plugin} is on and brings the same; with both, each hook runs twice. "
            f"Keep it, or run `claude plugin uninstall {plugin}` first. Nothing was changed."
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
    output = _installed(given, address, [edit for edit in edits if edit])
    server = None if given.undo else server_in(client, client.file(project))
    if isinstance(output, Output) and server and (unset := unset_settings(server)):
        note = f"{unset}: set here and not in {given.client}'s entry; pass it as a flag."
        return output._replace(notes=[*output.notes, note], code=EXIT_NO)
    return output


def _installed(
    given: argparse.Namespace, address: Address | None, edits: Sequence[Edit]
) -> Output | int:
    """Show the changes, ask, and make them."""
    if edits:
        shown = [line for edit in edits for line in edit.lines]
        sys.stderr.write("\n".join([*shown, "All else in these files stays.", ""]))
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
    files = [str(edit.file) for edit in edits]
    content = {"client": given.client, "written": writes, "files": files}
    return Output(content, notes=_notes(given, address, changes=bool(edits)))


def run_doctor(given: argparse.Namespace, settings: Settings) -> Output:
    """Look at the service at --url, or at this machine and at what is asked of the store, the
    memory and the clients; 1 when something needs doing, also a store that is asked about by
    name and is not there, 3 when it cannot be used.
    """
    if given.url is not None:
        token = os.environ.get(token_variable(given.token_env), "")
        return _diagnosis(remote_findings(address_of(given.url), token))
    if unknown := {*given.parts} - {*PARTS}:
        raise InvalidArgumentError(f"{unknown.pop()}: is no part; there are {', '.join(PARTS)}")
    parts, folder = given.parts or PARTS, this_folder()
    listed, content = machine_findings(settings), dict[str, object]()
    if "clients" in parts:
        listed += client_findings(settings, folder)
    place = settings.store
    try:
        if "store" in parts:
            report = _store_report(settings)
            content |= report.rows
            is_named = given.store or os.environ.get("FLEET_MEMORY_STORE")
            is_missing = "store" in given.parts and is_named and not is_there(place)
            is_well = report.healthy and not is_missing
            said = "can be used" if is_well else "cannot be used as it is: see below"
            listed.append(Finding("documents", is_well, said))
        if "memory" in parts and (given.parts or is_there(place)):
            health = with_memory(
                settings, partial(_health, program=settings.program, must_exist=bool(given.parts))
            )
            content |= health.wire()
            reason = health.freshness.reason
            is_well = health.verdict not in UNHEALTHY and NOBODY_PROPOSES not in reason
            listed.append(Finding("memory", is_well, f"{health.verdict}; {reason}"))
    except StoreError as error:
        listed.append(bad("memory", words_of(error)))
        return _diagnosis(listed, content)._replace(code=EXIT_UNAVAILABLE)
    return _diagnosis(listed, content)


def _store_report(settings: Settings) -> CheckReport:
    """Read every document, and create nothing."""
    check = partial(check_memory, fleet_id=settings.fleet, embedder=open_embedder(settings))
    if is_there(settings.store):
        return anyio.run(with_store, settings, check)
    return anyio.run(check, None)


async def _health(
    fleet: Fleet, *, program: str | None, must_exist: bool
) -> HealthAnswer | FleetHealthAnswer:
    """Return the health of a program, or of the whole fleet. Raises UnknownProgramError."""
    if program is None:
        return await fleet_health(fleet, _MAX_TOKENS)
    if must_exist:
        await existing_program(fleet, program)
    return await memory_health(fleet, program)


def _diagnosis(listed: Sequence[Finding], content: Mapping[str, object] = {}) -> Output:
    """Return what was looked at, each with its remedy; 1 when something needs doing."""
    is_healthy = all(finding.is_ok for finding in listed)
    report = {"healthy": is_healthy, "findings": [finding.wire() for finding in listed]}
    columns = {"findings": "ok name text | advice"}
    return Output({**report, **content}, columns, code=0 if is_healthy else EXIT_NO)


def _notes(given: argparse.Namespace, address: Address | None, *, changes: bool) -> list[str]:
    """Return what the client's user has to know about its entry."""
    client, variable = given.client, given.token_env
    if not changes:
        has = "does not have" if given.undo else "already has"
        notes = [f"Nothing to do: {client} {has} fleet-memory."]
    elif given.dry_run:
        notes = ["Nothing was changed."]
    elif given.undo:
        notes = []
    else:
        notes = [f"Restart {client} to use it; `doctor` tries it, `--undo` takes it out again."]
        notes += [ALLOWING] if client == "claude-code" else []
    if given.token_env and not given.undo:
        notes.append(f"The token stays out of the file: set {variable} where {client} starts.")
    if address and not given.undo and not address.is_secret:
        notes.append("http: anyone on the way can read the token and every lesson; use https.")
    return notes


def _address(given: argparse.Namespace) -> Address | None:
    """Return the service's address, None without one. Raises InvalidArgumentError for flags that do
    not go together.
    """
    if given.url is None:
        if given.token_env is not None:
            raise InvalidArgumentError("--token-env: it counts with --url only")
        return None
    for setting in SETTINGS:
        if getattr(given, setting.name, None) is not None:
            raise InvalidArgumentError(f"{setting.flag}: it does not count with --url")
    return address_of(given.url)


def _remote_entry(given: argparse.Namespace, client: Client, address: Address) -> dict[str, object]:
    variable = token_variable(given.token_env) if given.token_env else ""
    if client.remote is None:
        raise InvalidArgumentError(
            f"{given.client} takes no address in its file; add {address.url} under Settings, "
            "Connectors"
        )
    return client.remote.entry(address.url, variable)


def _local(
    given: argparse.Namespace, settings: Settings, client: Client, project: Path | None
) -> tuple[dict[str, object], dict[str, str]]:
    """Return the entry that starts a server of this machine, and the command of each hook."""
    earlier = server_in(client, client.file(project))
    flags = _flags(given, settings, earlier)
    folder = client.folder[project is not None] or flags["--folder"]
    flags["--folder"] = None if flags["--program"] else folder
    start = this_installation().words(shared=given.project)
    # hooks get the settings in the entry's `env` as flags: the client keeps its `env` from them
    of_hooks = {
        setting.flag: flags[setting.flag] or (earlier.setting(setting.flag) if earlier else None)
        for setting in SETTINGS
        if setting.name in INSTALLED
    }
    if of_hooks["--toolsets"] == INSTALLED_TOOLSETS:
        of_hooks["--toolsets"] = None
    on_windows, words = sys.platform == "win32", _words(of_hooks)
    commands = {
        event: shell_command([*start, "hook", event, *words], windows=on_windows)
        for event in EVENTS
    }
    return client.started([*start, "serve", *_words(flags)]), commands


def _flags(
    given: argparse.Namespace, settings: Settings, earlier: StartedServer | None
) -> dict[str, str | None]:
    """Return the entry's settings: those given as flags, else those of an earlier run."""
    flags = {setting.flag: getattr(given, setting.name, None) for setting in SETTINGS}
    if flags["--store"] and not given.project and settings.store.file:
        flags["--store"] = str(settings.store)  # a team's file has it as given
    if earlier:
        flags = {flag: value or earlier.flag(flag) for flag, value in flags.items()}
    flags["--toolsets"] = flags["--toolsets"] or INSTALLED_TOOLSETS
    return flags


def _words(flags: Mapping[str, str | None]) -> list[str]:
    return [word for flag, value in flags.items() if value is not None for word in (flag, value)]


_URL: Final = "call the service at this address instead of starting a server"
_VARIABLE: Final = "with --url: the variable that holds the token"
ACTIONS: Final[Actions] = {
    "install": (
        run_install,
        argument("client", "CLIENT", ", ".join(CLIENTS)),
        argument("--agent", "NAME", "its agents' program; the same as --program", dest="program"),
        flag("--project", "for this folder only, in files that a team shares"),
        argument("--url", "URL", _URL),
        argument("--token-env", "VARIABLE", _VARIABLE),
        YES,
        DRY_RUN,
        flag("--undo", "take it out again"),
    ),
    "doctor": (
        run_doctor,
        argument("parts", "PART", f"look at {', '.join(PARTS)} alone (default: all)", nargs="*"),
        argument("--url", "URL", "ask the service at this address instead of this machine"),
        argument("--token-env", "VARIABLE", _VARIABLE, default=TOKEN_VARIABLE),
    ),
}
