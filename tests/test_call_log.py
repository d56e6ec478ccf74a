"""The JSON log: one line for each request at every log level, and no text of any call."""

import io
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from fleet_memory.clock import clock
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet, every_tool
from fleet_memory.server.observing.log import (
    PROVOKED_EVERY_S,
    REQUESTS,
    TEXT_FORMAT,
    JsonLines,
    SeldomWarnings,
    TextLines,
)
from fleet_memory.server.observing.requests import request_log
from fleet_memory.settings import TOOLSETS, Settings, load
from tests import forked
from tests.bounds import HANG_S
from tests.matrix import OF_AGENTS, arguments_of
from tests.test_nothing_leaves import LESSON

pytestmark = pytest.mark.anyio

Arguments: TypeAlias = dict[str, object]

FIELDS = [
    "time",
    "level",
    "logger",
    "requestId",
    "method",
    "program",
    "role",
    "token",
    "tool",
    "outcome",
    "ms",
]
COSTS = ["reads", "writes", "conflicts"]
PRIVATE = "the zebra ate 4711 figs"


@contextmanager
def json_log(level: str = "WARNING") -> Iterator[io.StringIO]:
    """Write the log of the block as a server with --log-format json does."""
    written, root, requests = io.StringIO(), logging.getLogger(), logging.getLogger(REQUESTS)
    handler, before = logging.StreamHandler(written), root.level
    handler.setFormatter(JsonLines())
    root.addHandler(handler)
    root.setLevel(level)
    requests.setLevel(logging.INFO)
    try:
        yield written
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        requests.setLevel(logging.NOTSET)


def lines(log: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.splitlines()]


def told(log: str, *names: str) -> list[tuple[object, ...]]:
    return [
        tuple(line[name] for name in names)
        for line in lines(log)
        if line.get("method") == "tools/call"
    ]


async def server_log(tmp_path: Path, *flags: str, calls: Mapping[str, Arguments]) -> str:
    """Return the stderr of a server over stdio after these calls."""
    command, *before = forked.words()
    words = [
        *before,
        "serve",
        "--store",
        str(tmp_path / "memory.db"),
        "--embedder",
        "lexical",
        *flags,
    ]
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    server = StdioServerParameters(command=command, args=words, env=inherited)
    log = tmp_path / "stderr.txt"
    with anyio.fail_after(HANG_S), log.open("w", encoding="utf-8") as stderr:
        async with Client(stdio_client(server, errlog=stderr)) as client:
            for tool, arguments in calls.items():
                await client.call_tool(tool, arguments)
    return log.read_text(encoding="utf-8")


async def test_each_request_is_one_line_with_its_caller_call_and_outcome(tmp_path: Path) -> None:
    calls: Mapping[str, Arguments] = {
        "store_memory": {"programId": "basher", "pattern": LESSON},
        "recall_memory": {"programId": "wren"},
        "forget": {},
    }
    log = await server_log(tmp_path, "--program", "basher", "--log-format", "json", calls=calls)
    assert all(list(line) == FIELDS + COSTS for line in lines(log))
    assert told(log, "level", "logger", "program", "role", "token", "tool", "outcome", *COSTS) == [
        ("INFO", REQUESTS, "basher", "agent", None, "store_memory", "ok", 1, 1, 0),
        ("INFO", REQUESTS, "basher", "agent", None, "recall_memory", "forbidden", 0, 0, 0),
        ("INFO", REQUESTS, "basher", "agent", None, "unknown", "invalid_argument", 0, 0, 0),
    ]


async def test_the_line_of_an_admins_call_names_its_tool(settings: Settings) -> None:
    lazy = LazyFleet(settings, clock(None))
    lazy.identified = lambda: Caller("flynn", "admin", "t1")
    with json_log() as log:
        async with Client(
            create_server(settings, lazy=lazy, middleware=[request_log(settings)])
        ) as client:
            await client.call_tool("retire_knowledge", {"key": "no/such", "why": "none"})
    await lazy.close()
    assert told(log.getvalue(), "program", "role", "tool") == [
        ("flynn", "admin", "retire_knowledge")
    ]


@pytest.mark.parametrize("formatter", [TextLines(TEXT_FORMAT), JsonLines()])
def test_a_message_is_one_short_line_without_control_characters(
    formatter: logging.Formatter,
) -> None:
    sent = "Invalid Host header: \x9b31m\x85\u202e\n2026-03-07 " + "é" * 60_000
    line = formatter.format(logging.LogRecord("mcp", logging.WARNING, "", 0, sent, None, None))
    message = json.loads(line)["message"] if line.startswith("{") else line.partition(" mcp: ")[2]
    assert message.rstrip("é…") == r"Invalid Host header: \x9b31m\x85\u202e\n2026-03-07 "
    assert (len(message) < 1_100, line.isprintable()) == (True, True)


async def test_a_log_of_text_has_no_line_of_a_call_that_went_well(tmp_path: Path) -> None:
    assert await server_log(tmp_path, calls={"memory_health": {"programId": "basher"}}) == ""


async def test_a_log_of_everything_has_no_text_of_a_call(tmp_path: Path) -> None:
    lesson = LESSON | {"pattern": PRIVATE, "evidence": PRIVATE, "id": "figs"}
    calls: dict[str, Arguments] = {
        **{tool: arguments_of(tool, "basher") for tool in OF_AGENTS},
        "store_memory": {"programId": "basher", "pattern": lesson},
        PRIVATE: {PRIVATE: PRIVATE},
    }
    calls["recall_memory"] = {"programId": "basher", "query": PRIVATE}
    flags = ["--log-format", "json", "--log-level", "DEBUG", "--toolsets", "all"]
    log = await server_log(tmp_path, *flags, calls=calls)
    assert [tool for (tool,) in told(log, "tool")] == [*OF_AGENTS, "unknown"]
    assert PRIVATE not in log


async def test_the_line_of_a_prompt_and_of_an_unknown_method(settings: Settings) -> None:
    with json_log() as log:
        async with Client(create_server(settings, middleware=[request_log(settings)])) as client:
            with pytest.raises(MCPError):
                await client.get_prompt(PRIVATE)
    assert [(line["method"], line["outcome"], line["tool"]) for line in lines(log.getvalue())][
        -1
    ] == (
        "prompts/get",
        "-32602",
        None,
    )
    assert PRIVATE not in log.getvalue()


def test_a_warning_that_anybody_can_cause_is_logged_once_a_minute_and_each_error() -> None:
    seconds = 100.0
    seldom = SeldomWarnings(lambda: seconds)

    def passes(line: int, level: int = logging.WARNING) -> bool:
        return seldom.filter(
            logging.LogRecord("uvicorn.error", level, "h11_impl.py", line, "Invalid", None, None)
        )

    assert [passes(184), passes(184), passes(159), passes(184, logging.ERROR)] == [
        True,
        False,
        True,
        True,
    ]
    seconds += PROVOKED_EVERY_S
    assert passes(184)


def test_an_exception_is_its_type_and_its_places_without_its_message() -> None:
    with json_log() as log:
        try:
            int(PRIVATE)
        except ValueError:
            logging.getLogger("fleet_memory").exception("maintenance failed")
    (line,) = lines(log.getvalue())
    assert (line["level"], line["logger"], line["message"], line["error"]) == (
        "ERROR",
        "fleet_memory",
        "maintenance failed",
        "ValueError",
    )
    assert str(line["at"]).startswith("['test_call_log.py:")
    assert PRIVATE not in log.getvalue()


# begins each text of a call that the schema does not know, so that no line of ours has it by chance
MARK = "zebra"
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Z"]), max_size=40).map(
    MARK.__add__
)
VALUES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
)
NAMES = (
    "programId",
    "agentId",
    "pattern",
    "evidence",
    "query",
    "domain",
    "patternId",
    "key",
    "task",
    "handoff",
    "text",
)
ARGUMENTS = st.dictionaries(st.sampled_from(NAMES) | WORDS, VALUES, max_size=4)


@given(st.sampled_from(every_tool()) | WORDS, ARGUMENTS)
def test_no_argument_of_any_call_is_in_the_log(tool: str, arguments: dict[str, object]) -> None:
    assert MARK not in anyio.run(log_of_call, tool, arguments)


async def log_of_call(tool: str, arguments: dict[str, object]) -> str:
    nowhere = replace(
        load({"store": "/nowhere/memory.db", "embedder": "lexical"}, {}), toolsets=TOOLSETS
    )
    with json_log() as log, anyio.fail_after(HANG_S):
        async with Client(create_server(nowhere, middleware=[request_log(nowhere)])) as client:
            await client.call_tool(tool, arguments)
    return log.getvalue()
