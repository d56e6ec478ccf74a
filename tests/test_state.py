"""A program's state: merged part by part, versioned, bounded, with a history."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from pydantic import JsonValue

from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.lifecycle.state import (
    MAX_STATE_BYTES,
    Stated,
    StatePatch,
    apply_patch,
    stated,
    too_large,
)
from fleet_memory.schemas.programs import DecayConfig, PastSummary
from fleet_memory.settings import TOOLSETS, load
from tests.calls import call, refusal
from tests.lessons import START, days, pattern, program

pytestmark = pytest.mark.anyio


@pytest.fixture
def client(full_client: Client) -> Client:
    return full_client


async def state(client: Client) -> dict[str, Any]:
    return await call(client, "get_program_state")


# Source: RFC 7396, appendix A; a patch that is no object replaces, which no argument of ours can be
RFC_7396 = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC_7396)
def test_a_patch_is_merged_as_the_rfc_defines(
    target: JsonValue, patch: JsonValue, result: JsonValue
) -> None:
    assert apply_patch(target, patch) == result


JSON = st.recursive(
    st.integers() | st.text(max_size=3), lambda inner: st.dictionaries(st.text(max_size=2), inner)
)


@given(JSON, JSON)
def test_a_patch_applied_twice_is_applied_once(target: JsonValue, patch: JsonValue) -> None:
    assert apply_patch(apply_patch(target, patch), patch) == apply_patch(target, patch)


def test_a_new_summary_counts_and_leaves_a_copy() -> None:
    done = stated(program(), StatePatch(context_summary={"handoffNotes": "x"}), START)
    assert (done.program.state_version, done.program.summaries) == (1, 1)
    past = PastSummary(
        program_id="basher", number=0, version=1, at=START, context_summary={"handoffNotes": "x"}
    )
    assert done.archived == (past,)
    again = stated(done.program, StatePatch(context_summary={"handoffNotes": "x"}), START + days(1))
    assert again == Stated(done.program)


def test_a_longer_age_revives_stale_lessons_for_consolidation() -> None:
    known = pattern(id="known", knowledge_keys=("pattern/a/b",))
    before = program(pattern(id="old"), known)
    now = START + days(100)
    done = stated(before, StatePatch(decay={"maxAge": 120}), now)
    assert set(stamped(before, done.program, now).pending) == {"old", "known"}
    default = stated(done.program, StatePatch(decay={"maxAge": None}), now)
    assert default.program.decay == DecayConfig()


@pytest.mark.parametrize("part", ["context_summary", "config", "baselines"])
def test_each_part_has_a_size(part: str) -> None:
    limit = MAX_STATE_BYTES
    fits = program(**{part: {"k": "é" * ((limit - 8) // 2)}})
    assert too_large(fits) is None
    over = program(**{part: {"k": "é" * ((limit - 6) // 2)}})
    said = too_large(over)
    assert said
    assert said.endswith(f"at most {limit}; shorten it, or remove members with null")


async def test_a_program_without_state_has_an_empty_one(client: Client) -> None:
    assert await state(client) == {
        "exists": False,
        "version": 0,
    }


async def test_updates_add_up_and_null_removes(client: Client) -> None:
    task = {"taskId": "t1", "title": "Claiming", "outcome": "done", "notes": "see PR"}
    summary = {
        "lastTask": task,
        "activeWorkItems": ["a", "b"],
        "handoffNotes": "go on",
        "openQuestions": ["why?"],
    }
    config = {"model": {"name": "small", "depth": [[1, 2], [3]]}, "__odd.key__": 2**70}
    first = await call(
        client,
        "update_program_state",
        contextSummary=summary,
        config=config,
        baselines={"p95": 1.5},
    )
    assert first == {"status": "updated", "version": 1}
    change = {
        "lastTask": {"notes": None, "outcome": "merged"},
        "activeWorkItems": ["b"],
        "openQuestions": None,
    }
    await call(
        client, "update_program_state", contextSummary=change, config={"model": {"name": None}}
    )
    now = await state(client)
    assert now["contextSummary"] == {
        "lastTask": {"taskId": "t1", "title": "Claiming", "outcome": "merged"},
        "activeWorkItems": ["b"],
        "handoffNotes": "go on",
    }
    assert now["config"] == {"model": {"depth": [[1, 2], [3]]}, "__odd.key__": 2**70}
    assert (now["baselines"], now["version"]) == ({"p95": 1.5}, 2)
    unchanged = await call(client, "update_program_state", contextSummary={"handoffNotes": "go on"})
    assert (unchanged["status"], unchanged["version"]) == ("unchanged", 2)
    boot = await client.call_tool("gsp_bootstrap", {"agentId": "basher"})
    assert boot.structured_content
    assert boot.structured_content["program"]["contextSummary"] == now["contextSummary"]


async def test_a_version_that_has_moved_is_a_conflict_that_names_the_remedy(client: Client) -> None:
    await call(client, "update_program_state", config={"a": 1}, expectedVersion=0)
    for value in (1, 2):  # of two sessions that count to 1, one counts again
        said = await refusal(client, "update_program_state", config={"a": value}, expectedVersion=0)
        assert said == (
            "conflict: basher's state is at version 1, not 0: another session changed it. "
            "Call get_program_state, decide again, and call with expectedVersion 1. (retryable)"
        )
    assert (await state(client))["config"] == {"a": 1}


async def test_a_repeated_update_changes_nothing(client: Client) -> None:
    for status in ("updated", "unchanged"):
        done = await call(client, "update_program_state", config={"a": 1})
        assert (done["status"], done["version"]) == (status, 1)


LESSON = {"domain": "claims", "confidence": 0.8, "evidence": ""}
BAD: Sequence[tuple[dict[str, object], str]] = [
    (
        {"contextSummary": {"handoff": "x"}},
        "contextSummary.handoff: unknown, did you mean handoffNotes?",
    ),
    (
        {"contextSummary": {"handoffNotes": "x" * 4001}},
        "contextSummary.handoffNotes: must be at most 4000 characters",
    ),
    (
        {"contextSummary": {"lastTask": {"title": "x" * 301}}},
        "contextSummary.lastTask.title: must be at most 300",
    ),
    (
        {"contextSummary": {"lastTask": {"notes": "x" * 2001}}},
        "contextSummary.lastTask.notes: must be at most 2000",
    ),
    ({"contextSummary": {"activeWorkItems": ["x"] * 31}}, "contextSummary.activeWorkItems: "),
    (
        {"contextSummary": {"activeWorkItems": ["x" * 301]}},
        "contextSummary.activeWorkItems.0: must be at most 300",
    ),
    ({"contextSummary": {"openQuestions": ["x"] * 21}}, "contextSummary.openQuestions: "),
    (
        {"contextSummary": {"openQuestions": ["bell\x07"]}},
        "contextSummary.openQuestions.0: must not hold control",
    ),
    (
        {"config": {"k": "é" * 16_000}},
        "config: would be 32008 bytes of JSON, at most 32000; shorten it",
    ),
    (
        {"baselines": {"k": "é" * 16_000}},
        "baselines: would be 32008 bytes of JSON, at most 32000; shorten it",
    ),
    (
        {"config": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": {"j": {}}}}}}}}}}}},
        "config: must be nested",
    ),
    (
        {"config": {"k": "x" * 30_000}},
        "config: must hold at most 30000 characters of names and texts",
    ),
    (
        {"baselines": {"k" * 15_000: {"k" * 15_000: 1}}},
        "baselines: must hold at most 30000 characters",
    ),
    ({"config": {"k": ["xx"] * 16_000}}, "config: must hold at most 30000 characters"),
    ({"config": [1]}, "config: "),
    ({"decayConfig": {"maxAge": 0}}, "decayConfig.maxAge: "),
    ({"decayConfig": {"maxAge": 3651}}, "decayConfig.maxAge: "),
    ({"decayConfig": {"pruneAfter": 1.5}}, "decayConfig.pruneAfter: "),
    ({"decayConfig": {"maxUnpromotedPatterns": 501}}, "decayConfig.maxUnpromotedPatterns: "),
    ({"expectedVersion": -1}, "expectedVersion: "),
]


@pytest.mark.parametrize(("arguments", "said"), BAD)
async def test_a_bad_update_is_refused_by_name_and_changes_nothing(
    client: Client, arguments: dict[str, object], said: str
) -> None:
    assert said in await refusal(client, "update_program_state", **arguments)
    assert (await state(client))["version"] == 0


async def test_a_long_history_is_bounded_and_counts_the_summaries_left_out(client: Client) -> None:
    for number in range(12):
        await call(
            client,
            "update_program_state",
            contextSummary={"handoffNotes": f"{number} " + "x" * 3_000},
        )
    answer = await call(client, "get_program_state", history=10)
    assert (len(answer["history"]), answer["omitted"]) == (5, 5)
    assert answer["history"][0]["contextSummary"]["handoffNotes"].startswith("11 ")
    assert "omitted" not in await call(client, "get_program_state", history=5)
    large = {"activeWorkItems": ["é" * 300] * 30}
    await call(client, "update_program_state", contextSummary=large)
    answer = await call(client, "get_program_state", history=2)
    assert (answer["history"][0]["contextSummary"]["activeWorkItems"], answer["omitted"]) == (
        ["é" * 300] * 30,
        1,
    )


async def test_the_history_holds_the_newest_fifty_summaries_newest_first(client: Client) -> None:
    for number in range(53):
        await call(
            client, "update_program_state", contextSummary={"handoffNotes": f"note {number}"}
        )
    await call(client, "update_program_state", config={"no": "summary"})
    history = (await call(client, "get_program_state", history=50))["history"]
    assert [one["contextSummary"]["handoffNotes"] for one in history] == [
        f"note {n}" for n in range(52, 2, -1)
    ]
    assert [one["version"] for one in history] == list(range(53, 3, -1))
    assert set(history[0]) == {"at", "version", "contextSummary"}
    assert (await call(client, "get_program_state", history=2))["history"] == history[:2]
    assert "history" not in await state(client)
    assert "history" not in await call(client, "get_program_state", programId="sark", history=50)
    assert "history: " in await refusal(client, "get_program_state", history=51)


def test_all_means_every_toolset() -> None:
    assert load({"toolsets": "all"}, {}).toolsets == TOOLSETS


async def test_consolidation_follows_a_change_of_the_stale_age(tmp_path: Path) -> None:
    from fleet_memory.server.app import create_server

    def server(now: str) -> Client:
        flags = {
            "store": str(tmp_path / "memory.db"),
            "embedder": "lexical",
            "toolsets": "all",
            "now": now,
        }
        return Client(create_server(load(flags, {})))

    async def promoted(client: Client, max_age: int) -> int:
        for name in ("basher", "sark"):
            await call(
                client, "update_program_state", programId=name, decayConfig={"maxAge": max_age}
            )
        result = await client.call_tool("pattern_consolidate", {})
        assert result.structured_content
        return len(result.structured_content["promoted"])

    async with server("2026-01-01T09:00:00Z") as client:
        await call(
            client,
            "store_memory",
            pattern={
                **LESSON,
                "pattern": "Check the status",
                "evidence": "two runs wrote one file",
            },
        )
        await client.call_tool("pattern_consolidate", {})
    async with server("2026-02-01T09:00:00Z") as client:
        assert await promoted(client, 20) == 0
        await call(
            client,
            "store_memory",
            programId="sark",
            pattern={**LESSON, "pattern": "Check the status", "evidence": "a claim was lost twice"},
        )
        assert await promoted(client, 20) == 0  # basher's is stale now
        assert await promoted(client, 60) == 1
