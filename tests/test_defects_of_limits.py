"""A fleet of any size and any clock goes on: no document, commit, lease or comparison grows until
nothing works.
"""

import random
import tracemalloc
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import anyio
import numpy as np
import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.embedding import reembed_fleet
from fleet_memory.jobs.fenced_writer import LEASE_S, MAINTAINER_LEASE
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.runs import take
from fleet_memory.rules.proposing import proposals
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.comparison import ComparableLesson, Profile
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store, Write
from tests.fleets import documents, on
from tests.living import MINUTE, Json, Machine, called, lesson
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

PINNED = "Pin the compiler version in CI"
WORDS = (
    "server queue task index cache branch build test log stream request table key token file "
    "socket node package "
    "module method deploy rollback metric alert shard replica leader quorum batch window "
    "cursor schema column lock "
    "mutex thread pool buffer packet header cookie session proxy tunnel bucket region volume "
    "mount kernel driver"
)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_a_run_that_was_killed_under_a_clock_ahead_does_not_block_publishing(
    machine: Machine,
) -> None:
    async def killed_ahead(fleet: Fleet) -> None:
        ahead = machine.now + timedelta(days=300)
        lease = fleet.knowledge.paths.lease(MAINTAINER_LEASE)
        assert await take(fleet.knowledge.store, lease, "killed", now=ahead, ttl_s=LEASE_S)

    await machine.people(killed_ahead)
    await machine.share(PINNED, "basher", "iso")
    assert await machine.knowledge() == {PINNED: "fresh"}


@pytest.mark.parametrize("rebuild", [False, True])
async def test_a_run_under_a_clock_ahead_loses_no_lesson_for_later_runs(
    machine: Machine, rebuild: bool
) -> None:
    await machine.store_lesson("basher", PINNED)
    await machine.consolidate()
    machine.later(days=120)
    await machine.consolidate()
    machine.later(days=-120)
    await machine.store_lesson("iso", PINNED)
    machine.later(days=1)
    maintained = await machine.people(
        partial(maintain_fleet, progress=no_progress, rebuild=rebuild)
    )
    (key,) = maintained.promoted
    assert (await machine.entry(key))["contributors"] == ["basher", "iso"]


async def test_words_and_consolidations_at_once_are_all_carried_out(machine: Machine) -> None:
    key = await machine.share(PINNED, "basher", "iso")
    answers: list[Json] = []
    async with machine.connection() as client, anyio.create_task_group() as calls:

        async def confirm(program: str) -> None:
            about = {"programId": program, "patternId": key, "evidence": f"{program} saw it"}
            answers.append(await called(client, "reinforce_memory", **about))

        async def consolidate() -> None:
            answers.append(await called(client, "pattern_consolidate"))

        for number in range(20):
            calls.start_soon(confirm, f"program-{number}")
        for _ in range(6):
            calls.start_soon(consolidate)
    assert len(answers) == 26
    machine.now += MINUTE
    assert (await machine.entry(key))["confirmations"] == 20


def long_lessons(number: int) -> tuple[str, str]:
    """Return two texts of nearly a thousand characters that share most of their words."""
    draw = random.Random(number)  # noqa: S311 a draw, not a secret
    shared, texts = draw.choices(WORDS.split(), k=90), []
    for _ in range(2):
        own = draw.choices(WORDS.split(), k=40)
        texts.append(" ".join([*own, *shared])[:990])
    return texts[0], texts[1]


async def test_hundreds_of_open_pairs_of_long_lessons_fill_no_document(machine: Machine) -> None:
    for group in range(40):
        pairs = [long_lessons(group * 12 + number) for number in range(12)]
        for program, texts in zip(
            (f"basher-{group}", f"iso-{group}"), zip(*pairs, strict=True), strict=True
        ):
            patterns = [
                lesson(text, domain=f"topic-{number}", evidence="")
                for number, text in enumerate(texts)
            ]
            about = {"programId": program, "requestId": "session", "patterns": patterns}
            await machine.call(program, "commit_session", **about)
    assert (await machine.consolidate())["openPairs"] >= 450
    sizes = [len(str(document.fields)) for document in await machine.people(documents)]
    assert max(sizes) < 100_000
    await machine.share("Equal words", "ram", "tron")
    boot = await machine.call("newcomer", "gsp_bootstrap", agentId="newcomer")
    assert [entry["pattern"] for entry in boot["knowledge"]] == ["Equal words"]
    assert (boot["freshness"]["grade"], boot["freshness"]["pending"]) == ("up_to_date", 0)


def peak_of_comparing(count: int) -> int:
    """Return the most memory, in bytes, that comparing so many lessons of one domain takes."""
    draw = np.random.default_rng(0)
    common, own = draw.integers(-127, 128, 384), draw.integers(-127, 128, (count, 384))
    rows = (0.36 * common + 0.64 * own).astype(
        np.int8
    )  # cosines about .25, as of unrelated lessons of MiniLM
    lessons = [
        ComparableLesson(
            f"program-{n // 50}", f"{n}", "general", f"Lesson {n}", text_hash(f"Lesson {n}"), None
        )
        for n in range(count)
    ]
    tracemalloc.start()
    proposals(lessons, rows, range(count), Profile())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_twice_the_lessons_of_a_domain_take_at_most_twice_the_memory() -> None:
    """All cosines at once would take four times as much: 256 MB of 8,000 lessons."""
    assert peak_of_comparing(8_000) < 2.2 * peak_of_comparing(4_000)


class Mirrored(Lexical):
    """Another embedder, by name."""

    name = "mirrored/1"


class LargestCommit(ForwardingStore):
    """A store that remembers the size of its largest commit, in characters of values."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.largest = 0

    async def commit(self, *writes: Write) -> datetime:
        size = sum(len(str(value)) for write in writes for value in (write.fields or {}).values())
        self.largest = max(self.largest, size)
        return await super().commit(*writes)


async def test_another_embedder_rewrites_the_fleet_in_commits_of_one_document(
    machine: Machine,
) -> None:
    for program in range(20):
        for session in range(2):
            patterns = [
                lesson(f"{program}-{session}-{n}", domain="d", evidence="e" * 1_500)
                for n in range(20)
            ]
            about = {
                "programId": f"p-{program}",
                "requestId": f"session-{session}",
                "patterns": patterns,
            }
            await machine.call(f"p-{program}", "commit_session", **about)
    await machine.consolidate()

    async def move(fleet: Fleet) -> int:
        store = LargestCommit(fleet.knowledge.store)
        moving = replace(on(fleet, store), embedder=Mirrored())
        moved = await reembed_fleet(moving, lambda _done, _total: None)
        assert moved.patterns == 800
        await maintain_fleet(moving, no_progress)
        return store.largest

    programs = [
        document
        for document in await machine.people(documents)
        if "/programs" in document.ref.collection
    ]
    largest = max(len(str(document.fields)) for document in programs)
    assert await machine.people(move) < 1.2 * largest
    known = Counter[str]()

    async def count(fleet: Fleet) -> None:
        for one in await fleet.programs.all():
            known.update(str(pattern.embedder) for pattern in one.program.patterns.values())

    await machine.people(count)
    assert known == {"mirrored/1": 800}
