"""The lessons that a session reads unasked: at its start, and those that fit a prompt."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.clients.clients import NAME
from fleet_memory.clients.identity import short_hash
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.jobs.prompting import lessons_for_prompt
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.boot_text import boot_lines, prompt_text

BOOT_TOKENS: Final = 2_200  # leaves room for titles under the cap of a hook's output
SUBAGENT_TOKENS: Final = 700  # chosen: a subagent has one task, and its lessons are of that task
TO_LOAD: Final = ("recall_memory", "store_memory", "reinforce_memory")
_HASH_CHARS: Final = 12  # a session reads some hundred lessons


class Reading(NamedTuple):
    """Lines for an agent, and hashes of the ids and keys of the lessons in them, which are made of
    a lesson's words.
    """

    lines: Sequence[str] = ()
    shown: Sequence[str] = ()


async def boot_for(settings: Settings, agent: str, *, is_subagent: bool = False) -> Reading:
    """Return the boot of an agent; of a subagent the essential alone, without pairs to judge.

    Raises the errors of opening a store.
    """

    async def boot(fleet: Fleet) -> Reading:
        if (
            is_subagent
        ):  # it leaves no trace: most subagents never store, and their types are no programs yet
            reader = replace(fleet, caller=Caller(role="auditor"))
            answer = await gsp_bootstrap(reader, agent, "essential", SUBAGENT_TOKENS)
        else:
            answer = await gsp_bootstrap(fleet, agent, max_tokens=BOOT_TOKENS)
        names = [entry.key for entry in (*answer.constitution, *answer.knowledge)]
        names += [lesson.id for lesson in answer.patterns]
        names += [lesson.id for lesson in answer.fading_soon or ()]
        title, who, *lines = boot_lines(answer)
        return Reading([title, who, _loading(), *lines], _hashes(names))

    return await with_fleet(settings, boot)


def _loading() -> str:
    """Return how to load the tools where Claude Code has hidden them behind its search, which it
    does with a plugin's whatever their `_meta` says. Sources: code.claude.com/docs/en/mcp,
    "Plugin-provided MCP servers"; anthropics/claude-code#56551.
    """
    server = f"plugin_{NAME}_{NAME}" if os.environ.get("CLAUDE_PLUGIN_ROOT") else NAME
    names = ",".join(f"mcp__{server}__{tool}" for tool in TO_LOAD)
    return f"If its tools are not loaded, load them first: ToolSearch with query `select:{names}`."


async def lessons_for(
    settings: Settings, agent: str, prompt: str, shown: Collection[str]
) -> Reading:
    """Return the lessons that fit a prompt well, none that is `shown`. Raises the errors of opening
    a store.
    """

    async def find(fleet: Fleet) -> Reading:
        fitting = {
            (lesson.id if isinstance(lesson, Pattern) else lesson.key): lesson
            for lesson in await lessons_for_prompt(fleet, agent, prompt)
        }
        new = {
            name: lesson
            for name, lesson in fitting.items()
            if short_hash(name, _HASH_CHARS) not in shown
        }
        text = prompt_text(agent, new, fleet.now())
        return Reading(text.lines, _hashes(text.names))

    return await with_fleet(settings, find)


def _hashes(names: Sequence[str]) -> list[str]:
    return [short_hash(name, _HASH_CHARS) for name in names]
