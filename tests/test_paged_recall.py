"""An agent that stores more than its cap finds every lesson by a question."""

from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.schemas.programs import MAX_UNPROMOTED_PATTERNS, Program
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import memory_health
from fleet_memory.tools.retrieval import EMPTY
from tests.fleets import NOW, at, learn

pytestmark = pytest.mark.anyio

STORED = 300


def text(number: int) -> str:
    return f"Route shipment {number * 7919} through depot{number} before noon"


async def test_all_of_300_lessons_of_one_agent_are_found_by_their_words(fleet: Fleet) -> None:
    fleet = at(fleet, NOW)
    for number in range(STORED):
        await learn(fleet, "basher", text(number), id_=f"p{number}", domain="shipping")
    first = [
        (
            await recall_memory(fleet, "basher", query=f"which way for depot{number}", limit=1)
        ).patterns[0]
        for number in range(STORED)
    ]
    assert [one.id for one in first] == [f"p{number}" for number in range(STORED)]
    assert sum(one.archived is True for one in first) == STORED - MAX_UNPROMOTED_PATTERNS
    boot, plain = (
        await gsp_bootstrap(fleet, "basher", depth="full"),
        await recall_memory(fleet, "basher", limit=100),
    )
    active = {one.id for one in first if not one.archived}
    assert {one.id for one in boot.patterns} <= active
    assert {one.id for one in plain.patterns} <= active
    assert (plain.total, (await memory_health(fleet, "basher")).total_patterns) == (
        MAX_UNPROMOTED_PATTERNS,
        STORED,
    )


async def test_an_agent_with_all_its_lessons_on_a_page_is_advised_to_ask(fleet: Fleet) -> None:
    await learn(fleet, "basher", text(1), id_="p1", domain="shipping")
    (before,) = await fleet.programs.read_versioned("basher")
    await fleet.programs.commit([VersionedChange(before, on_a_page(before.program))])
    plain = await recall_memory(fleet, "basher", domain="shipping", scope="own")
    assert (plain.total, plain.note) == (
        0,
        "Nothing matched. Try a query or fewer filters or scope all.",
    )
    assert (
        await recall_memory(fleet, "basher", scope="all")
    ).note == "Nothing matched. Try a query."
    assert (await recall_memory(fleet, "basher", scope="shared")).note == EMPTY["shared"]
    assert [one.id for one in (await recall_memory(fleet, "basher", query=text(1))).patterns] == [
        "p1"
    ]


def on_a_page(program: Program) -> Program:
    return replace(
        program, paged={id_: paged_lesson(one, 1) for id_, one in program.patterns.items()}
    )
