"""For whom a server lists its tools: each caller sees those of its role and its token, and need not
name itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from fleet_memory.server.argument_errors import CALLER_NAMES
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.instructions import instructions
from fleet_memory.settings import CURATION, Settings

if TYPE_CHECKING:  # numpy and most of this package, see server/listing.py
    from fleet_memory.schemas.tokens import Role

ListingObject: TypeAlias = dict[str, Any]  # Any: JSON as it goes to the client

STORING: Final = frozenset(
    [
        "store_memory",
        "reinforce_memory",
        "commit_session",
        "update_program_state",
        "write_note",
        "forget_memory",
    ]
)
"""The tools that write a program's memory, which judges and auditors do not have."""


class Audience(NamedTuple):
    """For whom a server lists: a program, None for an unbound caller, its role, and the toolsets
    that it is served.
    """

    program_id: "str | None"
    role: "Role"
    toolsets: tuple[str, ...]

    def may_call(self, name: str) -> bool:
        """Whether a tool of these toolsets does anything for this role."""
        return self.role in ("agent", "admin") or name not in STORING


def audience_of(lazy: LazyFleet) -> Audience:
    """Return for whom the request of this task is answered; the fleet need not be open.

    The toolset `curation` is that of admins. A token may allow fewer toolsets than the server has.
    """
    settings = lazy.settings
    if lazy.identified is None:
        return audience_of_process(settings)
    caller = lazy.identified()
    served = (*settings.toolsets, CURATION) if caller.role == "admin" else settings.toolsets
    allowed = served if caller.toolsets is None else caller.toolsets
    return Audience(
        caller.program_id, caller.role, tuple(name for name in served if name in allowed)
    )


def audience_of_process(settings: Settings) -> Audience:
    """Return for whom a process answers whose transport knows no callers."""
    return Audience(settings.program, "agent", settings.toolsets)


class CallerListing:
    """A middleware of mcp: what a server says of itself is for the one who asks."""

    def __init__(self, settings: Settings, toolsets: Mapping[str, Sequence[str]]) -> None:
        """`toolsets` are the names of the tools of each."""
        self._settings = settings
        self._toolsets = toolsets
        self._for: Final[Mapping[str, Callable[[ListingObject, Audience], ListingObject]]] = {
            "tools/list": self._tools,
            "prompts/list": _prompts,
            "initialize": _greeting,
            "server/discover": _greeting,
        }

    async def __call__(
        self,
        ctx: ServerRequestContext[LazyFleet, Any],  # Any: the transport's request
        call_next: CallNext,
    ) -> HandlerResult:
        """Pass the request on, and leave out of the answer what is not for its caller."""
        result = await call_next(ctx)
        change = self._for.get(ctx.method)
        if change is None or not isinstance(result, dict):
            return result
        lazy: LazyFleet | None = ctx.lifespan_context  # none for the probe of stdio
        return change(result, audience_of(lazy) if lazy else audience_of_process(self._settings))

    def _tools(self, result: ListingObject, audience: Audience) -> ListingObject:
        names = {
            name
            for toolset in audience.toolsets
            for name in self._toolsets[toolset]
            if audience.may_call(name)
        }
        tools = [tool for tool in result["tools"] if tool["name"] in names]
        if audience.program_id is not None:
            tools = [
                tool | {"inputSchema": _without_its_name(tool["inputSchema"])} for tool in tools
            ]
        return result | {"tools": tools}


def _without_its_name(schema: ListingObject) -> ListingObject:
    """Return the schema of arguments for a bound caller, whose name the server knows."""
    required = [name for name in schema.get("required", ()) if name not in CALLER_NAMES]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return rest | {"required": required} if required else rest


def _prompts(result: ListingObject, audience: Audience) -> ListingObject:
    if audience.program_id is None:
        return result
    return result | {"prompts": [prompt | _optional_name(prompt) for prompt in result["prompts"]]}


def _optional_name(prompt: ListingObject) -> ListingObject:
    arguments = prompt.get("arguments")
    if not arguments:
        return {}
    return {
        "arguments": [
            argument | {"required": False} if argument["name"] in CALLER_NAMES else argument
            for argument in arguments
        ]
    }


def _greeting(result: ListingObject, audience: Audience) -> ListingObject:
    return result | {
        "instructions": instructions(audience.toolsets, audience.program_id, audience.role)
    }
