"""The Claude Code plugin: complete, of this version, and the same hooks that `install` writes."""

import json
import re
from pathlib import Path
from typing import Any

from fleet_memory import __version__
from fleet_memory.clients.entries import EVENTS, put_hooks
from fleet_memory.clients.files import Config
from fleet_memory.settings import load
from tests.matrix import names_of

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "plugin"


def read(path: str) -> Any:  # noqa: ANN401 - JSON
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_the_plugin_is_of_this_version_and_the_marketplace_offers_it() -> None:
    manifest = read("plugin/.claude-plugin/plugin.json")
    (offered,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert manifest["version"] == __version__
    assert (offered["name"], (ROOT / offered["source"]).resolve()) == (
        manifest["name"],
        PLUGIN.resolve(),
    )


def test_its_hooks_are_those_that_install_writes() -> None:
    commands = {event: f"fleet-memory hook {event}" for event in EVENTS}
    installed = Config()
    put_hooks(commands)(installed)
    of_plugin = read("plugin/hooks/hooks.json")["hooks"]
    assert of_plugin == installed["hooks"]


def test_its_server_starts_with_tools_that_exist() -> None:
    server = read("plugin/.mcp.json")["mcpServers"]["fleet-memory"]
    command, *flags = server["args"]
    assert (server["command"], command) == ("fleet-memory", "serve")
    settings = load(
        dict(zip((flag.removeprefix("--") for flag in flags[::2]), flags[1::2], strict=True)), {}
    )
    assert "commit_session" in names_of(*settings.toolsets)


def test_its_skill_names_only_tools_that_it_offers() -> None:
    text = (PLUGIN / "skills" / "fleet-memory" / "SKILL.md").read_text(encoding="utf-8")
    _, head, body = text.split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    assert fields.keys() == {"name", "description"}
    assert len(fields["description"]) <= 1024  # what clients read of it
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", body))
    assert (
        {"store_memory", "recall_memory", "reinforce_memory"}
        <= named
        <= names_of("core", "session")
    )
