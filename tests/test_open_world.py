"""The article's own pair is found among lessons that have nothing to do with it, with the default embedder."""

import csv
import random
from pathlib import Path

import pytest

from fleet_memory.rules.consensus.planning import Plan, Topic, planned
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed, unpacked
from fleet_memory.schemas.waiting import Learnt
from fleet_memory.similarity.minilm import MiniLM

pytestmark = pytest.mark.anyio

ONE, OTHER = "Check status before claiming", "verify task is unclaimed before claim"
LESSONS = Path(__file__).parent.parent / "benchmarks" / "lessons.tsv"


def unrelated(count: int, draw: int) -> list[str]:
    with LESSONS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    texts = [row["a"] for row in rows if row["domain"] != "task-queues" and "claim" not in row["a"]]
    return random.Random(draw).sample(texts, count)  # noqa: S311 - a draw, not a secret


async def consolidated(left: list[str], right: list[str]) -> Plan:
    lessons = [
        Learnt(program, f"{program}-{at}", "one", text, text_hash(text), 0.8, 0.0, 1e12)
        for program, texts in (("basher", left), ("sark", right))
        for at, text in enumerate(texts)
    ]
    embedder = MiniLM()
    rows = unpacked([packed(row) for row in await embedder.vectors([lesson.text for lesson in lessons])])
    return planned(Topic(lessons, rows, [], rows[:0]), embedder.profile, 2)


@pytest.mark.parametrize("count", [20, 60])
@pytest.mark.parametrize("draw", range(3))
async def test_the_articles_pair_merges_among_unrelated_lessons(count: int, draw: int) -> None:
    strangers = unrelated(2 * count, draw)
    plan = await consolidated([ONE, *strangers[:count]], [OTHER, *strangers[count:]])
    assert (0, count + 1) in [group.members for group in plan.promotions]
