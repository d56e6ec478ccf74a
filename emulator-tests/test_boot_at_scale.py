"""Boot in a fleet that knows 2,000 things: within its budget, few reads, and lessons for the task
first.
"""

import csv
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from billing import Bill, Billed
from fleets import NOW, entry_writes, published_entry

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.publishing import leased
from fleet_memory.repositories.snapshots import MAX_SNAPSHOT_SHARD_BYTES
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.rules.text.keys import knowledge_key
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores import Query, Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent
ENTRIES = 2_000
ENGINE = MiniLM()
# Fillers: work of other fleets, in words of its own, with the same verbs and the same form as a
# lesson
VERBS = (
    "Check",
    "Clean",
    "Measure",
    "Move",
    "Never mix",
    "Label",
    "Store",
    "Weigh",
    "Warm",
    "Rinse",
    "Mark",
    "Count",
)
THINGS = (
    "the seedlings",
    "the flour",
    "the telescope",
    "the kiln",
    "the sails",
    "the violin",
    "the aquarium",
    "the loom",
)
TIMES = (
    "before sunrise",
    "after each batch",
    "in cold weather",
    "when guests arrive",
    "every second week",
    "at low tide",
)
PLACES = ("in the greenhouse", "in the bakery", "on deck", "in the studio", "at the market")


class Task(NamedTuple):
    """A task of an agent, and the lesson that a person would want it to read first."""

    text: str
    wanted: str


def tasks() -> list[Task]:
    with (ROOT / "tests" / "data" / "tasks.tsv").open(newline="", encoding="utf-8") as file:
        return [Task(row["task"], row["wanted"]) for row in csv.DictReader(file, delimiter="\t")]


class Known(NamedTuple):
    """A lesson and its domain."""

    text: str
    domain: str


def lessons() -> list[Known]:
    """Return everything that the fleet knows: our lessons, then fillers."""
    with (ROOT / "benchmarks" / "lessons.tsv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] == "same"]
    known = {row["a"]: Known(row["a"], row["domain"]) for row in rows}
    fillers = (
        Known(f"{verb} {thing} {time} {place}", thing.removeprefix("the "))
        for verb, thing, time, place in itertools.product(VERBS, THINGS, TIMES, PLACES)
    )
    return [*known.values(), *itertools.islice(fillers, ENTRIES - len(known))]


@pytest.fixture(scope="module")
async def entries() -> Sequence[Entry]:
    found = lessons()
    made = [packed(row) for row in await ENGINE.vectors([one.text for one in found])]
    return [
        published_entry(
            knowledge_key(one.domain, f"{number} {one.text}"),
            one.text,
            one.domain,
            vector=vector,
            embedder=ENGINE.name,
        )
        for number, (one, vector) in enumerate(zip(found, made, strict=True))
    ]


def fleet_on(store: Store) -> Fleet:
    return Fleet.on(store, "default", ENGINE, lambda: NOW)


async def known(fleet: Fleet, entries: Sequence[Entry]) -> None:
    for start in range(0, len(entries), 100):
        writes = []
        for entry in entries[start : start + 100]:
            writes += entry_writes(fleet, entry)
        await fleet.knowledge.store.commit(*writes)
    async with leased(fleet) as writer:
        assert writer is not None
        await writer.publish(consolidated_at=NOW)


async def test_a_boot_reads_two_documents_five_queries_and_the_shards_and_puts_the_tasks_entries_first(
    open_store: Callable[[], Store], entries: Sequence[Entry]
) -> None:
    with anyio.fail_after(HANG_S):
        await known(fleet_on(open_store()), entries)
        billed = Billed(open_store())
        documents = await fleet_on(billed).knowledge.store.find(Query("fleets/default/snapshots"))
        shards = len(documents)
        assert (
            max(len(str(document.fields["text"]).encode()) for document in documents)
            <= MAX_SNAPSHOT_SHARD_BYTES
        )
        found = []
        for number, task in enumerate(tasks()):
            fleet = fleet_on(billed)  # a server that has read nothing yet
            billed.bill = Bill()
            boot = await gsp_bootstrap(fleet, f"agent-{number}", task=task.text)
            # the program, the policy, two queries for its pairs, two for pairs that a third program
            # decides, and one for programs with a name close to its own
            assert billed.bill == Bill(7 + shards, 1, 0)
            assert tokens(boot.wire()) <= 2_500
            assert boot.omitted["knowledge"] == ENTRIES - len(boot.knowledge)
            texts = [entry.pattern for entry in boot.knowledge]
            found.append(texts.index(task.wanted) if task.wanted in texts else ENTRIES)
    assert shards > 2
    print(sorted(found))  # noqa: T201 - shown when the floor below is broken
    assert sum(place < 1 for place in found) / len(found) >= 0.5
    assert sum(place < 5 for place in found) / len(found) >= 0.85
