"""Two servers consolidate at once: one promotion, one ledger line, in any order."""

import anyio
import pytest
from agents import Agent, agent, opened

from fleet_memory.repositories.programs import Programs
from fleet_memory.stores import Query
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

NOW = "2026-03-07T12:00:00Z"
ROUNDS = 10


def lesson(round_: int, program: str) -> dict[str, object]:
    return {
        "id": f"p{round_}",
        "pattern": f"Lesson {round_}",
        "domain": "claims",
        "confidence": 0.8,
        "evidence": f"{program} saw it fail twice",
    }


async def consolidate(server: Agent, promoted: list[str]) -> None:
    """Consolidate, again and again while the other one does; add this server's promotions."""
    while True:
        result = await server.client.call_tool("pattern_consolidate", {})
        if not result.is_error:
            assert result.structured_content is not None
            promoted.extend(entry["key"] for entry in result.structured_content["promoted"])
            return
        said = "".join(block.text for block in result.content if block.type == "text")
        assert said.startswith("conflict: ")
        assert said.endswith("(retryable)")


async def test_two_consolidations_at_once_make_one_promotion_and_one_ledger_line(
    store_address: str,
) -> None:
    promoted: list[str] = []
    with anyio.fail_after(HANG_S):
        async with (
            agent(store_address, now=NOW, embedder="lexical") as one,
            agent(store_address, now=NOW, embedder="lexical") as two,
        ):
            for round_ in range(ROUNDS):
                await one.call("store_memory", programId="basher", pattern=lesson(round_, "basher"))
                await two.call("store_memory", programId="sark", pattern=lesson(round_, "sark"))
                async with anyio.create_task_group() as together:
                    together.start_soon(consolidate, one, promoted)
                    together.start_soon(consolidate, two, promoted)
                assert len(promoted) == round_ + 1
    async with opened(store_address) as store:
        entries = await store.find(Query("fleets/default/gsp"))
        told = await store.find(Query("fleets/default/ledger"))
        kept = [
            (await Programs(store, "default").read(program)).patterns
            for program in ("basher", "sark")
        ]
    assert sorted(str(entry.fields["key"]) for entry in entries) == sorted(promoted)
    assert sorted((str(line.fields["event"]), str(line.fields["key"])) for line in told) == [
        ("promoted", key) for key in sorted(promoted)
    ]
    for patterns in kept:
        assert sorted(str(pattern.knowledge_key) for pattern in patterns.values()) == sorted(
            promoted
        )
