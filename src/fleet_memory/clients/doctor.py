"""Looks at this machine: one finding a line, each with its remedy. Nothing is created.

A client's configured server is started as the client does, and asked for its tools.
"""

import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TextIO

import anyio
from mcp import Client as McpClient
from mcp import StdioServerParameters, stdio_client

from fleet_memory import __version__
from fleet_memory.clients.clients import NAME, Client, known_clients, this_installation
from fleet_memory.clients.entries import (
    EVENTS,
    StartedServer,
    our_hooks,
    plugin_here,
    server_in,
    settings_here,
    unset_settings,
)
from fleet_memory.clients.files import read_config
from fleet_memory.clients.identity import (
    program_of,
    user_state,
)
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import is_wanting
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.composition import open_embedder, with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.boot import gsp_bootstrap

_WITHOUT: Final = f"is here, without {NAME}"
_PLUGIN_SERVER: Final = StartedServer(
    [NAME, "serve", "--toolsets", "core,session"], {}
)  # as in plugin/.mcp.json
MAX_START_S: Final = 60.0  # chosen: `uvx` may download first
MAX_REASON_CHARS: Final = 300  # chosen: a refused setting lists the allowed values


class Finding(NamedTuple):
    """One thing that was looked at: whether it works, how it is, and the advice, "" for none."""

    name: str
    is_ok: bool
    text: str
    advice: str = ""

    def wire(self) -> dict[str, object]:
        """Return it as JSON."""
        return {"name": self.name, "ok": self.is_ok, "text": self.text} | (
            {"advice": self.advice} if self.advice else {}
        )


def good(name: str, text: str, advice: str = "") -> Finding:
    """Return a finding of what works."""
    return Finding(name, is_ok=True, text=text, advice=advice)


def bad(name: str, text: str, advice: str = "") -> Finding:
    """Return a finding of what needs doing."""
    return Finding(name, is_ok=False, text=text, advice=advice)


def machine_findings(settings: Settings) -> list[Finding]:
    """Look at the package, the embedder and the store's place, without opening it."""
    installation = this_installation()
    return [
        good("python", f"{platform.python_version()} at {installation.python}"),
        good("package", f"{NAME} {__version__} in {installation.prefix}"),
        _embedder(settings),
        _place(settings),
    ]


def client_findings(settings: Settings, folder: Path) -> list[Finding]:
    """Look at the agent of a folder and at each client."""
    listed = _agent(settings, folder)
    try:
        listed += _clients(folder)
    except InvalidArgumentError as error:
        listed.append(bad("clients", str(error), "set HOME"))
    return listed


def _clients(folder: Path) -> list[Finding]:
    found = (_client(name, client, folder) for name, client in known_clients().items())
    listed = [finding for finding in found if finding]
    if all(finding.text == _WITHOUT for finding in listed):
        listed.append(bad("clients", "none starts the server", f"{NAME} install CLIENT"))
    return [*listed, *_hooks(folder)]


def _place(settings: Settings) -> Finding:
    """Look at the store's file without opening it."""
    file = settings.store.file
    if file is None:
        return good("store", str(settings.store))
    folder = next(parent for parent in file.parents if parent.exists())
    if not folder.is_dir() or not all(
        os.access(each, os.W_OK) for each in (folder, file) if each.exists()
    ):
        advice = "let this user write it, or name another file with --store"
        return bad("store", f"{file} is not writable", advice)
    return good(
        "store", f"{file}{'' if file.exists() else ', not there yet; the first store makes it'}"
    )


def _embedder(settings: Settings) -> Finding:
    start = time.perf_counter()
    try:
        embedder = open_embedder(settings)
        anyio.run(embedder.vectors, ["Does it load?"])
    except FleetMemoryError as error:
        return bad("embedder", words_of(error), "correct FLEET_MEMORY_EMBEDDER")
    took = f"{embedder.name}, loaded in {time.perf_counter() - start:.1f} s"
    text = ": ".join(filter(None, (took, embedder.degraded)))  # which says what to do
    return Finding("embedder", is_ok=not is_wanting(embedder), text=text)


def _agent(settings: Settings, folder: Path) -> list[Finding]:
    """Look at the memory as the agent of the folder would read it at its start, without leaving a
    trace in it.
    """
    session = {"cwd": str(folder)}
    program = program_of(settings, session, user_state(is_read_only=True))

    async def boot_tokens(fleet: Fleet) -> int:
        reader = replace(fleet, caller=Caller(role="auditor"))  # who marks nothing as shown
        return tokens((await gsp_bootstrap(reader, program)).wire())

    if (file := settings.store.file) and not file.exists():
        return [good("agent", f"{program} in this folder; nothing is stored yet")]
    try:
        cost = anyio.run(with_fleet, settings, boot_tokens)
    except FleetMemoryError as error:
        return [bad("memory", words_of(error), f"{NAME} doctor store")]
    return [good("agent", f"{program} in this folder; its boot costs {cost:,} tokens")]


def _client(name: str, client: Client, folder: Path) -> Finding | None:
    """Start the server as the client would; None for a client that is not on this machine."""
    try:
        servers = [
            (file, server) for file in client.files(folder) if (server := server_in(client, file))
        ]
        plugin = plugin_here(folder) if name == "claude-code" else None
    except InvalidArgumentError as error:
        return bad(name, str(error), "correct the file")
    starts = [(str(file), server) for file, server in servers] + (
        [(plugin, _PLUGIN_SERVER)] if plugin else []
    )
    if not starts:
        advice = f"{NAME} install {name}"
        return good(name, _WITHOUT, advice) if client.is_here else None
    if plugin and servers:
        advice = f"claude plugin uninstall {plugin}, or {NAME} install claude-code --undo"
        return bad(name, f"has {NAME} twice: {servers[0][0]} and the plugin", advice)
    return _probed(name, *starts[-1])  # the folder's file wins over the user's


def _probed(name: str, source: str, server: StartedServer) -> Finding:
    if not server.words:
        asking = f"{NAME} doctor --url {server.url}"
        return good(name, f"{source} names a remote server, which was not asked", asking)
    command, again = server.words[0], f"{NAME} install {name}"
    starts = f"{source} starts {command}"
    if shutil.which(command) is None:
        if Path(command).name == command:
            again = f"put {command} on the path, or {again}"
        return bad(name, f"{starts}: there is no command {command!r} here", again)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            version, loaded, listed = anyio.run(tools_of, server, log)
        except TimeoutError:
            return bad(name, f"{starts}: it did not answer within {MAX_START_S:.0f} s", again)
        except Exception as error:  # noqa: BLE001 any way in which somebody's configured command may fail
            reason = _last_line(log)
            if reason:
                again = f"correct the setting that it names: {again} with another value"
            said = reason or _first_line(error)
            return bad(name, f"{starts}: it does not answer: {said}", again)
    program = f" as {server.program}" if server.program else ""
    toolsets = server.setting("--toolsets") or "core"
    memory = f", memory {store}" if (store := server.setting("--store")) else ""
    text = (
        f"runs {command}{program} by {source}: {len(listed)} tools ({toolsets}), "
        f"{loaded} of them always loaded, {tokens(listed):,} tokens{memory}"
    )
    if server is not _PLUGIN_SERVER and (unset := unset_settings(server)):
        text = f"{text}; {unset}: set here and not in {name}'s entry"
        return bad(name, text, f"pass it as a flag to {again}")
    if version != __version__:
        return bad(name, f"{text}; it is {version}, this is {__version__}", again)
    return good(name, text)


def _hooks(folder: Path) -> Sequence[Finding]:
    """Count the hooks of each event over all files that Claude Code reads; none at all is no
    finding.
    """
    try:
        documents = [read_config(file) for file in settings_here(folder)]
        plugin = plugin_here(folder)
    except InvalidArgumentError as error:
        return [bad("hooks", str(error), "correct the file")]
    counts = {
        event: sum(len(our_hooks(each, event)) for each in documents) + bool(plugin)
        for event in EVENTS
    }
    if not any(counts.values()):
        return []
    wrong = [f"{event} {count} times" for event, count in counts.items() if count != 1]
    if wrong:
        advice = (
            f"{NAME} install claude-code; --undo takes out the user's, with --project this one's"
        )
        advice = f"claude plugin uninstall {plugin}" if plugin else advice
        return [bad("hooks", f"do not run exactly once: {', '.join(wrong)}", advice)]
    return [good("hooks", f"{', '.join(EVENTS)}: each once")]


def words_of(error: FleetMemoryError) -> str:
    """Return what an error says to an operator."""
    return " ".join(filter(None, (str(error), error.operator_detail)))


async def tools_of(server: StartedServer, log: TextIO) -> tuple[str, int, Sequence[object]]:
    """Start the server, and return its version, how many of its tools a client loads that finds the
    others by a search, and all of them as a client gets them.
    """
    parameters = StdioServerParameters(
        command=server.words[0], args=[*server.words[1:]], env={**server.variables}
    )
    with anyio.fail_after(MAX_START_S):
        async with McpClient(stdio_client(parameters, log)) as client:
            listed = await client.list_tools()
            tools = json.loads(listed.model_dump_json(by_alias=True, exclude_none=True))["tools"]
            loaded = sum("anthropic/alwaysLoad" in tool.get("_meta", {}) for tool in tools)
            return client.server_info.version if client.server_info else "", loaded, tools


def first_of(error: BaseException) -> BaseException:
    """Return the first error of a group and of the groups in it, e.g. in a client's task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _last_line(log: TextIO) -> str:
    """Return the last line of a log, "" for an empty one."""
    log.seek(0)
    lines = [line for line in log.read().splitlines() if line.strip()]
    return (
        "".join(char for char in lines[-1] if char.isprintable())[:MAX_REASON_CHARS]
        if lines
        else ""
    )


def _first_line(error: BaseException) -> str:
    first = first_of(error)
    return (str(first) or type(first).__name__).splitlines()[0]
