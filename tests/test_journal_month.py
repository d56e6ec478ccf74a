"""A made-up month of one agent, 3,000 events distilled by a script as the tools ask: the past fits
any budget, and what was decided on the second day is found in two calls.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from mcp import Client

pytestmark = pytest.mark.anyio

DAYS, EVENTS_A_DAY = 30, 100
FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
DECISION = (
    "We stay on Postgres 15: pg_partman of 16 loses our monthly partitions, seen on staging. "
    "Roll back with `pgctl switch --to billing-15 --drain 90s`."
)
PARTS = ("invoice", "ledger", "refund", "payout", "tariff", "dunning", "export")


def day_of(day: int) -> list[dict[str, Any]]:
    """Return the messages of a day: requests, answers, and calls of tools with their results."""
    sent = list[dict[str, Any]]()
    for number in range(EVENTS_A_DAY // 4):
        part, id_ = PARTS[(day * 5 + number) % len(PARTS)], f"d{day}-{number}"
        at = (FIRST + timedelta(days=day, minutes=number)).isoformat()
        asked = f"Please look at {part} number {number}: its test of day {day} is red."
        found = f"The {part} test {number} failed: rounding of {day * number} cents, mended in {part}.py."
        sent += [
            {"kind": "user", "content": asked, "occurredAt": at},
            {
                "kind": "tool_call",
                "content": f"pytest {part} -k {id_}",
                "groupId": id_,
                "occurredAt": at,
            },
            {
                "kind": "tool_result",
                "content": f"1 failed, {number} passed. " * 6,
                "groupId": id_,
                "occurredAt": at,
            },
            {"kind": "assistant", "content": found, "occurredAt": at},
        ]
    if day == 1:
        sent[43]["content"] = DECISION
    return sent


def distilled(segment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent of few words makes of a segment: its decisions whole, its parts named."""
    texts = [str(it.get("content") or it.get("narrative") or "") for it in segment["content"]]
    facts = [fact for it in segment["content"] for fact in it.get("facts", ())]
    facts += [text for text in texts if text.startswith("We ")]
    mended = sorted({part for part in PARTS for text in texts if part in text})
    return {
        "startSeq": segment["startSeq"],
        "endSeq": segment["endSeq"],
        "narrative": f"Red tests of {', '.join(mended)} were mended.",
        "facts": facts,
    }


async def answered(client: Client, tool: str, **given: object) -> dict[str, Any]:
    result = await client.call_tool(tool, {"programId": "basher", **given})
    assert not result.is_error, result.content
    answer: dict[str, Any] = result.structured_content or {}
    return answer


def seqs(items: list[dict[str, Any]]) -> Iterator[int]:
    for item in items:
        part = item.get("omitted", item)
        first = part.get("seq") or part["startSeq"]
        yield from range(first, part.get("endSeq", first) + 1)


async def test_a_month_fits_any_budget_and_a_decision_of_its_second_day_is_found_in_two_calls(
    full_client: Client,
) -> None:
    for day in range(DAYS):
        sent = {"events": day_of(day), "sessionId": f"day-{day}", "requestId": f"day-{day}"}
        state = await answered(full_client, "journal_append", **sent)
        while state["due"]:
            look = await answered(full_client, "look_back", due=True, budgetTokens=16_000)
            told = distilled(look["segment"])
            state = await answered(
                full_client, "journal_distill", ifRevision=look["revision"], **told
            )
    assert (state["head"], state["viewTokens"] < 12_000) == (DAYS * EVENTS_A_DAY, True)
    verbatim = list[int]()
    for budget in (1_000, 4_000, 20_000):
        view = await answered(full_client, "look_back", budgetTokens=budget)
        assert view["tokens"] <= budget
        assert [*seqs(view["items"])] == [*range(1, state["head"] + 1)]
        levels = [it.get("level", 0) for it in view["items"] if "omitted" not in it]
        assert levels == sorted(levels, reverse=True)  # the oldest is the coarsest
        verbatim.append(levels.count(0))
    assert verbatim == sorted({*verbatim})
    first = await answered(full_client, "look_back", query="why Postgres 15, and how to roll back")
    found = first["hits"][0]
    whole = await answered(full_client, "look_back", seq=found["seq"], before=2, after=2)
    assert whole["items"][0]["content"] == DECISION
    assert [it["seq"] for it in whole["items"]] == [144, 143, 145, 142, 146]
    assert whole["coveredBy"]
