"""The hook command as a coding client runs it: a process of its own, JSON on stdin, and never a
failed session.
"""

import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

COMMON = {
    "session_id": "3f9a-11",
    "transcript_path": "",
    "cwd": "/projects/basher",
    "permission_mode": "default",
}
# As documented for each event
EVENTS: dict[str, dict[str, object]] = {
    "SessionStart": {"source": "startup", "model": "some-model"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "Explore"},
    "UserPromptSubmit": {"prompt": "claim the next task"},
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "make all"}},
    "PostToolUseFailure": {"tool_name": "Bash", "tool_input": {}, "error": "Exit code 2"},
    "PreCompact": {"trigger": "manual", "custom_instructions": "keep the plan"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "SessionEnd": {"reason": "prompt_input_exit"},
}


class Done(NamedTuple):
    """How a hook ended."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def state_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the hooks' state of names and sessions with the test: one that ran before would count as
    the same.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def hook(event: str, store: str, given: object, **variables: str) -> Done:
    settings = {"FLEET_MEMORY_STORE": store, "FLEET_MEMORY_EMBEDDER": "minilm"} | variables
    command = [*forked.words(), "hook", event]
    with anyio.fail_after(HANG_S):
        done = await anyio.run_process(
            command, input=json.dumps(given).encode(), check=False, env={**os.environ, **settings}
        )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("event", EVENTS)
async def test_each_event_is_answered_on_every_store(event: str, store_address: str) -> None:
    given = {**COMMON, **EVENTS[event], "hook_event_name": event}
    done = await hook(event, store_address, given, FLEET_MEMORY_MAINTENANCE="off")
    assert (done.code, done.err) == (0, "")
    assert len(done.out) <= 10_000
    assert bool(done.out) == (event in ("SessionStart", "SubagentStart", "PreCompact"))
    if event == "SessionStart":
        assert "You are `basher`" in json.loads(done.out)["hookSpecificOutput"]["additionalContext"]


async def test_a_locked_memory_holds_no_session_up(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    await hook("SessionStart", str(file), COMMON)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("begin exclusive")
        done = await hook("SessionStart", str(file), {**COMMON, "cwd": "/elsewhere/sark"})
    assert done.code == 0
    assert (
        len(done.err.splitlines()) <= 1
    )  # reading goes on during a write; only a write would wait


async def test_an_unreachable_memory_holds_no_session_up() -> None:
    done = await hook(
        "SessionStart", "firestore://nobody", COMMON, FIRESTORE_EMULATOR_HOST="127.0.0.1:1"
    )
    assert (done.code, done.out) == (0, "")
    (line,) = done.err.splitlines()
    assert line.startswith("fleet-memory: hook: ")


async def test_a_client_that_never_closes_stdin_is_not_waited_for(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "fleet_memory",
        "hook",
        "Stop",
        "--store",
        str(tmp_path / "memory.db"),
    ]
    with anyio.fail_after(HANG_S):
        async with await anyio.open_process(command) as process:
            assert process.stderr is not None
            line = (await process.stderr.receive()).decode()
            assert await process.wait() == 0
    assert "no answer within" in line
