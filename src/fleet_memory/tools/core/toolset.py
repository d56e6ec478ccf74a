"""The tools of `core`, which every agent needs: boot, recall, store, reinforce, judge."""

import json
from typing import Annotated, Final, TypeAlias

from pydantic import Field

from fleet_memory.fleet import PromptTask, Tool, Toolset
from fleet_memory.schemas.fields import Name
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.shared import TEXTS

AgentId: TypeAlias = Annotated[Name, Field(description="The agent's program, e.g. basher")]
TaskText: TypeAlias = Annotated[str, Field(max_length=1000, description="What it is about to do")]


async def boot(agent_id: AgentId, task: TaskText = "") -> str:
    """Return the prompt to boot."""
    about = f" and task {json.dumps(task, ensure_ascii=False)}" if task else ""
    return TEXTS["boot"].format(agent_id=agent_id, task=about)


async def end_of_session(agent_id: AgentId) -> str:
    """Return the prompt to leave a session in order."""
    return TEXTS["end_of_session"].format(agent_id=agent_id)


async def consolidate_review() -> str:
    """Return the prompt that leads an agent through the pairs that wait for judgement."""
    return TEXTS["consolidate_review"]


_PROMPTS: Final = (
    PromptTask(boot, "Boot", "Read what the fleet and this agent know, before the work starts."),
    PromptTask(
        end_of_session,
        "End the session",
        "Store what the session taught, say which lessons held, and hand over.",
    ),
    PromptTask(
        consolidate_review,
        "Review what may be the same",
        "Judge the pairs of lessons that may be the same, as your own program.",
    ),
)


_TOOLS: Final = (
    Tool(
        gsp_bootstrap,
        "Boot an agent",
        "start of session, lessons, handoff",
        "writes",  # it notes which knowledge the agent has read
        "program",
    ),
    Tool(
        recall_memory, "Recall lessons", "remember, known problems", "reads", "program", loaded=True
    ),
    Tool(store_memory, "Store a lesson", "remember, save lesson", "writes", "own", loaded=True),
    Tool(reinforce_memory, "Reinforce a lesson", "lesson helped or was wrong", "adds", "own"),
    Tool(memory_health, "Show memory health", "memory status, fading lessons", "reads", "program"),
    Tool(pattern_consolidate, "Consolidate lessons", "judge pairs of lessons", "writes", "judging"),
)
CORE_TOOLS: Final = Toolset(
    "core",
    _TOOLS,
    instructions=TEXTS["instructions"].splitlines(),
    prompts=_PROMPTS,
)
