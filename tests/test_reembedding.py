"""Moving a memory to another embedder: in as many attempts as it takes, among agents that go on
learning.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.embedding import Moved, reembed_fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Query
from fleet_memory.tools.core.judging import pattern_consolidate
from tests.fleets import FLEET, NOW, at, documents, interrupted, learn, writing

pytestmark = pytest.mark.anyio

CLAIM = "Check that a task is still free before you claim it"
ROTATE = "Rotate the log files once a day"


class Mirrored(Lexical):
    """Another embedder: every vector points the other way."""

    name = "mirrored/1"

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        return -await super().vectors(texts)


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet with an entry and three lessons, all with vectors of the lexical embedder, to be
    moved to another.
    """
    fleet = at(fleet, NOW)
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", ROTATE)
    await pattern_consolidate(fleet, no_progress)
    return replace(fleet, embedder=Mirrored())


def uncounted(_done: int, _total: int) -> None:
    """Count nothing."""


async def embedders(fleet: Fleet) -> set[object]:
    """Return the embedders of all vectors that the fleet has."""
    entries = await fleet.knowledge.store.find(Query(f"fleets/{FLEET}/gsp"))
    programs = await fleet.programs.all()
    return {entry.fields["embedder"] for entry in entries} | {
        pattern.embedder for one in programs for pattern in one.program.patterns.values()
    }


async def test_every_lesson_and_entry_gets_a_vector_of_the_new_embedder_and_then_no_more(
    fleet: Fleet,
) -> None:
    steps: list[tuple[int, int]] = []
    moved = await reembed_fleet(fleet, lambda done, total: steps.append((done, total)))
    assert moved == Moved("mirrored/1", patterns=3, entries=1)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert await embedders(fleet) == {"mirrored/1"}
    before = await documents(fleet)
    assert await reembed_fleet(fleet, uncounted) == Moved("mirrored/1", patterns=0, entries=0)
    assert await documents(fleet) == before


async def test_only_the_vectors_change(fleet: Fleet) -> None:
    before = (await fleet.programs.read("basher")).patterns["mine"]
    await reembed_fleet(fleet, uncounted)
    after = (await fleet.programs.read("basher")).patterns["mine"]
    assert after.vector != before.vector
    assert replace(after, vector=before.vector, embedder=before.embedder) == before


async def test_the_next_consolidation_compares_by_the_new_vectors(fleet: Fleet) -> None:
    await reembed_fleet(fleet, uncounted)
    await learn(fleet, "clu", ROTATE)
    promoted = (await pattern_consolidate(fleet, no_progress)).promoted
    assert [entry.contributors for entry in promoted] == [("clu", "iso")]
    assert {row.embedder for row in (await fleet.knowledge.snapshots.read()).rows} == {"mirrored/1"}


async def test_a_lesson_that_is_reworded_meanwhile_keeps_the_vector_of_its_new_words(
    fleet: Fleet,
) -> None:
    new = "Compress the log files once a week"
    await reembed_fleet(
        interrupted(
            fleet, writing("programs"), lambda: learn(fleet, "basher", new, change="reworded")
        ),
        uncounted,
    )
    pattern = (await fleet.programs.read("basher")).patterns["mine"]
    await learn(fleet, "quorra", new)
    assert pattern == replace(pattern, pattern=new, embedder="mirrored/1")
    assert pattern.vector == (await fleet.programs.read("quorra")).patterns["mine"].vector


async def test_an_embedder_that_does_not_load_changes_nothing(fleet: Fleet) -> None:
    before = await documents(fleet)
    with pytest.raises(EmbedderError, match=r"The model does not load\. Nothing was changed"):
        await reembed_fleet(
            replace(fleet, embedder=Mirrored("The model does not load.")), uncounted
        )
    assert await documents(fleet) == before
