"""The names of tools: the server refuses one that it does not serve with where it is, or the name
that was meant.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, GetPromptResult, InputRequiredResult

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.rules.text.credentials import shown
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.fields import MAX_NAME_CHARS
from fleet_memory.server.argument_errors import closest
from fleet_memory.server.audience import Audience, audience_of
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.prompts import refused
from fleet_memory.settings import CURATION, SETTINGS

_VARIABLE: Final = next(setting.variable for setting in SETTINGS if setting.name == "toolsets")


class Successor(NamedTuple):
    """The tool that does the work of one that is gone, and the arguments that make it do so, e.g.
    "history: 5".
    """

    name: str
    arguments: str = ""


RENAMED: Final[Mapping[str, Successor]] = {
    "add_note": Successor("write_note"),
    "edit_note": Successor("write_note", "noteId"),
    "remove_note": Successor("write_note", "noteId and remove: true"),
    "get_context_history": Successor("get_program_state", "history: 5"),
}
"""The tool that does the work of one that is gone."""


class ToolNames(NamedTuple):
    """The tools of every toolset by name, the toolsets that a caller is served, and the successors
    of renamed tools.

    `withheld` are those that the server serves, but not by the caller's token.
    """

    toolsets: Mapping[str, Sequence[str]]
    served: Sequence[str]
    renamed: Mapping[str, Successor]
    withheld: Sequence[str] = ()

    def served_to(self, audience: Audience) -> "ToolNames":
        """Return the names for one caller."""
        withheld = [toolset for toolset in self.served if toolset not in audience.toolsets]
        return self._replace(served=audience.toolsets, withheld=withheld)

    @property
    def callable(self) -> list[str]:
        """The tools that the caller is served."""
        return [name for toolset in self.served for name in self.toolsets[toolset]]

    def refusal(self, name: str) -> str:
        """Return why there is no tool of this name to call, and the name or the setting that helps.

        E.g. "gsp_read is in the toolset knowledge; this server serves core: start it with
        FLEET_MEMORY_TOOLSETS=core,knowledge".
        """
        if name in self.renamed:
            successor = self.renamed[name]
            how = f", with {successor.arguments}" if successor.arguments else ""
            return f"{name} is {successor.name} now{how}{self._elsewhere(successor.name, '; ')}"
        home = next((toolset for toolset, names in self.toolsets.items() if name in names), None)
        if home is None:
            return self._unknown(name)
        if home == CURATION:
            return (
                f"{name} is in the toolset {home}, for tokens of the role admin; people have "
                "commands "
                "for it"
            )
        if home in self.withheld:
            return (
                f"{name} is in the toolset {home}; your token allows "
                f"{', '.join(self.served) or 'none here'}"
            )
        wanted = ",".join((*(toolset for toolset in self.served if toolset != CURATION), home))
        return (
            f"{name} is in the toolset {home}; this server serves {', '.join(self.served)}: "
            f"start it with {_VARIABLE}={wanted}"
        )

    def _unknown(self, name: str) -> str:
        every = [
            each
            for toolset, names in self.toolsets.items()
            if self._is_known(toolset)
            for each in names
        ]
        near = close_names(name[:MAX_NAME_CHARS], (*every, *self.renamed), 1)
        if not near:
            return f"{shown(name)}: unknown tool, allowed: {', '.join(self.callable)}"
        return (
            f"{shown(name)}: unknown tool, did you mean {near[0]}?{self._elsewhere(near[0], ' ')}"
        )

    def _is_known(self, toolset: str) -> bool:
        return toolset != CURATION or toolset in self.served

    def _elsewhere(self, name: str, separator: str) -> str:
        """Return where a tool is that the server does not serve, after a separator; "" for one that
        it serves.
        """
        return "" if name in self.callable else f"{separator}{self.refusal(name)}"


class FleetServer(MCPServer[LazyFleet]):
    """An mcp server that knows the tools it does not serve; `tool_names` is set once, before it
    runs.
    """

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,  # Any: JSON; the signature is mcp's
        context: Context[LazyFleet, Any] | None = None,  # Any: as above
    ) -> GetPromptResult | InputRequiredResult:
        """See `MCPServer.get_prompt`. Raises MCPError for a prompt that there is not, with the name
        that was meant.
        """
        known = [prompt.name for prompt in await self.list_prompts()]
        if name not in known:
            raise refused(f"{shown(name)}: unknown prompt, {closest(name, known)}")
        return await super().get_prompt(name, arguments, context)

    tool_names: ToolNames

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],  # Any: JSON; the signature is mcp's
        context: Context[LazyFleet, Any] | None = None,  # Any: as above
    ) -> CallToolResult | InputRequiredResult:
        """See `MCPServer.call_tool`; a tool that is not served is refused with its toolset or the
        name that was meant.

        Raises ToolError.
        """
        names = self.tool_names
        if context is not None:
            names = names.served_to(audience_of(context.request_context.lifespan_context))
        if name not in names.callable:
            raise ToolError(f"{InvalidArgumentError.code}: {names.refusal(name)}")
        return await super().call_tool(name, arguments, context)
