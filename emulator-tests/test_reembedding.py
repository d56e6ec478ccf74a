"""A memory moves to another embedder."""

import json
import subprocess

import pytest
from agents import local_agent, opened

from fleet_memory.repositories.programs import Programs
from fleet_memory.stores import Query
from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

NOW, LATER = "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z"
CHECK = "Always check that a task is still free before you claim it"
VERIFY = "Always verify that the task is still free before claiming it"


def rebuilt(address: str) -> object:
    command = [
        *forked.words(),
        "maintain",
        "--rebuild",
        "--now",
        LATER,
        "--json",
        "--store",
        address,
        "--embedder",
        "minilm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_S)  # noqa: S603 - ours
    answer: dict[str, object] = json.loads(done.stdout)
    return answer.get("embedded")


async def test_a_memory_moves_to_another_embedder_and_then_finds_equal_lessons(
    store_address: str,
) -> None:
    lesson = {"domain": "claims", "confidence": 0.9}
    async with local_agent(store_address, now=NOW, embedder="lexical") as one:
        for program, text in (
            ("basher", CHECK),
            ("sark", VERIFY),
            ("iso", "Rotate the context"),
            ("clu", "Rotate the context"),
        ):
            told = {"pattern": text, "evidence": f"{program} saw it fail twice"} | lesson
            await one.call("store_memory", programId=program, pattern=told)
        assert len((await one.call("pattern_consolidate"))["promoted"]) == 1  # equal words alone
    async with local_agent(store_address, now=NOW) as one:
        found = await one.call("recall_memory", programId="basher", query="claim a task")
        assert [pattern["pattern"] for pattern in found["patterns"]] == [
            CHECK
        ]  # by its words, without a vector
    assert rebuilt(store_address) == 5
    assert rebuilt(store_address) is None
    async with opened(store_address) as store:
        programs = await Programs(store, "default").all()
        kept = {p.embedder for held in programs for p in held.program.patterns.values()}
        entries = await store.find(Query("fleets/default/gsp"))
        assert (kept, {entry.fields["embedder"] for entry in entries}) == (
            {"minilm-l6-v2/int8/1"},
            {"minilm-l6-v2/int8/1"},
        )
    async with local_agent(store_address, now=LATER) as one:  # a clock of its own: after all stores
        (pair,) = (await one.call("pattern_consolidate", programId="basher"))["toJudge"]
        assert [pair[side]["pattern"] for side in "ab"] == [CHECK, VERIFY]
