"""Whether a client's model comes to see the tools: clients hide them behind a search.

Claude Code's pages, read in November 2026: code.claude.com/docs/en/mcp, "Exempt a server from
deferral" (`alwaysLoad` of a server since 2.1.121, `_meta` of one tool) and "Plugin-provided MCP
servers" (names of tools); code.claude.com/docs/en/plugins-reference, "Environment variables".
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client

from fleet_memory.clients.hooks import answer_hook
from fleet_memory.clients.identity import HookState
from fleet_memory.settings import Settings
from tests.matrix import SPECS

PLUGIN = Path(__file__).parents[1] / "plugin"
EVENTS = ("SessionStart", "SubagentStart")


@pytest.mark.anyio
async def test_a_client_is_asked_to_load_the_two_tools_of_every_task_and_told_how_to_find_the_rest(
    full_client: Client,
) -> None:
    tools = (await full_client.list_tools()).tools
    meta = {tool.name: tool.meta or {} for tool in tools}
    loaded = {name for name, each in meta.items() if each.get("anthropic/alwaysLoad") is True}
    assert loaded == {"recall_memory", "store_memory"}
    for tool in tools:
        hint = meta[tool.name]["anthropic/searchHint"]
        assert tool.title
        assert re.fullmatch(r"[a-z][a-z,: ]{12,60}", hint), hint
    assert len({each["anthropic/searchHint"] for each in meta.values()}) == len(tools)


def test_each_description_begins_with_the_moment_to_call_its_tool() -> None:
    for tool in SPECS.values():
        first = " ".join((tool.function.__doc__ or "").split())
        assert re.match(r"(Before|When|At) [^.:]{8,90}: [a-z]", first), first


def added(settings: Settings, folder: Path, event: str) -> str:
    """Return the context that a hook adds at the start of a session or of a subagent."""
    given = {"session_id": "s1", "source": "startup", "agent_id": "a", "agent_type": "reviewer"}
    output = anyio.run(answer_hook, settings, event, given, HookState(folder / "state"))
    context: str = json.loads(output)["hookSpecificOutput"]["additionalContext"]
    return context


@pytest.mark.parametrize("event", EVENTS)
def test_a_start_names_the_tools_to_load_as_the_client_calls_them(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    settings = replace(settings, folder=tmp_path / "shop")
    monkeypatch.delenv("CLAUDE_PLUGIN_ROOT", raising=False)
    assert "`select:mcp__fleet-memory__recall_memory,mcp__fleet-memory__store_memory," in added(
        settings, tmp_path / "one", event
    )
    monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(PLUGIN))
    name = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))["name"]
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"]
    assert f"`select:mcp__plugin_{name}_{server}__recall_memory," in added(
        settings, tmp_path / "two", event
    )
