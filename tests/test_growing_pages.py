"""Pages whose lessons grow where they are: by words of agents, and by the vectors of another
embedder.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.reembedding import Moved, reembed_fleet
from fleet_memory.repositories.room import with_room
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import (
    MAX_PAGE_BYTES,
    MAX_PATTERNS_PER_PAGE,
    DecayConfig,
    Program,
)
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Query
from fleet_memory.tools.core.lessons import reinforce_memory
from tests.fleets import NOW, at, learn
from tests.lessons import START, pattern, program

pytestmark = pytest.mark.anyio


class Long(Lexical):
    """An embedder with vectors of 3,072 dimensions."""

    name = "long/3072"

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        return np.full((len(texts), 3_072), 3_072**-0.5, dtype=np.float32)


def with_pages(count: int, size: int) -> Program:
    """A program with one lesson at hand and so many on its pages, each with evidence of so many
    bytes.
    """
    lessons = [
        pattern(f"Lesson {n}", id=f"l{n}", confidence=n / 1_000, evidence="e" * size)
        for n in range(count)
    ]
    paged = {
        one.id: paged_lesson(one, 1 + n // MAX_PATTERNS_PER_PAGE) for n, one in enumerate(lessons)
    }
    decay = DecayConfig(max_unpromoted_patterns=1)
    return program(pattern("At hand", id="own"), *lessons, decay=decay, paged=paged)


def page_bytes(memory: Program) -> dict[int, int]:
    sizes = {1: 0, 2: 0}
    for one in memory.paged.values():
        sizes[one.page] += memory.patterns[one.id].stored_bytes
    return sizes


def grown(before: Program, *ids: str, size: int) -> Program:
    longer: dict[str, Pattern] = {
        id_: replace(before.patterns[id_], evidence="e" * size) for id_ in ids
    }
    return replace(before, patterns={**before.patterns, **longer})


def test_a_page_that_its_lessons_outgrew_gives_the_weakest_to_the_other_page() -> None:
    before = with_pages(200, 2_500)
    change = with_room(
        before, grown(before, *(f"l{n}" for n in range(100, 200)), size=4_000), START
    )
    moved = [id_ for id_, one in change.program.paged.items() if one.page == 2]
    assert moved == [f"l{n}" for n in range(len(moved))]
    assert (0 < len(moved) < 60, change.archived, change.program.patterns_count) == (True, (), 201)
    assert max(page_bytes(change.program).values()) <= MAX_PAGE_BYTES


def test_where_both_pages_are_outgrown_the_weakest_go_to_the_archive_and_contributions_last() -> (
    None
):
    before = with_pages(400, 2_500)
    shared = {
        id_: replace(before.patterns[id_], knowledge_key="pattern/x/y") for id_ in ("l0", "l1")
    }
    before = replace(before, patterns={**before.patterns, **shared})
    change = with_room(
        before, grown(before, *(f"l{n}" for n in range(100, 200)), size=4_000), START
    )
    gone = [line.pattern.id for line in change.archived]
    assert ({"l0", "l1"} & {*gone}, {line.reason for line in change.archived}) == (set(), {"cap"})
    assert {*gone} | {*change.program.patterns} == {*before.patterns}
    assert max(page_bytes(change.program).values()) <= MAX_PAGE_BYTES


async def test_a_word_about_a_lesson_on_a_full_page_counts(fleet: Fleet) -> None:
    await fleet.programs.update("basher", lambda _: ProgramChange(with_pages(200, 2_780)), NOW)
    for n in range(3):
        moment = NOW + timedelta(hours=n)
        await reinforce_memory(
            at(fleet, moment), "basher", "l199", outcome="contradicted", evidence=f"{n}" * 2_000
        )
    memory = await fleet.programs.read_whole("basher")
    assert (memory.patterns["l199"].contradictions, memory.patterns_count) == (3, 201)
    assert max(page_bytes(memory).values()) <= MAX_PAGE_BYTES < sum(page_bytes(memory).values())


async def test_longer_vectors_move_lessons_out_of_a_page_and_a_program_without_room_is_named(
    fleet: Fleet,
) -> None:
    own = {f"own{n}": pattern(f"Own {n}", id=f"own{n}", evidence="e" * 6_000) for n in range(140)}
    full = replace(
        program(*own.values(), decay=DecayConfig(max_unpromoted_patterns=500)), program_id="full"
    )
    await fleet.programs.update("full", lambda _: ProgramChange(full), NOW)
    await fleet.programs.update("basher", lambda _: ProgramChange(with_pages(200, 2_700)), NOW)
    await learn(at(fleet, NOW), "sark", "Another lesson")
    moved = await reembed_fleet(replace(fleet, embedder=Long()), lambda _done, _total: None)
    assert moved._replace(skipped=()) == Moved("long/3072", patterns=202, entries=0)
    assert [line.split(":")[0] for line in moved.skipped] == ["program full"]
    memory = await fleet.programs.read_whole("basher")
    archived = await fleet.programs.store.find(Query(fleet.programs.paths.archive))
    assert (len(archived) > 0, len(archived) + memory.patterns_count) == (True, 201)
    assert {one.embedder for one in memory.patterns.values()} == {"long/3072"}
    assert max(page_bytes(memory).values()) <= MAX_PAGE_BYTES
