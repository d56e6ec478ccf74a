"""Nothing leaves the machine and nothing is left on it but the memory: a real server, every tool,
the real model.
"""

import os
import platform
import re
import signal
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.bounds import HANG_S
from tests.children.serve_without_internet import SOCKET
from tests.matrix import STORED, arguments_of

pytestmark = pytest.mark.anyio

CHILD = str(Path(__file__).parent / "children" / "serve_without_internet.py")
IS_WATCHED = sys.platform == "linux" and platform.machine() in SOCKET
SERVE = [CHILD] if IS_WATCHED else ["-m", "fleet_memory"]
LESSON = {
    "pattern": "Deploys go through the blue cluster",
    "domain": "deployment",
    "confidence": 0.9,
    "evidence": "",
}
OTHERS = [
    LESSON | {"pattern": f"Read the log before you restart {name}", "id": name} for name in STORED
]
KEY = "pattern/deployment/deploys-go-through-blue-cluster"
HOME_VARIABLES = (
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
)
XDG_VARIABLES = (
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
)
TEMPORARY_VARIABLES = ("TMPDIR", "TMP", "TEMP")


async def test_every_tool_leaves_the_home_empty_and_opens_no_internet_socket(
    tmp_path: Path,
) -> None:
    home, memory = tmp_path / "home", tmp_path / "memory"
    home.mkdir()
    memory.mkdir()
    places = dict.fromkeys((*HOME_VARIABLES, *XDG_VARIABLES, *TEMPORARY_VARIABLES), str(home))
    settings = {"FLEET_MEMORY_STORE": str(memory / "memory.db"), "FLEET_MEMORY_TOOLSETS": "all"}
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    inherited.pop("ORT_DISABLE_TELEMETRY", None)
    server = StdioServerParameters(
        command=sys.executable, args=SERVE, env=inherited | places | settings
    )
    with anyio.fail_after(HANG_S):
        async with Client(server) as client:
            for program, lessons in (("wren", []), ("basher", OTHERS)):
                shared = LESSON | {"evidence": f"{program} saw it fail twice"}
                await client.call_tool(
                    "commit_session", {"programId": program, "patterns": [shared, *lessons]}
                )
            await client.call_tool("pattern_consolidate", {})
            for tool in (await client.list_tools()).tools:
                sent = arguments_of(tool.name, "basher") | (
                    {"key": KEY} if tool.name == "gsp_read" else {}
                )
                answer = await client.call_tool(tool.name, sent)
                assert not answer.is_error, (tool.name, answer.content)
    assert [str(path.relative_to(home)) for path in home.rglob("*")] == []
    assert {path.name for path in memory.iterdir()} <= {
        "memory.db",
        "memory.db-wal",
        "memory.db-shm",
    }


@pytest.mark.skipif(not IS_WATCHED, reason="only Linux's kernel watches")
async def test_an_internet_socket_would_have_ended_that_server() -> None:
    done = await anyio.run_process([sys.executable, CHILD, "open"], check=False)
    assert done.returncode == -signal.SIGSYS


def test_the_image_has_the_telemetry_off_for_every_program_in_it() -> None:
    dockerfile = (Path(__file__).parent.parent / "Dockerfile").read_text(encoding="utf-8")
    assert re.search(r"^ENV (?:.*\\\n)*.*\bORT_DISABLE_TELEMETRY=1\b", dockerfile, re.MULTILINE)
