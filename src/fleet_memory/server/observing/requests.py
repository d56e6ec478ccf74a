"""Sees every request of a server once it is answered: who, which tool, how it ended, how long, at
which cost.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent
from pydantic import ValidationError

from fleet_memory.errors import RPC_RATE_LIMITED, FleetMemoryError, RateLimitedError
from fleet_memory.server.composition import LazyFleet, every_tool
from fleet_memory.server.engines import StoreUse, counted_call
from fleet_memory.server.observing.log import REQUESTS
from fleet_memory.settings import Settings, is_name

OK: Final = "ok"
CANCELLED: Final = "cancelled"  # the client left, or took the request back
UNKNOWN_TOOL: Final = "unknown"
OTHER_METHOD: Final = "_OTHER"  # the conventions' word for a value that is not listed
TOOL_CALL: Final = "tools/call"
MAX_ID: Final = (
    2**63
)  # of a request's number; chosen, so that no line of the log has thousands of digits
METHODS: Final = frozenset(
    (
        "completion/complete initialize logging/setLevel ping prompts/get prompts/list "
        "resources/list resources/read "
        "resources/subscribe resources/templates/list resources/unsubscribe server/discover "
        "subscriptions/listen "
        f"tools/list {TOOL_CALL}"
    ).split()
)

_logger = logging.getLogger(REQUESTS)


class SeenRequest(NamedTuple):
    """An answered request, without its texts.

    `program`, `role` and `token` (its id) are None for an unidentified caller. `tool` is None where
    no tool is called, and "unknown" for an unknown name. `outcome` is "ok", "cancelled", the code
    of an error in errors.py, or a JSON-RPC error code. `request_id` is the client's, None unless it
    is a number of 64 bits or a plain name.
    """

    request_id: int | str | None
    method: str
    program: str | None
    role: str | None
    token: str | None
    tool: str | None
    outcome: str
    seconds: float
    use: StoreUse

    @property
    def is_tool_error(self) -> bool:
        """Whether a tool answered with an error, in an answer that is no error of the protocol."""
        return self.tool is not None and self.outcome in _CODES


Watcher: TypeAlias = Callable[[SeenRequest], None]


class RequestObserver:
    """mcp middleware that tells its watchers of every request; notifications have no answer and are
    left out.

    `program` binds every caller that is not identified by a token. `tools` are the names that a
    watcher may see.
    """

    def __init__(
        self, watchers: Sequence[Watcher], tools: Collection[str], program: str | None = None
    ) -> None:
        self._watchers = watchers
        self._tools = frozenset(tools)
        self._program = program

    async def __call__(
        self,
        ctx: ServerRequestContext[LazyFleet, Any],  # Any: the HTTP request, unused here
        call_next: CallNext,
    ) -> HandlerResult:
        """Answer the request, and report it."""
        if ctx.request_id is None:
            return await call_next(ctx)
        begun, outcome = time.perf_counter(), "internal"
        with counted_call() as use:
            try:
                result = await call_next(ctx)
                outcome = _outcome(result)
            except MCPError as error:
                code = error.error.code
                outcome = RateLimitedError.code if code == RPC_RATE_LIMITED else str(code)
                raise
            except ValidationError:  # mcp answers so
                outcome = str(INVALID_PARAMS)
                raise
            except anyio.get_cancelled_exc_class():
                outcome = CANCELLED
                raise
            finally:
                seen = self._seen(ctx, outcome, time.perf_counter() - begun, use)
                for watch in self._watchers:
                    watch(seen)
        return result

    def _seen(
        self,
        ctx: ServerRequestContext[LazyFleet, Any],  # Any: as above
        outcome: str,
        seconds: float,
        use: StoreUse,
    ) -> SeenRequest:
        lazy: LazyFleet | None = ctx.lifespan_context  # none for the probe of stdio
        caller = lazy.identified() if lazy and lazy.identified else None
        bound = self._program if caller is None else caller.program_id
        return SeenRequest(
            request_id=_plain_id(ctx.request_id),
            method=ctx.method if ctx.method in METHODS else OTHER_METHOD,
            program=bound,
            role=None if bound is None else caller.role if caller else "agent",
            token=caller.token_id if caller else None,
            tool=self._tool(ctx.params) if ctx.method == TOOL_CALL else None,
            outcome=outcome,
            seconds=seconds,
            use=use,
        )

    def _tool(self, params: Mapping[str, object] | None) -> str:
        name = (params or {}).get("name")
        return name if isinstance(name, str) and name in self._tools else UNKNOWN_TOOL


def log_request(seen: SeenRequest) -> None:
    """Write the line of a request; its fields are documented in docs/operations.md."""
    fields = {
        "requestId": seen.request_id,
        "method": seen.method,
        "program": seen.program,
        "role": seen.role,
        "token": seen.token,
        "tool": seen.tool,
        "outcome": seen.outcome,
        "ms": round(seen.seconds * 1000, 1),
        "reads": seen.use.reads,
        "writes": seen.use.writes,
        "conflicts": seen.use.conflicts,
    }
    _logger.info("request", extra={"request": fields})


def request_log(settings: Settings) -> RequestObserver:
    """Return the middleware that logs requests and does nothing else."""
    return RequestObserver([log_request], every_tool(), settings.program)


def _outcome(result: HandlerResult) -> str:
    match result:
        case CallToolResult(is_error=True, content=[TextContent(text=text), *_]):
            return _code(text)
        case {"isError": True, "content": [{"text": str(text)}, *_]}:
            return _code(text)
        case _:
            return OK


def _code(refusal: str) -> str:
    code = refusal.partition(":")[0]
    return code if code in _CODES else FleetMemoryError.code


def _plain_id(request_id: int | str | None) -> int | str | None:
    if isinstance(request_id, int):
        return request_id if -MAX_ID <= request_id < MAX_ID else None
    return request_id if request_id and is_name(request_id) else None


def _errors(root: type[FleetMemoryError]) -> Iterator[type[FleetMemoryError]]:
    yield root
    for child in root.__subclasses__():
        yield from _errors(child)


_CODES: Final = frozenset(error.code for error in _errors(FleetMemoryError))
OUTCOMES: Final = frozenset({OK, CANCELLED, *_CODES})
"""Every outcome but the error codes of JSON-RPC."""
