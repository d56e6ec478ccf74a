"""The tools as clients list them, from a file that scripts/generate_docs.py writes.

Importing the code of all tools, with numpy, and building its schemas would take a third of a
server's start, and many servers are started and never called: the first call imports the code, and
that of each tool builds its schemas.
"""

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from anyio import to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.types import CallToolResult
from mcp.types import Tool as ToolEntry
from pydantic import TypeAdapter

from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.crashes import crashed
from fleet_memory.settings import CURATION

LISTING: Final = Path(__file__).with_name("listing.json")
"""The entries of tools/list by toolset."""

_ENTRIES: Final = TypeAdapter(dict[str, list[ToolEntry]]).validate_json(LISTING.read_bytes())
_imported: Final[dict[str, Tool]] = {}
_IMPORTING: Final = threading.Lock()


class ListedTool(Tool):
    """An mcp tool whose first call imports its code, in a thread."""

    async def run(
        self,
        arguments: dict[str, Any],  # Any: JSON; the signature is mcp's
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002 as above
    ) -> CallToolResult:
        """See `FleetTool.run`."""
        if self.name not in _imported:
            lazy: LazyFleet = context.request_context.lifespan_context
            load = _imported_for_good if lazy.owns_process else _imported_tool
            try:
                await to_thread.run_sync(_import_once, self.name, load)
            except (
                Exception
            ) as crash:  # an edge as in FleetTool.run: a library may not load on this machine
                raise crashed(self.name) from crash
        result: CallToolResult = await _imported[self.name].run(arguments, context, convert_result)
        return result


def tool_names(*, of_admins: bool = True) -> list[str]:
    """Return the names of every tool, toolset by toolset; those of admins may be left out."""
    return [
        entry.name
        for toolset, entries in _ENTRIES.items()
        if of_admins or toolset != CURATION
        for entry in entries
    ]


def listed_tools() -> dict[str, list[Tool]]:
    """Return the tools of every toolset."""
    return {
        toolset: [_listed_tool(entry) for entry in entries] for toolset, entries in _ENTRIES.items()
    }


def _listed_tool(entry: ToolEntry) -> Tool:
    return ListedTool(
        fn=_imported_tool,  # required by mcp; `run` does not call it
        name=entry.name,
        title=entry.title,
        description=entry.description or "",
        parameters=entry.input_schema,
        fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=entry.output_schema),
        annotations=entry.annotations,
        is_async=True,
        context_kwarg=None,
    )


def _import_once(name: str, load: Callable[[str], Tool]) -> None:
    """Import a tool, unless another thread has done so meanwhile: over HTTP first calls come at
    once.
    """
    with _IMPORTING:
        if name not in _imported:
            _imported[name] = load(name)


def _imported_tool(name: str) -> Tool:
    from fleet_memory.server.registration import registered  # noqa: PLC0415 see the module's docstring
    from fleet_memory.server.toolsets import TOOLS  # noqa: PLC0415 the same

    (spec,) = [spec for specs in TOOLS.values() for spec in specs if spec.function.__name__ == name]
    (entry,) = [entry for entries in _ENTRIES.values() for entry in entries if entry.name == name]
    return registered(spec, entry.input_schema)


def _imported_for_good(name: str) -> Tool:
    """Import a tool without collecting garbage: looking for it among imported objects costs a tenth
    of a call.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _imported_tool(name)
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
