"""Turns a plain function into an mcp tool or prompt: strict arguments, helpful refusals, one lean
answer.

camelCase and snake_case of arguments meet in `Arguments`, and nowhere else.
"""

import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias

from anyio import to_thread
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.prompts.base import Message, PromptArgument, UserMessage
from mcp.server.mcpserver.tools import Tool as McpTool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from pydantic import ConfigDict, JsonValue, ValidationError, create_model
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from fleet_memory.errors import FleetMemoryError, ForbiddenError, InvalidArgumentError
from fleet_memory.fleet import Effect, Fleet, JsonObject, Progress, PromptTask, Tool
from fleet_memory.jobs.credentials import refuse_credential
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.rules.text.credentials import credential_at, credential_in, without_credentials
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.arguments import (
    CALLER_NAMES,
    Schema,
    input_schema,
    published,
    refusal_message,
)
from fleet_memory.server.audience import audience_of, caller_named
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import is_name

_SYNONYMS: Final = (CALLER_NAMES, CALLER_NAMES[::-1])
MAX_ARGUMENT_BYTES: Final = 1_000_000  # of one call; the largest legitimate field takes 2,000

SESSION_META_KEY: Final = (
    "fleet-memory/session"  # of a request's `_meta`: the session that the agent works in
)
MODEL_META_KEY: Final = (
    "fleet-memory/model"  # the family of the model behind the agent, e.g. claude
)
MAX_CLIENT_CHARS: Final = 100  # characters; a longer client's name is cut; chosen
MAX_SEARCHED_CHARS: Final = (
    1_000  # of the name, for a credential that begins in what is stored of it; chosen
)

FleetContext: TypeAlias = Context[LazyFleet, Any]  # Any: the transport's HTTP request, unused here

_logger = logging.getLogger(__name__)


class Arguments(ArgModelBase):
    """The base of every tool's arguments: camelCase outside, the function's own names inside,
    nothing unknown.
    """

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")


class FleetTool(McpTool):
    """An mcp tool that is called with the server's fleet and, if it asks, with a progress
    reporter.
    """

    effect: Effect
    masks: Sequence[str]
    reshape: Callable[[JsonObject], JsonObject]
    injected: dict[str, Any]  # parameter name -> Fleet or Progress
    accepted: dict[str, Any]  # JSON schema; clients are listed `parameters`
    returned: type[Any]  # a Value; of a prompt str

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002, FBT001, FBT002 the signature is mcp's
    ) -> CallToolResult | InputRequiredResult:
        """See `Tool.run`; every failure becomes a ToolError that starts with its code."""
        try:
            named = await caller_named(self.parameters["properties"], arguments, context)
            if isinstance(named, InputRequiredResult):
                return named
            given = validated(self, arguments, named)
            await _require_no_credential(self, arguments, context)
            if named and isinstance(limit := given.get("max_tokens"), int):
                given["max_tokens"] = limit - tokens(named)  # the answer has it too
            answer = await self.fn(**given, **await _injected(self, context))
            return _result({**named, **answer.wire()})
        except FleetMemoryError as refusal:
            raise ToolError(_refusal_text(self.name, refusal)) from None
        except Exception as crash:  # the outermost edge
            raise crashed(self.name) from crash


@cache  # a process may start several servers
def registered(tool: Tool) -> FleetTool:
    """Return the mcp tool of a function: its signature is the schema, its docstring the
    description. All four hints are set: an absent one means the worst.

    Sources of its `_meta`: code.claude.com/docs/en/mcp, "Exempt a server from deferral"; Claude
    Code 2.1 reads the hint.
    """
    signature = inspect.signature(tool.function, eval_str=True)
    parameters = signature.parameters.values()
    injected = {
        each.name: each.annotation for each in parameters if each.annotation in (Fleet, Progress)
    }
    fields: dict[str, Any] = {
        each.name: (
            each.annotation,
            ... if each.default is inspect.Parameter.empty else each.default,
        )
        for each in parameters
        if each.name not in injected
    }
    arguments = create_model(f"{tool.name}_arguments", __base__=Arguments, **fields)
    loaded = {"anthropic/alwaysLoad": True} if tool.loaded else {}
    accepted = input_schema(arguments)
    return FleetTool(
        fn=tool.function,
        effect=tool.effect,
        masks=tool.masks,
        reshape=tool.reshape,
        name=tool.name,
        title=tool.title,
        meta={**loaded, "anthropic/searchHint": tool.search_hint},
        annotations=ToolAnnotations(
            read_only_hint=tool.effect == "reads",
            destructive_hint=tool.effect == "replaces",
            idempotent_hint=tool.effect != "adds",
            open_world_hint=False,
        ),
        description=inspect.getdoc(tool.function) or "",
        parameters=published(accepted),
        fn_metadata=FuncMetadata(arg_model=arguments),
        accepted=accepted,
        returned=signature.return_annotation,
        injected=injected,
        is_async=True,
        context_kwarg=None,
    )


class FleetPrompt(Prompt):
    """A prompt that takes its arguments as a tool does: it names the caller where the server knows
    it, and refuses wrong ones with the reason.
    """

    tool: FleetTool

    async def render(
        self,
        arguments: dict[str, Any] | None,  # Any: JSON; the signature is mcp's
        context: Context[Any, Any],  # Any: as above
    ) -> list[Message] | InputRequiredResult:
        """See `Prompt.render`. Raises MCPError, whose message names the argument."""
        given = arguments or {}
        audience = audience_of(context.request_context.lifespan_context)
        own, wanted = audience.program_id, given.get("agentId")
        if own and wanted not in (None, own) and audience.role in ("agent", "judge"):
            raise refused(ForbiddenError(f"You are {own}; leave out agentId"))
        try:
            named = await caller_named(self.tool.parameters["properties"], given, context)
            if isinstance(named, InputRequiredResult):
                return named
            return [UserMessage(await self.tool.fn(**validated(self.tool, given, named)))]
        except InvalidArgumentError as error:
            raise refused(error) from None


@cache  # as above
def prompt_of(task: PromptTask) -> FleetPrompt:
    """Return the mcp prompt of a task."""
    function: Callable[..., Any] = task.function  # Any: a text, where a tool has a value
    tool = registered(Tool(function, task.title, "", "reads", "shared"))
    arguments = [
        PromptArgument(
            name=name,
            description=field.get("description"),
            required=name in tool.parameters.get("required", ()),
        )
        for name, field in tool.parameters["properties"].items()
    ]
    return FleetPrompt(
        name=tool.name,
        title=task.title,
        description=task.description,
        arguments=arguments,
        fn=function,
        context_kwarg=None,
        tool=tool,
    )


def refused(error: FleetMemoryError) -> MCPError:
    """Return the error of a request that a client can correct."""
    return MCPError(INVALID_PARAMS, f"{error.code}: {error}")


def validated(
    tool: FleetTool, arguments: dict[str, Any], named: Mapping[str, JsonValue] | None = None
) -> dict[str, object]:
    """Return the keyword arguments for the tool's function. Raises InvalidArgumentError.

    They are checked as JSON in strict mode: no text passes as a number, no number as a bool, but an
    array is a tuple. A null stands for an absent argument: clients that must fill every field send
    it. `agentId` and `programId` stand for each other; `named` fills in a program that the call
    left out.
    """
    properties: dict[str, Schema] = tool.parameters["properties"]
    given = {
        name: _unpacked(value, properties.get(name, {}))
        for name, value in _renamed(arguments, properties).items()
        if value is not None or name not in properties
    }
    given = {**(named or {}), **given}
    model = tool.fn_metadata.arg_model
    try:
        if len(text := to_json(tool.reshape(given))) > MAX_ARGUMENT_BYTES:
            raise InvalidArgumentError(
                f"arguments: larger than {MAX_ARGUMENT_BYTES:,} bytes; send less"
            )
        checked = model.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise InvalidArgumentError(refusal_message(error, tool.accepted)) from None
    except ValueError:
        raise InvalidArgumentError("arguments: nested too deeply, or not Unicode text") from None
    return {name: getattr(checked, name) for name in model.model_fields}


async def _require_no_credential(
    tool: FleetTool, arguments: JsonObject, context: FleetContext
) -> None:
    """Raise InvalidArgumentError when a tool that writes is given a credential, in any of its
    texts.
    """
    if tool.effect == "reads":
        return
    arguments = {name: sent for name, sent in arguments.items() if name not in tool.masks}
    # in a thread: a long text takes a while
    if credential := await to_thread.run_sync(credential_at, arguments):
        await refuse_credential(await _fleet(context), credential)


def _renamed(arguments: JsonObject, properties: Mapping[str, Schema]) -> JsonObject:
    """Return the arguments with the caller's name under the name that the tool has for it."""
    for name, other in _SYNONYMS:
        sent = arguments.get(other)
        if name in properties and other not in properties and arguments.get(name) in (None, sent):
            rest = {key: value for key, value in arguments.items() if key != other}
            return rest | {name: sent}
    return arguments


def _unpacked(value: JsonValue, schema: Schema) -> JsonValue:
    if not isinstance(value, str) or schema.get("type") not in ("object", "array"):
        return value
    try:
        parsed = json.loads(value)  # Claude Desktop sends objects and arrays as JSON texts
    except (ValueError, RecursionError):
        return value
    return parsed if isinstance(parsed, dict | list) else value


async def _injected(tool: FleetTool, context: FleetContext) -> dict[str, object]:
    given: dict[str, object] = {}
    for name, kind in tool.injected.items():
        given[name] = await _fleet(context) if kind is Fleet else _progress(context)
    return given


async def _fleet(context: FleetContext) -> Fleet:
    lazy: LazyFleet = context.request_context.lifespan_context
    fleet = await lazy.fleet()
    caller = lazy.identified() if lazy.identified else fleet.caller
    programs = fleet.programs.written_by(caller.program_id, caller.token_id)
    return replace(fleet, caller=caller_of_request(context, caller), programs=programs)


def _progress(context: FleetContext) -> Progress:
    async def report(finished: float, total: float, message: str) -> None:
        await context.report_progress(finished, total, message)

    return report


def _result(content: dict[str, Any]) -> CallToolResult:  # Any: JSON
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def _refusal_text(name: str, refusal: FleetMemoryError) -> str:
    message = without_credentials(str(refusal))
    if refusal.operator_detail:
        _logger.warning("%s: %s: %s", name, message, refusal.operator_detail)
    return f"{refusal.code}: {message}" + (" (retryable)" if refusal.retryable else "")


def caller_of_request(
    context: Context[Any, Any], caller: Caller
) -> Caller:  # Any: of no concern here
    """Return the caller with the client, session and model that a request names; an invalid name is
    ignored.

    So is one with a control character or a credential: names are stored, and people read them in a
    terminal. The client is that of `initialize`, or of the request itself where the protocol has no
    `initialize`.
    """
    request = context.request_context
    meta: Mapping[str, object] = request.meta or {}
    client = request.session.client_params
    sent = client.client_info.name[:MAX_SEARCHED_CHARS] if client else ""
    name = sent[:MAX_CLIENT_CHARS] if sent.isprintable() and credential_in(sent) is None else ""
    return replace(
        caller,
        client=name or caller.client,
        session_id=_named(meta, SESSION_META_KEY) or caller.session_id,
        model=_named(meta, MODEL_META_KEY) or caller.model,
    )


def _named(meta: Mapping[str, object], key: str) -> str | None:
    value = meta.get(key)
    return (
        value
        if isinstance(value, str) and is_name(value) and credential_in(value) is None
        else None
    )


def crashed(name: str) -> UnexpectedToolError:
    """Return the error of a tool; mcp logs the traceback of its cause, which the caller does not
    see.
    """
    return UnexpectedToolError(
        f"internal: {name} failed inside the server; call again; the operator finds the cause "
        "in the server's log"
    )
