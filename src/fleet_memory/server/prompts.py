"""Prompts, of toolsets, as mcp serves them: strict arguments and helpful refusals, as of tools."""

from collections.abc import Sequence
from typing import Any

from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.prompts.base import Message
from mcp.types import INVALID_PARAMS, InputRequiredResult
from pydantic import ValidationError

from fleet_memory.errors import ForbiddenError, InvalidArgumentError
from fleet_memory.server.arguments import Schema, refusal_message
from fleet_memory.server.audience import Audience, audience_of, caller_named


class RefusingPrompt(Prompt):
    """A prompt that refuses wrong arguments with the reason, as the tools do; mcp's says that
    rendering failed.
    """

    async def render(
        self,
        arguments: dict[str, Any] | None,  # Any: JSON; the signature is mcp's
        context: Context[Any, Any],  # Any: as above
    ) -> list[Message] | InputRequiredResult:
        """See `Prompt.render`. Raises MCPError, whose message names the argument."""
        allowed, given = self.arguments or [], arguments or {}
        names = [argument.name for argument in allowed]
        _require_own(given, names, audience_of(context.request_context.lifespan_context))
        try:
            named = await caller_named(names, given, context)
        except InvalidArgumentError as error:
            raise refused(str(error)) from None
        if isinstance(named, InputRequiredResult):
            return named
        given = {**named, **given}
        missing = [
            argument.name
            for argument in allowed
            if argument.required and argument.name not in given
        ]
        if missing:
            raise refused(f"{missing[0]}: required")
        try:
            return await super().render(given, context)
        except ValueError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            schema: Schema = {"properties": {name: {} for name in names}}
            raise refused(refusal_message(error.__cause__, schema)) from error


def _require_own(
    given: dict[str, Any], allowed: Sequence[str], audience: Audience
) -> None:  # Any: JSON
    """Raise MCPError for another name than a bound caller may read."""
    own = audience.program_id
    is_other = own is not None and "agentId" in allowed and given.get("agentId", own) != own
    if is_other and audience.role in ("agent", "judge"):
        raise refused(f"You are {own}; leave out agentId", ForbiddenError.code)


def refused(reason: str, code: str = InvalidArgumentError.code) -> MCPError:
    """Return the error of a request that a client can mend."""
    return MCPError(INVALID_PARAMS, f"{code}: {reason}")
