"""The toolset `knowledge`: searching, reading and comparing the fleet's knowledge."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import anyio
import pytest
from mcp import Client

from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.server.app import create_server
from fleet_memory.settings import TOOLSETS, Settings
from fleet_memory.tools.core.recall import EMPTY, NEAREST, UNMATCHED
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
ROTATE = "Rotate the log files once a day"
PINNED = "Pin the compiler to version 17"
KEY = knowledge_key("tasks", CLAIM)


class Caller:
    """A connected client; calling a tool returns its answer."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self._client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        answer: dict[str, Any] = result.structured_content
        return answer

    async def refused(self, tool: str, **arguments: object) -> str:
        result = await self._client.call_tool(tool, arguments)
        assert result.is_error
        return "".join(block.text for block in result.content if block.type == "text")


@pytest.fixture
async def call(settings: Settings) -> AsyncIterator[Caller]:
    with anyio.fail_after(HANG_S):
        async with Client(
            create_server(replace(settings, toolsets=TOOLSETS)), raise_exceptions=True
        ) as client:
            yield Caller(client)


async def learnt(call: Caller, text: str, *programs: str, domain: str = "tasks") -> None:
    for program in programs:
        lesson = {
            "pattern": text,
            "domain": domain,
            "confidence": 0.8,
            "evidence": f"{program} saw it fail twice",
        }
        await call("store_memory", programId=program, pattern=lesson)
    await call("pattern_consolidate")


async def contradicted(call: Caller, settings: Settings, *programs: str, key: str = KEY) -> None:
    """Let programs contradict the entry, each over a connection of its own: one origin."""
    for program in programs:
        told = {"outcome": "contradicted", "evidence": f"{program} saw otherwise"}
        async with Client(create_server(settings), raise_exceptions=True) as client:
            await Caller(client)("reinforce_memory", programId=program, patternId=key, **told)
    await call("pattern_consolidate")  # publishes now; otherwise it might wait for five seconds


def keys(answer: dict[str, Any], name: str = "knowledge") -> list[str]:
    return [entry["key"].rpartition("/")[2] for entry in answer[name]]


async def test_a_search_ranks_matches_and_leaves_out_retired_entries(
    call: Caller, settings: Settings
) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    await learnt(call, ROTATE, "iso", "sark", domain="logs")
    found = await call("gsp_search", query="may I claim this task", explain=True)
    assert keys(found)[0] == KEY.rpartition("/")[2]
    assert found["knowledge"][0]["explain"]["words"] > 0
    assert (found["total"], found["truncated"]) == (len(found["knowledge"]), False)
    await contradicted(call, settings, "basher", "quorra")
    assert keys(await call("gsp_search")) == ["rotate-log-files-once-day"]
    (retired,) = (await call("gsp_search", status="retired"))["knowledge"]
    assert (retired["key"], retired["status"]) == (KEY, "retired")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, 2),
        ({"domain": "logs"}, 1),
        ({"tier": "architectural"}, 2),
        ({"tier": "constitutional"}, 0),
        ({"status": "contested"}, 1),
        ({"status": "verify"}, 1),
        ({"status": "fresh"}, 0),
        ({"minConfidence": 0.9}, 0),
        ({"limit": 1}, 1),
    ],
    ids=str,
)
async def test_a_search_can_be_filtered(
    call: Caller, settings: Settings, filters: dict[str, object], found: int
) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    await learnt(call, ROTATE, "iso", "sark", domain="logs")
    await contradicted(call, settings, "basher")
    answer = await call("gsp_search", **filters)
    assert len(answer["knowledge"]) == found
    assert answer["truncated"] == ("limit" in filters)


async def test_an_entry_is_read_with_its_sources_and_its_history(
    call: Caller, settings: Settings
) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    await call("reinforce_memory", programId="iso", patternId=KEY, evidence="helped again")
    await contradicted(call, settings, "basher")
    entry = await call("gsp_read", key=KEY)
    assert (entry["status"], entry["evidenceCount"], entry["contributors"]) == (
        "contested",
        2,
        ["iso", "sark"],
    )
    assert [(line["programId"], line["evidence"]) for line in entry["provenance"]] == [
        ("iso", "iso saw it fail twice"),
        ("sark", "sark saw it fail twice"),
    ]
    assert [
        (word["programId"], word["evidence"])
        for word in entry["words"]
        if word["outcome"] == "contradicted"
    ] == [("basher", "basher saw otherwise")]
    assert [(line["event"], line["by"]) for line in entry["ledger"]] == [
        ("promoted", "maintainer"),
        ("contradicted", "basher"),
    ]
    assert entry["omitted"] == {}


async def test_a_long_history_shows_its_newest_twenty_lines(call: Caller) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    for number in range(30):
        outcome = "confirmed" if number % 2 else "contradicted"
        about = {
            "programId": "basher",
            "patternId": KEY,
            "outcome": outcome,
            "evidence": f"time {number}",
        }
        await call("reinforce_memory", **about)
    entry = await call("gsp_read", key=KEY, maxTokens=100_000)
    assert [line["why"] for line in entry["ledger"]] == [
        f"time {number}" for number in range(10, 30)
    ]
    assert entry["omitted"] == {}


async def test_a_budget_too_small_for_the_entry_itself_is_refused_with_the_budget_that_it_needs(
    call: Caller,
) -> None:
    long = "Look before you leap " * 40
    await learnt(call, long, "iso", "sark")
    (entry,) = (await call("gsp_search"))["knowledge"]
    told = await call.refused("gsp_read", key=entry["key"], maxTokens=200)
    needed = int(re.findall(r"maxTokens: the answer alone takes (\d+) tokens", told)[0])
    assert tokens(await call("gsp_read", key=entry["key"], maxTokens=needed)) <= needed


async def test_an_unknown_key_is_refused_with_the_close_ones(call: Caller) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    assert KEY in await call.refused("gsp_read", key=KEY[:-3])
    assert "recall_memory" in await call.refused("gsp_read", key="nothing-like-it")


async def test_a_diff_lists_the_entries_that_came_changed_and_left(
    call: Caller, settings: Settings
) -> None:
    await learnt(call, CLAIM, "iso", "sark")
    await learnt(call, ROTATE, "iso", "sark", domain="logs")
    known = (await call("gsp_search"))["knowledgeVersion"]
    assert (await call("gsp_diff", sinceVersion=known))["omitted"] == {}
    await learnt(call, PINNED, "iso", "sark", domain="build")
    logs = knowledge_key("logs", ROTATE)
    await contradicted(call, settings, "ram", key=logs)
    await contradicted(call, settings, "basher", "quorra")
    diff = await call("gsp_diff", sinceVersion=known)
    assert keys(diff, "added") == ["pin-compiler-version-17"]
    assert [(entry["key"], entry["status"]) for entry in diff["updated"]] == [(logs, "contested")]
    assert diff["retired"] == [KEY]
    whole = await call("gsp_diff", sinceVersion=0)
    assert (len(whole["added"]), whole["updated"], whole["retired"]) == (2, [], [])


async def test_a_version_from_elsewhere_is_refused(call: Caller) -> None:
    assert "has version 0" in await call.refused("gsp_diff", sinceVersion=7)


async def test_no_answer_exceeds_its_budget_and_omissions_are_counted(call: Caller) -> None:
    for number in range(12):
        text = f"Lesson {number} about the thing called {'xyz' * number}"
        for program in ("iso", "sark"):
            lesson = {
                "pattern": text,
                "domain": "tasks",
                "confidence": 0.8,
                "evidence": f"{program} saw it fail twice",
            }
            await call("store_memory", programId=program, pattern=lesson)
    await call("pattern_consolidate")
    for budget in (200, 300, 500, 800, 2_000):
        found = await call("gsp_search", maxTokens=budget)
        assert tokens(found) <= budget
        assert found["truncated"] == (len(found["knowledge"]) < 12)
        diff = await call("gsp_diff", sinceVersion=0, maxTokens=budget)
        assert tokens(diff) <= budget
        assert len(diff["added"]) + diff["omitted"].get("added", 0) == 12
        shown = [entry["key"] for entry in (*found["knowledge"], *diff["added"])]
        if shown and budget >= 300:  # an entry's own line takes some 220 tokens
            entry = await call("gsp_read", key=shown[0], maxTokens=budget)
            assert tokens(entry) <= budget
            assert len(entry["provenance"]) + entry["omitted"].get("provenance", 0) == 2


async def test_a_search_without_a_match_suggests_the_next_step(call: Caller) -> None:
    assert (await call("gsp_search", query="claim"))["note"] == EMPTY
    await learnt(call, CLAIM, "basher", "iso")
    assert "note" not in await call("gsp_search", query="check that a task is free")
    assert (await call("gsp_search", query="kubernetes"))["note"] == NEAREST
    other = await call(
        "gsp_search",
        query="which task does the payments team of the harbor project claim on mondays",
    )
    assert (other["note"], other["total"]) == (NEAREST, 1)


async def test_a_search_in_an_unused_domain_names_close_ones(call: Caller) -> None:
    await learnt(call, CLAIM, "basher", "iso")
    found = await call("gsp_search", domain="task")
    assert found["suggestions"] == ["tasks"]
    assert found["note"] == f"{UNMATCHED} Domains: tasks."
