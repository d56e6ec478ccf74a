"""Bad input gets a clear refusal that names the field, nothing is written, and the server lives."""

import math
from typing import Any

import pytest
from mcp import Client

from fleet_memory.server.app import call_in_process
from fleet_memory.settings import Settings
from fleet_memory.stores.sqlite import SqliteStore

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
        "pattern.discoveredAt: must be an ISO 8601 instant with a zone",
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


HANDED = {"programId": "iso", "work": "build", "summary": "built"}
NOTED = {"kind": "note", "content": "x"}
RANGE = {"programId": "iso", "startSeq": 1, "endSeq": 2}
REFUSED_OF_TOOLSETS = [
    ("claim_work", {"input": {"x": 1}}, "input: send it with kind, and without work"),
    ("claim_work", {}, "work: required, a line or an issue id; or send kind and input"),
    ("claim_work", {"work": "b", "paths": ["../b"]}, "paths: '../b' must lie in the project"),
    ("claim_work", {"work": "b", "paths": ["b"] * 11}, "paths: "),
    ("hand_over", {**HANDED, "tags": [f"t{n}" for n in range(10_000)]}, "tags: "),
    ("hand_over", {**HANDED, "output": "x" * 200_001}, "Send the part that others need, or output"),
    ("hand_over", {**HANDED, "output": "\x1b[31m"}, "leave out colours, or send outputPath"),
    ("hand_over", {**HANDED, "summary": ""}, "summary: must not be empty"),
    ("hand_over", {**HANDED, "summary": " \n"}, "summary: must not be empty"),
    ("hand_over", {**HANDED, "outputPath": "b.log"}, "output: send the text itself, or both"),
    ("hand_over", {**HANDED, "dependsOn": ["gone"]}, "dependsOn: there is no record 'gone'. read_"),
    (
        "hand_over",
        {**HANDED, "flags": [{"recordId": "gone", "reason": "b"}]},
        "flags: there is no record 'gone'. read_work lists those of a session.",
    ),
    ("read_work", {"recordId": "gone"}, "recordId: there is no record 'gone'. read_work lists"),
    ("read_work", {"requires": [{"kind": "k"}]}, "requires: needs session, the job"),
    (
        "journal_append",
        {"events": [{**NOTED, "content": "a\0b"}]},
        "events.0.content: must hold no",
    ),
    (
        "journal_append",
        {"events": [{**NOTED, "content": "\ud800"}]},
        "arguments: nested too deeply",
    ),
    ("journal_append", {"events": [NOTED] * 201}, "events: "),
    (
        "journal_append",
        {"events": [NOTED, {**NOTED, "content": "é" * 32_769}]},
        "content_too_large{limit: 65536, actual: 65538, index: 1}; nothing was written",
    ),
    ("journal_distill", RANGE, "narrative: empty; send a narrative, facts or both"),
    ("journal_distill", {**RANGE, "startSeq": 3, "narrative": "x"}, "startSeq: out_of_range"),
    (
        "journal_distill",
        {**RANGE, "narrative": "x" * 2_001},
        "narrative: must be at most 2000 chara",
    ),
    ("look_back", {"query": "?!"}, "query: has no word to search for"),
    ("look_back", {"query": "x", "seq": 1}, "seq: contradicts query; send one of them"),
    ("look_back", {"seq": 1}, "seq: the journal has events 1 to 0"),
    ("look_back", {"distillateId": "d1-9"}, "none: nothing is distilled yet"),
]


@pytest.mark.parametrize(("tool", "arguments", "said"), REFUSED_OF_TOOLSETS)
async def test_bad_work_and_journal_are_refused_by_name_and_write_nothing(
    settings: Settings, tool: str, arguments: dict[str, Any], said: str
) -> None:
    answer = await call_in_process(settings, tool, {"programId": "iso", **arguments})
    assert said in (answer.refusal or "")
    assert len(answer.refusal or "") < 500
    store = SqliteStore(str(settings.store.file))
    assert (await store.check()).documents == {}
    await store.close()
