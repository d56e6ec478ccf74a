"""`fleet-memory serve`: serve one MCP client over stdin and stdout, or many by --http.

Light: stdin and stdout belong to the protocol before anything is imported that may print, and only
--http imports the code of HTTP.
"""

import argparse
import gc
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fleet_memory.cli.arguments import Actions, argument, flag
from fleet_memory.errors import SettingsError
from fleet_memory.server.std_streams import claim_streams
from fleet_memory.settings import OFF, PROJECT_VARIABLE, Settings

if TYPE_CHECKING:
    from fleet_memory.server.observing.requests import RequestObserver

DEFAULT_BIND: Final = "127.0.0.1:8765"


def run_serve(given: argparse.Namespace, settings: Settings) -> int:
    """Serve until the client leaves, with --http until a signal."""
    settings = replace(settings, maintain=given.maintain)
    if given.http is not None:
        return _run_http(given, settings)
    for name in ("allowed_host", "no_tokens", "metrics"):
        if getattr(given, name):
            raise SettingsError(f"--{name.replace('_', '-')}: counts with --http alone.")
    wire = claim_streams()
    # until the imports are done: searching what they made for garbage takes a sixth of the start
    gc.disable()
    import anyio  # noqa: PLC0415 after the streams are claimed, see the module's docstring

    from fleet_memory.server.app import create_server  # noqa: PLC0415 the same
    from fleet_memory.server.composition import require_engine  # noqa: PLC0415 the same
    from fleet_memory.server.stdio import serve  # noqa: PLC0415 the same

    require_engine(settings.store)  # before the client's first call
    named = partial(_program_of, settings)
    server = create_server(settings, middleware=_observers(settings), program_of=named)
    gc.enable()
    return anyio.run(serve, server, wire)


def _program_of(settings: Settings, folder: Path) -> str:
    """Return the program of the client's session, as hooks name it."""
    from fleet_memory.clients.identity import program_of, user_state  # noqa: PLC0415 not needed before the first answer

    # a client that runs in Claude Code's shell has its session's id too, and folders of its own
    of_claude_code = settings.session_id if os.environ.get(PROJECT_VARIABLE) else None
    session = {"session_id": of_claude_code, "cwd": str(folder)}
    return program_of(settings, session, user_state())


def _observers(settings: Settings) -> "Sequence[RequestObserver]":
    if settings.log_format == "text":
        return ()
    from fleet_memory.server.observing.requests import request_log  # noqa: PLC0415 only where it is asked for

    return [request_log(settings)]


def _run_http(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 see the module's docstring

    from fleet_memory.server.composition import require_engine, require_extra  # noqa: PLC0415 the same

    require_engine(settings.store)
    require_extra("http", "prometheus-client")
    from fleet_memory.server.http.addresses import bind_of  # noqa: PLC0415 the same
    from fleet_memory.server.http.serving import serve_http  # noqa: PLC0415 the same
    from fleet_memory.server.observing.metrics import DEFAULT_METRICS  # noqa: PLC0415 the same

    chosen = DEFAULT_METRICS if given.metrics is None else None
    metrics = chosen if given.metrics in (None, OFF) else bind_of(given.metrics, "--metrics")
    serving = partial(serve_http, tokens=not given.no_tokens)
    return anyio.run(serving, settings, bind_of(given.http), given.allowed_host, metrics)


_HTTP: Final = f"serve many clients at http://HOST:PORT/mcp (default {DEFAULT_BIND})"
_HOST: Final = "with --http: also answer requests to this host; may be repeated"
_METRICS: Final = "with --http: Prometheus metrics (default 127.0.0.1:9464 if it is free), or off"
ACTIONS: Final[Actions] = {
    "serve": (
        run_serve,
        flag("--maintain", "propose pairs in a fleet of any size"),
        argument("--http", "HOST:PORT", _HTTP, nargs="?", const=DEFAULT_BIND),
        argument("--allowed-host", "HOST", _HOST, action="append", default=[]),
        flag("--no-tokens", "with --http, on this machine alone: no caller needs a token"),
        argument("--metrics", "HOST:PORT", _METRICS),
    )
}
