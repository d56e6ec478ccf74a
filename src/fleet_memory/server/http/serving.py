"""Runs the HTTP server: its socket, its start, and its end without losing a call."""

import logging
import os
import shlex
import signal
import socket
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import HANDLED_SIGNALS

from fleet_memory.clock import clock
from fleet_memory.errors import SettingsError
from fleet_memory.rules.tokens import is_live
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import BearerTokens, FleetTokens
from fleet_memory.server.http.addresses import (
    Addresses,
    Bind,
    addresses,
    allowed_host,
    is_unspecified,
)
from fleet_memory.server.http.app import HOST_ADVICE, http_app
from fleet_memory.server.http.issuer import IssuerTokens
from fleet_memory.server.observing.log import set_up_logging
from fleet_memory.server.observing.metrics import observed
from fleet_memory.settings import Settings, is_loopback

BACKLOG: Final = 100  # connections that wait to be accepted, and that are accepted in one turn
# seconds between two requests: longer than nginx's 60, or it would reuse a closed connection
KEEP_ALIVE_S: Final = 75
FIRST_PASSED: Final = 3  # descriptor of systemd's first socket. Source: sd_listen_fds(3)
GRACE_S: Final = (
    6  # seconds that calls under way may take to end; Cloud Run ends a process 10 s after SIGTERM
)
EXIT_WITHIN_S: Final = 9.5  # seconds from a signal to the end, even with calls running

_logger = logging.getLogger(__name__)


async def serve_http(
    settings: Settings,
    bind: Bind,
    allowed_hosts: Sequence[str],
    metrics: Bind | None,
    *,
    tokens: bool = True,
) -> int:
    """Serve until SIGINT or SIGTERM, finish the calls under way, and return the exit code: 0 if
    none was cut.

    Without `tokens` every program of this machine may call. Raises SettingsError if the address
    cannot be bound or a needed token is missing, and the store's errors.
    """
    allowed_hosts = [allowed_host(name) for name in allowed_hosts]
    if not tokens and (
        not is_loopback(bind.host) or settings.public_url or allowed_hosts or settings.issuer
    ):
        raise SettingsError(
            "--no-tokens: is for this machine alone: leave out --public-url, --allowed-host and "
            "--issuer, and listen at e.g. 127.0.0.1:8765."
        )
    set_up_logging(settings)
    lazy = LazyFleet(settings, clock(settings.now), is_local=False)
    with _bound(bind) as listener:
        port: int = listener.getsockname()[1]
        where = addresses(bind.host, port, settings.public_url, allowed_hosts)
        try:
            if not tokens:
                # as with tokens: the store opens, and maintenance waits for no call
                await lazy.fleet()
            verifier = await _verifier(settings, lazy, where.endpoint) if tokens else None
            async with observed(settings, lazy, metrics) as (middleware, count):
                app = http_app(settings, lazy, where, verifier, middleware, count)
                _listen(listener, bind)
                is_named = bool(settings.public_url or allowed_hosts) or not is_unspecified(
                    bind.host
                )
                _announce(bind, port, where, is_named=is_named, tokens=tokens)
                server = _Server(_config(app))
                await server.serve(sockets=[listener])
        finally:
            await lazy.close()
    return server.exit_code


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",  # it refuses two Hosts
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=GRACE_S,
    )


class _Server(uvicorn.Server):
    """Drains at the first signal and leaves by its exit code, not by the signal; at the second it
    leaves at once.

    `exit_code` is 0, or that of the signal where calls were cut.

    The handler is no method of the server: sse-starlette would find the server by it, and cut
    running calls.
    """

    exit_code = 0
    _signal = 0

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for the calls under way, and say in one line how many were cut."""
        logging.getLogger("uvicorn.error").setLevel(
            logging.CRITICAL + 1
        )  # it writes a traceback of each
        calls = [*self.server_state.tasks]
        await super().shutdown(sockets)
        if cut := sum(not call.done() or bool(call.cancelling()) for call in calls):
            _logger.warning("calls under way that were cut: %d; clients may repeat them", cut)
            self.exit_code = 128 + self._signal

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop listening at a signal; calls under way finish."""

        def leave(number: int, _: FrameType | None) -> None:
            self.force_exit = self.should_exit
            self.should_exit = True
            self._signal = number
            leaving = threading.Timer(EXIT_WITHIN_S, os._exit, [128 + number])
            leaving.daemon = True
            leaving.start()

        before = {number: signal.signal(number, leave) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _bound(bind: Bind) -> socket.socket:
    if os.environ.get("LISTEN_PID") == str(os.getpid()):  # systemd opened it, sd_listen_fds(3)
        return socket.socket(fileno=FIRST_PASSED)
    family = socket.AF_INET6 if ":" in bind.host else socket.AF_INET
    # Named TCP, or asyncio leaves Nagle's algorithm on, and the end of each answer waits 40 ms for
    # an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # on Windows it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((bind.host, bind.port))
    except OSError as error:
        listener.close()
        raise _cannot_bind(bind, error) from error
    return listener


def _listen(listener: socket.socket, bind: Bind) -> None:
    """Listen. Raises SettingsError where another socket took the port first: SO_REUSEADDR lets
    several bind it.
    """
    try:
        listener.listen(BACKLOG)
    except OSError as error:
        raise _cannot_bind(bind, error) from error


def _cannot_bind(bind: Bind, error: OSError) -> SettingsError:
    return SettingsError(
        f"--http: {bind.host}:{bind.port} cannot be bound: {error.strerror or error}."
    )


async def _verifier(settings: Settings, lazy: LazyFleet, endpoint: str) -> BearerTokens:
    """Return the verifier of this server's tokens. Raises SettingsError for a fleet without a live
    one.

    Billed 1 read for each token; none where an issuer signs tokens, whose keys are asked for with
    the first token.
    """
    if settings.issuer is None:
        tokens = await (await lazy.tokens()).all()
        if not any(is_live(each.value, lazy.now()) for each in tokens):
            create = (
                "fleet-memory token create --program NAME --store "
                f"{shlex.quote(str(settings.store))}"
            )
            raise SettingsError(
                "--http: callers need a token, and this fleet has no live one. "
                f"Create one: {create} --fleet {settings.fleet}; or serve this machine alone "
                "without: --no-tokens"
            )
    if settings.program:
        raise SettingsError(
            "--program: does not count where each caller's token names its program; leave it out."
        )
    signed = IssuerTokens(settings, settings.issuer, endpoint) if settings.issuer else None
    return BearerTokens(FleetTokens(lazy.tokens, lazy.now, endpoint), signed)


def _announce(bind: Bind, port: int, where: Addresses, *, is_named: bool, tokens: bool) -> None:
    local = addresses(bind.host, port).endpoint
    lines = [f"fleet-memory serves {local}"]
    if where.endpoint != local:
        lines.append(f"clients reach it at {where.endpoint}")
    if not is_named:
        lines.append(f"other machines get 421: {HOST_ADVICE}")
    if not tokens:
        lines.append("no tokens: every program on this machine may read and write this memory")
    with suppress(OSError):  # a service may be started without stderr
        sys.stderr.write("\n".join([*lines, ""]))
        sys.stderr.flush()
