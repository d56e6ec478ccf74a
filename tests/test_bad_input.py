"""Bad input gets a clear refusal that names the field, nothing is written, and the server lives."""

import math
from typing import Any

import pytest
from mcp import Client

pytestmark = pytest.mark.anyio

GOOD: dict[str, Any] = {
    "pattern": "Check the status",
    "domain": "claims",
    "confidence": 0.8,
    "evidence": "seen",
}


def store(**changes: object) -> dict[str, Any]:
    pattern = {name: value for name, value in (GOOD | changes).items() if value is not ...}
    return {"programId": "basher", "pattern": pattern}


REFUSED = [
    ("store_memory", {}, "programId: required"),
    ("store_memory", {"programId": "basher"}, "pattern: required"),
    ("store_memory", store(pattern=...), "pattern.pattern: required"),
    ("store_memory", store(pattern=""), "pattern.pattern: must not be empty"),
    ("store_memory", store(pattern=" \n "), "pattern.pattern: must not be empty"),
    (
        "store_memory",
        store(pattern="x" * 1001),
        "pattern.pattern: must be at most 1000 characters, not 1001",
    ),
    (
        "store_memory",
        store(evidence="x" * 2001),
        "pattern.evidence: must be at most 2000 characters",
    ),
    (
        "store_memory",
        store(pattern="ring\x07"),
        "pattern.pattern: must not hold control characters (U+0007",
    ),
    (
        "store_memory",
        store(pattern="a\x00b"),
        "pattern.pattern: must not hold control characters (U+0000",
    ),
    ("store_memory", store(confidence=True), "pattern.confidence: "),
    ("store_memory", store(confidence="0.9"), "pattern.confidence: "),
    ("store_memory", store(confidence=math.nan), "pattern.confidence: "),
    ("store_memory", store(confidence=1.01), "pattern.confidence: "),
    ("store_memory", store(confidence=-0.1), "pattern.confidence: "),
    (
        "store_memory",
        store(confidense=0.1),
        "pattern.confidense: unknown, did you mean confidence?",
    ),
    ("store_memory", store() | {"programid": "x"}, "programid: unknown, did you mean programId?"),
    (
        "store_memory",
        store(discoveredAt="2026-02-14T08:23:00"),
        "pattern.discoveredAt: must have a zone",
    ),
    ("store_memory", store(discoveredAt="yesterday"), "pattern.discoveredAt: must be an ISO 8601"),
    ("store_memory", store(discoveredAt=1771057380), "pattern.discoveredAt: must be an ISO 8601"),
    (
        "store_memory",
        store(discoveredAt="2999-01-01T00:00:00Z"),
        "pattern.discoveredAt: is in the future",
    ),
    (
        "store_memory",
        store(discoveredAt="2026-02-14T08:23:00Z", lastReinforced="2026-02-13T08:23:00Z"),
        "pattern.discoveredAt: is later than pattern.lastReinforced",
    ),
    ("store_memory", store(tags=["x"] * 11), "pattern.tags: "),
    ("store_memory", store(tags=["x" * 51]), "pattern.tags.0: must be at most 50 characters"),
    (
        "store_memory",
        store(id="../../etc/passwd"),
        "pattern.id: must be 1-100 characters of letters",
    ),
    ("store_memory", store(id=".hidden"), "pattern.id: must be 1-100 characters of letters"),
    ("store_memory", store(id="x" * 101), "pattern.id: must be 1-100 characters of letters"),
    ("store_memory", store(domain=" "), "pattern.domain: must not be empty"),
    (
        "store_memory",
        store(domain="x" * 101),
        "pattern.domain: must be at most 100 characters, not 101",
    ),
    (
        "store_memory",
        store(domain="a\x07b"),
        "pattern.domain: must not hold control characters (U+0007",
    ),
    ("store_memory", {"programId": "", "pattern": GOOD}, "programId: must be 1-100 characters"),
    ("store_memory", {"programId": 7, "pattern": GOOD}, "programId: "),
    ("store_memory", store() | {"onDuplicate": "drop"}, "onDuplicate: "),
    ("recall_memory", {"programId": "basher", "limit": 0}, "limit: "),
    ("recall_memory", {"programId": "basher", "limit": 2.5}, "limit: "),
    ("recall_memory", {"programId": "basher", "limit": True}, "limit: "),
    ("recall_memory", {"programId": "basher", "maxTokens": 199}, "maxTokens: "),
    ("recall_memory", {"programId": "basher", "includeStale": "yes"}, "includeStale: "),
    ("recall_memory", {"programId": "basher", "scope": "everything"}, "scope: "),
    ("recall_memory", {"programId": "basher", "query": ""}, "query: must not be empty"),
    (
        "reinforce_memory",
        {"programId": "basher", "patternId": "p", "outcome": "maybe"},
        "outcome: ",
    ),
    ("pattern_consolidate", {"threshold": 1}, "threshold: "),
    ("pattern_consolidate", {"threshold": 11}, "threshold: "),
    ("pattern_consolidate", {"verdicts": [{"pairId": "x"}]}, "verdicts.0.verdict: required"),
    ("gsp_bootstrap", {"agentId": "basher", "depth": "deep"}, "depth: "),
    ("gsp_bootstrap", {"agentId": "basher", "knownVersion": -1}, "knownVersion: "),
]


@pytest.mark.parametrize(("tool", "arguments", "said"), REFUSED)
async def test_bad_input_is_refused_by_name_and_writes_nothing(
    client: Client, tool: str, arguments: dict[str, Any], said: str
) -> None:
    refused = await client.call_tool(tool, arguments)
    assert refused.is_error
    text = "".join(block.text for block in refused.content if block.type == "text")
    assert text.startswith("invalid_argument: ")
    assert said in text
    assert len(text) < 1_000
    health = await client.call_tool("memory_health", {"programId": "basher"})
    assert (health.structured_content or {})["exists"] is False


async def test_twenty_megabytes_are_refused_without_being_echoed(client: Client) -> None:
    refused = await client.call_tool("store_memory", store(pattern="x" * 20_000_000))
    assert refused.is_error
    assert len(str(refused.content)) < 1_000


async def test_a_pattern_that_does_not_exist_names_the_next_call(client: Client) -> None:
    refused = await client.call_tool(
        "reinforce_memory", {"programId": "basher", "patternId": "nothing"}
    )
    assert "pattern_not_found: basher has no lesson 'nothing'. Call recall_memory" in str(
        refused.content
    )
    refused = await client.call_tool(
        "reinforce_memory", {"programId": "basher", "patternId": "pattern/a/b"}
    )
    assert "knowledge_not_found: " in str(refused.content)


async def test_an_unknown_tool_is_refused_and_the_server_lives(client: Client) -> None:
    refused = await client.call_tool("remember", {})
    assert refused.is_error
    assert not (await client.call_tool("memory_health", {"programId": "basher"})).is_error
