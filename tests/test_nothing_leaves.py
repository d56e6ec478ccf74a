"""Nothing leaves the machine and nothing is left on it but the memory: a real server, every tool, the real model."""

import os
import platform
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.children.serve_without_internet import SOCKET

pytestmark = pytest.mark.anyio

CHILD = str(Path(__file__).parent / "children" / "serve_without_internet.py")
IS_WATCHED = sys.platform == "linux" and platform.machine() in SOCKET
SERVE = [CHILD] if IS_WATCHED else ["-m", "fleet_memory"]
LESSON = {"pattern": "Deploys go through the blue cluster", "domain": "deployment", "confidence": 0.9, "evidence": ""}
OTHER = LESSON | {"pattern": "Read the log before you restart a pod", "id": "log-first"}
KEY = "pattern/deployment/deploys-go-through-blue-cluster"
CALLS: Mapping[str, dict[str, object]] = {
    "gsp_bootstrap": {"agentId": "basher", "task": "roll a release out"},
    "store_memory": {"programId": "basher", "pattern": OTHER},
    "commit_session": {"programId": "basher", "patterns": [LESSON], "handoff": "Half done"},
    "reinforce_memory": {"programId": "basher", "patternId": "log-first", "evidence": "It helped"},
    "pattern_consolidate": {},
    "recall_memory": {"programId": "basher", "query": "how do deploys work?"},
    "memory_health": {"programId": "basher"},
    "get_program_state": {"programId": "basher"},
    "update_program_state": {"programId": "basher", "config": {"region": "eu"}},
    "write_note": {"programId": "basher", "text": "Ask about the quota"},
    "forget_memory": {"programId": "basher", "patternId": "log-first", "reason": "was wrong"},
    "gsp_search": {"query": "deploys"},
    "gsp_read": {"key": KEY},
    "gsp_diff": {"sinceVersion": 0},
    "fleet_health": {},
}
HOME_VARIABLES = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "CODEX_HOME", "CLAUDE_CONFIG_DIR")
XDG_VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")


async def test_every_tool_leaves_the_home_empty_and_opens_no_internet_socket(tmp_path: Path) -> None:
    home, memory = tmp_path / "home", tmp_path / "memory"
    home.mkdir()
    memory.mkdir()
    places = dict.fromkeys((*HOME_VARIABLES, *XDG_VARIABLES, *TEMPORARY_VARIABLES), str(home))
    settings = {"FLEET_MEMORY_STORE": str(memory / "memory.db"), "FLEET_MEMORY_TOOLSETS": "all"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")}
    inherited.pop("ORT_DISABLE_TELEMETRY", None)
    server = StdioServerParameters(command=sys.executable, args=SERVE, env=inherited | places | settings)
    with anyio.fail_after(60):
        async with Client(server) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == CALLS.keys()
            await client.call_tool("store_memory", {"programId": "wren", "pattern": LESSON})
            for tool, arguments in CALLS.items():
                answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, (tool, answer.content)
    assert [str(path.relative_to(home)) for path in home.rglob("*")] == []
    assert {path.name for path in memory.iterdir()} <= {"memory.db", "memory.db-wal", "memory.db-shm"}


@pytest.mark.skipif(not IS_WATCHED, reason="only Linux's kernel watches")
async def test_an_internet_socket_would_have_ended_that_server() -> None:
    done = await anyio.run_process([sys.executable, CHILD, "open"], check=False)
    assert done.returncode == -signal.SIGSYS


def test_the_image_has_the_telemetry_off_for_every_program_in_it() -> None:
    dockerfile = (Path(__file__).parent.parent / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^ENV (?:.*\\\n)*.*\bORT_DISABLE_TELEMETRY=1\b", dockerfile, re.MULTILINE)
