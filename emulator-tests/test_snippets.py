"""The scripts of docs/integration.md, run as they stand."""

import json
import os
import re
import sys
from pathlib import Path

import anyio
import pytest

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parent.parent / "docs" / "integration.md").read_text(encoding="utf-8")


async def test_the_scripts_hand_one_session_over_to_the_next(tmp_path: Path, store_address: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "FLEET_MEMORY_STORE": store_address, "HOME": str(tmp_path)}
    boot, shutdown = re.findall(r"```sh\n(.+?)```", PAGE, re.DOTALL)
    (program,) = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    told = []
    with anyio.fail_after(120):
        for command in (
            ["sh", "-ec", boot],
            ["sh", "-ec", shutdown],
            ["sh", "-ec", shutdown],
            [sys.executable, "-c", program],
            ["sh", "-ec", boot],
        ):
            done = await anyio.run_process(command, cwd=tmp_path, env=environment)
            told.append(done.stdout.decode())
    assert json.loads(told[1])["patterns"] == json.loads(told[2])["patterns"]
    assert "Task 17 waits for a review" in told[3]
    booted = json.loads((tmp_path / "boot.json").read_text(encoding="utf-8"))
    assert booted["program"]["contextSummary"]["handoffNotes"] == "Task 17 is merged"
    assert len(booted["patterns"]) == 1
