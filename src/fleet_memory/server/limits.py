"""Limits of the callers that a token identifies: calls a minute, calls at once, and a share of the
engines.

A request of any method and a notification is a call, but for the few by which a client connects;
those have a limit of their own. They are of one process: three replicas allow three times as much.
Callers without a token have none: over stdio, and over HTTP without tokens, they are one person's.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import CallToolResult, TextContent

from fleet_memory.errors import RPC_RATE_LIMITED, RateLimitedError
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.engines import Turns, turns_of_call
from fleet_memory.settings import MAX_RATE, Rate

_MINUTE_S: Final = 60.0
RETRY_BUSY_S: Final = 1.0  # seconds; chosen: most calls take less
# requests a minute other than calls, whatever the rate: a client sends five to connect; chosen
MIN_OTHERS: Final = 60
CONNECTING: Final = frozenset(
    [
        "initialize",
        "ping",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "server/discover",
        "tools/list",
    ]
)
"""The methods that are no calls: they read nothing, and a client whose calls are used up may still
connect.
"""
_Context: TypeAlias = ServerRequestContext[LazyFleet, Any]  # Any: the HTTP request, unused here


class _Usage:
    """The calls of one token: when all are paid for, each with a minute's share, and how many run.

    A token that asked for nothing lately may ask for a minute's calls at once, and then for one
    each share: the generic cell rate algorithm (ITU-T I.371).
    """

    def __init__(self) -> None:
        self.free_at = 0.0
        self.running = 0


class Allowance:
    """How much each token has used of a rate. `counted` names the requests, for refusals."""

    def __init__(
        self, rate: Rate, now: Callable[[], float] = time.monotonic, counted: str = "calls"
    ) -> None:
        self._rate = rate
        self._now = now
        self._counted = counted
        self._usage = defaultdict[str, _Usage](_Usage)

    @contextmanager
    def call(self, token_id: str) -> Iterator[None]:
        """Count a call of a token while it runs. Raises RateLimitedError for one beyond the rate;
        it costs nothing.
        """
        usage = self._usage[token_id]
        now, share_s = self._now(), _MINUTE_S / self._rate.calls
        if (wait_s := usage.free_at + share_s - _MINUTE_S - now) > 0:
            seconds = math.ceil(wait_s)
            raise RateLimitedError(
                f"Your token may make {self._rate.calls} {self._counted} a minute; call again "
                f"in {seconds} s.",
                seconds,
            )
        if usage.running >= self._rate.at_once:
            raise RateLimitedError(
                f"Your token may make {self._rate.at_once} calls at once; call again when one "
                "of them is answered, "
                f"or in {RETRY_BUSY_S:g} s.",
                RETRY_BUSY_S,
            )
        usage.free_at = max(usage.free_at, now) + share_s
        usage.running += 1
        try:
            yield
        finally:
            usage.running -= 1


class CallLimits:
    """mcp middleware that limits the requests of each token, and lets each program take turns at
    the engines.
    """

    def __init__(self, rate: Rate | None, now: Callable[[], float] = time.monotonic) -> None:
        self._calls = Allowance(rate, now) if rate else None
        others = Rate(max(rate.calls, MIN_OTHERS), MAX_RATE) if rate else None
        self._others = Allowance(others, now, "requests other than calls") if others else None
        self._turns = WeakValueDictionary[str, Turns]()

    def count_notification(self, token_id: str) -> None:
        """Count a notification of a token as a call. Raises RateLimitedError."""
        if self._calls:
            with self._calls.call(token_id):
                return

    async def __call__(self, ctx: _Context, call_next: CallNext) -> HandlerResult:
        """Answer the request, a refused call of a tool as the tool would. Raises MCPError for
        another refused request.
        """
        caller = _identified(ctx)
        if (
            ctx.request_id is None
            or caller is None
            or caller.token_id is None
            or caller.program_id is None
        ):
            return await call_next(ctx)
        allowance = self._others if ctx.method in CONNECTING else self._calls
        turns = turns_of_call.set(self._turns.setdefault(caller.program_id, Turns()))
        try:
            with nullcontext() if allowance is None else allowance.call(caller.token_id):
                return await call_next(ctx)
        except RateLimitedError as refusal:
            text = f"{refusal.code}: {refusal} (retryable)"
            if ctx.method == "tools/call":
                return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
            data = {
                "code": refusal.code,
                "retryable": True,
                "retryAfterSeconds": refusal.retry_after_s,
            }
            raise MCPError(RPC_RATE_LIMITED, text, data) from None
        finally:
            turns_of_call.reset(turns)


def _identified(ctx: _Context) -> Caller | None:
    identified = ctx.lifespan_context.identified
    return identified() if identified else None
