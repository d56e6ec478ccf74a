"""A look at a large memory keeps no other call waiting: it runs beside the event loop."""

import random
import time
from dataclasses import replace

import anyio
import anyio.lowlevel
import numpy as np
import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.tools.memory_health import memory_health
from tests.lessons import pattern

pytestmark = pytest.mark.anyio

LESSONS = 100
ALIKE = packed(np.array([1.0, 0.0], np.float32))


def figures(number: int, fleet: Fleet) -> Pattern:
    """Return a lesson that is alike to all others, and costs much to compare."""
    text = " ".join(map(str, random.Random(number).sample(range(100, 1_000), 240)))  # noqa: S311 guards no secret
    now = fleet.now()
    lesson = pattern(text, id=f"f{number}", discovered_at=now, last_reinforced=now, stored_at=now)
    return replace(lesson, vector=ALIKE, embedder=fleet.embedder.name)


class Near(Lexical):
    """An engine to which lessons can be alike."""

    profile = Profile()


async def test_other_calls_go_on_while_a_memory_of_figures_is_looked_at(fleet: Fleet) -> None:
    fleet = replace(fleet, embedder=Near())
    lessons = {
        lesson.id: lesson for lesson in (figures(number, fleet) for number in range(LESSONS))
    }

    def change(program: Program) -> ProgramChange:
        return ProgramChange(replace(program, patterns=lessons))

    await fleet.programs.update("basher", change, fleet.now())
    gaps: list[float] = []

    async def tick() -> None:
        while True:
            before = time.perf_counter()
            await anyio.lowlevel.checkpoint()
            gaps.append(time.perf_counter() - before)

    async with anyio.create_task_group() as others:
        others.start_soon(tick)
        begun = time.perf_counter()
        health = await memory_health(fleet, "basher")
        whole = time.perf_counter() - begun
        others.cancel_scope.cancel()
    assert health.total_patterns == LESSONS
    assert max(gaps) < 0.7 * whole
