"""The tools by toolset, with their effects on the memory."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations

from fleet_memory.server.registration import ToolSpec, registered
from fleet_memory.settings import CURATION
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.curation import (
    reinstate_knowledge,
    restore_memory,
    retire_knowledge,
    seed_knowledge,
)
from fleet_memory.tools.health import fleet_health, memory_health
from fleet_memory.tools.knowledge import gsp_diff, gsp_read, gsp_search
from fleet_memory.tools.session.commit_session import commit_session
from fleet_memory.tools.session.shapes import session_as_meant
from fleet_memory.tools.state import (
    forget_memory,
    get_program_state,
    update_program_state,
    write_note,
)

READS: Final = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITES: Final = READS.model_copy(update={"read_only_hint": False})
REPLACES: Final = WRITES.model_copy(update={"destructive_hint": True})  # what agents read goes
COUNTS: Final = WRITES.model_copy(update={"idempotent_hint": False})  # a repetition adds up

TOOLS: Final[Mapping[str, Sequence[ToolSpec]]] = {
    "core": (
        # it notes which knowledge the agent has read
        ToolSpec(gsp_bootstrap, "Boot an agent", "start of session, lessons, handoff", WRITES),
        ToolSpec(recall_memory, "Recall lessons", "remember, known problems", READS, loaded=True),
        ToolSpec(store_memory, "Store a lesson", "remember, save lesson", WRITES, loaded=True),
        ToolSpec(reinforce_memory, "Reinforce a lesson", "lesson helped or was wrong", COUNTS),
        ToolSpec(memory_health, "Show memory health", "memory status, fading lessons", READS),
        ToolSpec(pattern_consolidate, "Consolidate lessons", "judge pairs of lessons", WRITES),
    ),
    "session": (
        ToolSpec(
            commit_session, "Commit a session", "end of session, handoff", COUNTS, session_as_meant
        ),
    ),
    "state": (
        ToolSpec(get_program_state, "Read program state", "read handover, config, notes", READS),
        ToolSpec(update_program_state, "Update program state", "save config, handover", WRITES),
        ToolSpec(write_note, "Write a note", "note for the next days", COUNTS),
        ToolSpec(forget_memory, "Forget a lesson", "delete a wrong lesson", WRITES),
    ),
    "knowledge": (
        ToolSpec(gsp_search, "Search knowledge", "find shared knowledge, rules", READS),
        ToolSpec(gsp_read, "Read an entry", "knowledge entry, evidence, authors", READS),
        ToolSpec(gsp_diff, "Show what changed", "new shared knowledge", READS),
        ToolSpec(fleet_health, "Show fleet health", "fleet status, programs, pairs", READS),
    ),
    CURATION: (
        ToolSpec(seed_knowledge, "Set rules", "write rules of people", REPLACES),
        ToolSpec(retire_knowledge, "Retire an entry", "take wrong knowledge back", REPLACES),
        ToolSpec(reinstate_knowledge, "Reinstate an entry", "undo retiring knowledge", WRITES),
        ToolSpec(restore_memory, "Restore a lesson", "bring an archived lesson back", WRITES),
    ),
}
TOOL_NAMES: Final[Mapping[str, Sequence[str]]] = {
    toolset: [spec.function.__name__ for spec in specs] for toolset, specs in TOOLS.items()
}
EVERY_TOOL: Final = tuple(name for names in TOOL_NAMES.values() for name in names)


@cache  # a process may start several servers
def listed_tools(toolset: str) -> Sequence[Tool]:
    """Return the mcp tools of a toolset."""
    return [registered(spec) for spec in TOOLS[toolset]]
