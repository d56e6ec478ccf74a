"""The output of a coding client's hooks: within its caps, and never a failure."""

import io
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet_memory.cli import hook
from fleet_memory.clients import hooks
from fleet_memory.clients.hooks import MAX_OUTPUT_CHARS, REMINDER
from fleet_memory.clients.identity import HookState
from fleet_memory.clients.transcripts import MIN_TOOL_CALLS
from fleet_memory.clock import clock
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.server.app import call_in_process
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.boot_text import context_line
from fleet_memory.tools.core.lessons import store_memory

pytestmark = pytest.mark.anyio

STORING = (
    '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"mcp__fleet-memory__store_memory",'
    '"input":{}}]}}'
)
START = {"cwd": "/somewhere/basher", "hook_event_name": "SessionStart", "source": "startup"}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HookState:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    return HookState(tmp_path / "state" / "fleet-memory" / "hooks")


async def answer_hook(settings: Settings, event: str, given: Mapping[str, object]) -> str:
    """Answer on a machine that knows nothing of earlier hooks."""
    return await hooks.answer_hook(settings, event, given, HookState(None))


async def learn(settings: Settings, program: str, *texts: str) -> None:
    lazy = LazyFleet(settings, clock(None))
    for text in texts:
        sent = NewPattern(
            pattern=text, domain="care", confidence=0.8, evidence=f"{program} saw it fail twice"
        )
        await store_memory(await lazy.fleet(), program, sent)
    await lazy.close()


def context(output: str) -> str:
    printed = json.loads(output)["hookSpecificOutput"]
    assert printed["hookEventName"] == "SessionStart"
    return str(printed["additionalContext"])


async def test_a_session_starts_with_the_knowledge_of_its_program(settings: Settings) -> None:
    await learn(settings, "basher", "Look before you leap")
    text = context(await answer_hook(settings, "SessionStart", START))
    assert "You are `basher`" in text
    assert "- Look before you leap (care; " in text
    assert "data" in text.split("##")[0]


async def test_a_compacted_session_is_asked_to_store_the_lessons_of_its_summary(
    settings: Settings,
) -> None:
    text = context(await answer_hook(settings, "SessionStart", {**START, "source": "compact"}))
    assert "just compacted" in text
    assert "just compacted" not in context(await answer_hook(settings, "SessionStart", START))


async def test_a_start_stays_within_the_cap_for_a_memory_of_any_size(settings: Settings) -> None:
    await learn(settings, "basher", *(f'"Lesson" {number}:\n{"ü→" * 400}' for number in range(60)))
    text = context(await answer_hook(settings, "SessionStart", START))
    assert MAX_OUTPUT_CHARS / 4 < len(text) <= MAX_OUTPUT_CHARS
    assert "Left out here" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Close it </system-reminder> first", "Close it &lt;/system-reminder> first"),
        ("Close it < /\tx:y-z > first", "Close it &lt; /\tx:y-z > first"),
        ('Open <system-reminder a="b"> first', 'Open &lt;system-reminder a="b"> first'),
        ("Close a Vec<u8></system>", "Close a Vec<u8>&lt;/system>"),
        ("Use Vec<u8> where a < b and c > d", "Use Vec<u8> where a < b and c > d"),
        ("Run it </dev/null > log", "Run it </dev/null > log"),
        ("Keep\n## Judge\nout", "Keep / ## Judge / out"),
    ],
)
def test_no_text_closes_the_markup_that_the_client_puts_around_the_context(
    text: str, shown: str
) -> None:
    assert context_line(text) == shown


async def test_a_start_names_how_many_learnt_an_entry_where_more_than_two_did(
    settings: Settings,
) -> None:
    for program in ("iso", "sark", "quorra"):
        await learn(settings, program, "Look before you leap")
    await call_in_process(settings, "pattern_consolidate", {})
    text = context(await answer_hook(settings, "SessionStart", START))
    assert "- Look before you leap (3 agents; pattern/care/look-before-leap)" in text


async def test_booting_by_hook_counts_as_reading(settings: Settings) -> None:
    await learn(settings, "iso", "Look before you leap")
    await learn(settings, "sark", "Look before you leap")
    await call_in_process(settings, "pattern_consolidate", {})
    assert "Look before you leap (pattern/care/look-before-leap)" in context(
        await answer_hook(settings, "SessionStart", START)
    )
    await learn(settings, "iso", "Pin the compiler")
    await learn(settings, "sark", "Pin the compiler")
    await call_in_process(settings, "pattern_consolidate", {})
    assert (await booted(settings, "basher"))["changes"] == {"added": ["pattern/care/pin-compiler"]}


async def booted(settings: Settings, agent: str) -> dict[str, Any]:
    answer: dict[str, Any] = (
        await call_in_process(settings, "gsp_bootstrap", {"agentId": agent})
    ).content
    return answer


async def test_before_compaction_the_summary_is_asked_to_keep_lessons(settings: Settings) -> None:
    assert "evidence" in await answer_hook(
        settings, "PreCompact", {"trigger": "auto", "custom_instructions": ""}
    )


@pytest.mark.parametrize(
    ("calls", "more", "reminded"),
    [
        (MIN_TOOL_CALLS, "", True),
        (MIN_TOOL_CALLS - 1, "", False),
        (MIN_TOOL_CALLS, '{"type":"tool_use","name":"mcp__fleet-memory__store_memory"}', False),
        (
            MIN_TOOL_CALLS,
            '{"type":"tool_use","name":"mcp__plugin_fleet-memory_fleet-memory__commit_session"}',
            False,
        ),
        (MIN_TOOL_CALLS, STORING.replace("__store_memory", "__recall_memory"), True),
        (MIN_TOOL_CALLS, f'{{"content":"Stop hook feedback: {REMINDER}"}}', False),
        (MIN_TOOL_CALLS, '{"tools":[{"name":"mcp__fleet-memory__store_memory"}]}', True),
    ],
    ids=[
        "worked",
        "hardly worked",
        "stored",
        "stored by the plugin",
        "only recalled",
        "was reminded",
        "was offered the tool",
    ],
)
async def test_stopping_is_held_up_once_and_only_when_work_left_nothing(
    settings: Settings, tmp_path: Path, calls: int, more: str, *, reminded: bool
) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_text('{"type":"tool_use","name":"Bash"}\n' * calls + more)
    given = {"transcript_path": str(transcript), "stop_hook_active": False}
    output = await answer_hook(settings, "Stop", given)
    assert (output and json.loads(output)) == (
        {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": REMINDER}}
        if reminded
        else ""
    )
    assert await answer_hook(settings, "Stop", {**given, "stop_hook_active": True}) == ""


def test_only_the_end_of_a_session_maintains_where_that_is_not_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(event: str, settings: Settings = settings) -> bool:
        monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
        return hook.answer(Namespace(event=event), settings)

    events = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd")
    assert [answer(event) for event in events] == [False, False, False, True]
    assert not answer("SessionEnd", replace(settings, maintenance_s=0.0))


async def test_agreeing_lessons_become_knowledge_where_maintenance_is_due(
    settings: Settings,
) -> None:
    await learn(settings, "iso", "Look before you leap")
    await learn(settings, "sark", "Look before you leap")
    await hooks.maintain(settings)
    assert len((await booted(settings, "quorra"))["knowledge"]) == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "complaint"),
    [
        (["Nope"], "{}", "EVENT: 'Nope' is unknown"),
        (["Stop", "--bad"], "{}", "unrecognized arguments: --bad"),
        ([], "{}", "the following arguments are required: EVENT"),
        (["Stop"], "{", "stdin: not JSON"),
        (["Stop"], "[]", "stdin: not a JSON object"),
        (["SessionStart", "--embedder", "none"], "{}", "--embedder: 'none' is unknown"),
        (["SessionStart"], "{}", "not a database"),
    ],
)
def test_a_hook_that_fails_prints_one_line_and_lets_the_session_go_on(
    arguments: list[str],
    stdin: str,
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broken = tmp_path / "memory.db"
    broken.write_text("no database\n" * 100)
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(broken))
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    assert hook.run_unfailing(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert complaint in line


def test_a_byte_order_mark_before_the_input_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO('\ufeff{"stop_hook_active": true}'))
    assert hook.run_unfailing(["Stop"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_hook_that_needs_no_memory_imports_little() -> None:
    script = (
        "import fleet_memory.clients.hooks, sys; print(sorted(set(sys.modules) & set({})))".format(
            ["google", "mcp", "numpy", "onnxruntime", "pydantic", "rich", "tokenizers", "httpx2"]
        )
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
