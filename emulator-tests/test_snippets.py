"""The scripts of docs/integration.md, run as they stand, and that of docs/http.md at a service of
this machine.
"""

import json
import os
import re
import sys
from pathlib import Path

import anyio
import pytest
from web_agents import tokens_of, web_agent

from tests.bounds import HANG_S
from tests.http_server import http_server

pytestmark = pytest.mark.anyio

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "integration.md").read_text(encoding="utf-8")
HTTP_PAGE = (DOCS / "http.md").read_text(encoding="utf-8")
REFUSAL = "MCPError: Server returned an error response"


async def test_the_scripts_hand_one_session_over_to_the_next(
    tmp_path: Path, store_address: str
) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        **os.environ,
        "PATH": path,
        "FLEET_MEMORY_STORE": store_address,
        "HOME": str(tmp_path),
    }
    boot, shutdown = re.findall(r"```sh\n(.+?)```", PAGE, re.DOTALL)
    (program,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    told = []
    with anyio.fail_after(HANG_S):
        for command in (
            ["sh", "-ec", boot],
            ["sh", "-ec", shutdown],
            ["sh", "-ec", shutdown],
            [sys.executable, "-c", program],
            ["sh", "-ec", boot],
        ):
            done = await anyio.run_process(command, cwd=tmp_path, env=environment)
            told.append(done.stdout.decode())
    first, again = map(json.loads, told[1:3])
    assert [each["status"] for each in first["patterns"]] == ["created"]
    assert again == {
        "programId": first["programId"],
        "repeated": True,
        "failed": 0,
        "version": first["version"],
    }
    assert "Task 17 waits for a review" in told[3]
    booted = json.loads((tmp_path / "boot.json").read_text(encoding="utf-8"))
    assert booted["program"]["contextSummary"]["handoffNotes"] == "Task 17 is merged"
    assert len(booted["patterns"]) == 1


async def test_the_program_for_a_service_recalls_by_its_token_and_shows_the_refusal_of_another(
    store_address: str,
) -> None:
    (program,) = re.findall(r"```python\n(.+?)```", HTTP_PAGE, re.DOTALL)
    [token] = await tokens_of(store_address, ["basher"])
    with http_server(store_address) as server, anyio.fail_after(HANG_S):
        async with web_agent(server.url, token) as agent:
            lesson = {
                "pattern": "Deploy on green",
                "domain": "ci",
                "confidence": 0.8,
                "evidence": "seen",
            }
            await agent.call("store_memory", pattern=lesson)
        here = program.replace("https://mem.example.com/mcp", server.url)
        good, refused = [
            await anyio.run_process(
                [sys.executable, "-c", here],
                env={**os.environ, "FLEET_MEMORY_TOKEN": shown},
                check=False,
            )
            for shown in (token, "fm_garbage")
        ]
    assert "Deploy on green" in good.stdout.decode(), good.stderr.decode()
    assert REFUSAL.partition(": ")[2] in refused.stderr.decode()
    assert f"`{REFUSAL}`" in HTTP_PAGE
