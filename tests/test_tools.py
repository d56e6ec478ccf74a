"""The six tools as a client sees them; the article's own calls work as they stand."""

import json
from typing import Any

import pytest
from mcp import Client

from fleet_memory.rules.retrieval.budget import tokens

pytestmark = pytest.mark.anyio

# Source: Bourlier, "What Agents Learn When You Let Them Remember" (rezzed.ai); evidence shortened.
ARTICLE_STORE: dict[str, Any] = {
    "programId": "basher",
    "pattern": {
        "id": "firestore-claim-race-condition",
        "domain": "task-claiming",
        "pattern": "Always check task.status === 'created' before claiming to avoid race "
        "conditions",
        "confidence": 0.85,
        "evidence": "Failed 3 times claiming claimed tasks; the status check ended it",
        "discoveredAt": "2026-02-14T08:23:00Z",
        "lastReinforced": "2026-02-14T08:23:00Z",
        "promotedToStore": False,
        "stale": False,
    },
}
ARTICLE_REINFORCE = {
    "programId": "basher",
    "patternId": "firestore-claim-race-condition",
    "confidence": 0.92,
    "evidence": "Applied 15 more times, zero failures",
}


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content
    assert [block.text for block in result.content if block.type == "text"] == [
        json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
    ]
    return answer


def lesson(text: str, **fields: object) -> dict[str, object]:
    return {"pattern": text, "domain": "claims", "confidence": 0.8, "evidence": ""} | fields


async def test_the_articles_store_call_works_as_printed(client: Client) -> None:
    assert await call(client, "store_memory", **ARTICLE_STORE) == {
        "status": "created",
        "programId": "basher",
        "patternId": "firestore-claim-race-condition",
        "related": [],
        "evicted": [],
        "patternsCount": 1,
    }
    assert (await call(client, "store_memory", **ARTICLE_STORE))["status"] == "unchanged"


async def test_the_articles_recall_and_reinforce_calls_work_as_printed(client: Client) -> None:
    await call(client, "store_memory", **ARTICLE_STORE)
    reinforced = await call(client, "reinforce_memory", **ARTICLE_REINFORCE)
    assert (reinforced["confidence"], reinforced["reinforcements"]) == (0.92, 1)
    recalled = await call(client, "recall_memory", programId="basher", domain="task-claiming")
    assert [(p["id"], p["confidence"], p.get("stale")) for p in recalled["patterns"]] == [
        ("firestore-claim-race-condition", 0.92, None)
    ]
    other = await call(client, "recall_memory", programId="sark", domain="task-claiming")
    assert (other["patterns"], other["exists"]) == ([], False)


async def test_memory_health_has_the_articles_fields(client: Client) -> None:
    await call(client, "store_memory", **ARTICLE_STORE)
    health = await call(client, "memory_health", programId="basher")
    article = {
        "programId",
        "totalPatterns",
        "activePatterns",
        "stalePatterns",
        "promotedPatterns",
        "domains",
    }
    more = {
        "lastUpdate",
        "decayConfig",
        "staleRatio",
        "verdict",
        "advice",
        "fadingSoon",
        "toJudge",
        "freshness",
    }
    assert article | more == set(health)
    assert health["decayConfig"] == {"maxAge": 90, "maxUnpromotedPatterns": 100, "pruneAfter": 90}


async def test_a_repeated_request_reinforces_once(client: Client) -> None:
    await call(client, "store_memory", **ARTICLE_STORE)
    for _ in range(3):
        answer = await call(client, "reinforce_memory", **ARTICLE_REINFORCE, requestId="r1")
    assert answer["reinforcements"] == 1
    await call(
        client, "store_memory", programId="basher", pattern=lesson("Another one", id="other")
    )
    other = await call(
        client, "reinforce_memory", programId="basher", patternId="other", requestId="r1"
    )
    assert other["reinforcements"] == 1


async def test_recall_with_a_query_puts_the_relevant_first_and_explains_the_score(
    client: Client,
) -> None:
    for text in (
        "Rebase before you push",
        "Check the status of a task before claiming it",
        "Rotate the context early",
    ):
        await call(client, "store_memory", programId="basher", pattern=lesson(text))
    found = await call(
        client, "recall_memory", programId="basher", query="how to claim a task", explain=True
    )
    first = found["patterns"][0]
    assert first["pattern"].startswith("Check the status")
    terms = first["explain"]
    relevance = 1 - (1 - terms["semantic"]) * (1 - terms["words"])
    assert first["score"] == pytest.approx(
        relevance + terms["identifiers"] + 0.05 * terms["strength"], abs=1e-3
    )


async def test_recall_finds_a_lesson_by_an_identifier_of_its_evidence(client: Client) -> None:
    evidence = "renewal_worker billed 14 cards twice"
    await call(
        client,
        "store_memory",
        programId="basher",
        pattern=lesson("Send a key", id="key", evidence=evidence),
    )
    await call(
        client,
        "store_memory",
        programId="basher",
        pattern=lesson("Rework renewals of workers", id="other"),
    )
    found = await call(
        client, "recall_memory", programId="basher", query="What may go wrong in renewal_worker?"
    )
    assert [one["id"] for one in found["patterns"]] == ["key", "other"]


async def test_recall_filters_by_domain_project_tags_and_confidence(client: Client) -> None:
    await call(
        client,
        "store_memory",
        programId="basher",
        pattern=lesson("One", domain="a", tags=["x", "y"]),
    )
    await call(
        client,
        "store_memory",
        programId="basher",
        pattern=lesson("Two", domain="b", projectId="p", confidence=0.3),
    )

    async def texts(**filters: object) -> list[str]:
        return [
            p["pattern"]
            for p in (await call(client, "recall_memory", programId="basher", **filters))[
                "patterns"
            ]
        ]

    assert await texts(domain="a") == ["One"]
    assert await texts(projectId="p") == ["Two"]
    assert await texts(tags=["y", "x"]) == ["One"]
    assert await texts(minConfidence=0.5) == ["One"]
    assert await texts(limit=1) == ["One"]


@pytest.mark.parametrize("budget", [200, 300, 500, 1_000, 4_000])
async def test_no_answer_exceeds_its_token_budget_and_a_larger_budget_never_returns_less(
    client: Client, budget: int
) -> None:
    for number in range(30):
        await call(
            client,
            "store_memory",
            programId="basher",
            pattern=lesson(f"Lesson {number} " + "é" * 40, id=f"p{number}"),
        )
    for tool, who in (
        ("recall_memory", {"programId": "basher", "limit": 100}),
        ("gsp_bootstrap", {"agentId": "basher"}),
    ):
        small = await call(client, tool, **who, maxTokens=budget)
        assert tokens(small) <= budget
        large = await call(client, tool, **who, maxTokens=budget * 2)
        assert len(large["patterns"]) >= len(small["patterns"])


async def test_recall_counts_its_omissions(client: Client) -> None:
    for number in range(5):
        await call(
            client,
            "store_memory",
            programId="basher",
            pattern=lesson(f"Lesson {number}", id=f"p{number}"),
        )
    found = await call(client, "recall_memory", programId="basher", limit=2)
    assert (len(found["patterns"]), found["total"], found["truncated"]) == (2, 5, True)


async def test_over_the_cap_no_lesson_leaves(client: Client) -> None:
    for number in range(100):
        await call(
            client,
            "store_memory",
            programId="basher",
            pattern=lesson(f"Lesson {number}", id=f"p{number}", confidence=0.5),
        )
    done = await call(
        client,
        "store_memory",
        programId="basher",
        pattern=lesson("One more", id="new", confidence=0.1),
    )
    assert (done["evicted"], done["patternsCount"]) == ([], 101)


async def test_consolidation_reports_its_progress(client: Client) -> None:
    seen: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 mcp passes them by name
        seen.append(progress)

    await client.call_tool("pattern_consolidate", {}, progress_callback=note)
    assert seen == sorted(seen)
    assert seen[-1] == 4
