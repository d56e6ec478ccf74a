"""Moving a memory to another embedder, among agents that go on learning."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Query
from fleet_memory.tools.core.judging import pattern_consolidate
from tests.fleets import FLEET, NOW, at, interrupted, learn, writing

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


async def rebuild(fleet: Fleet) -> int | None:
    """Return how many vectors a rebuild makes."""
    return (await maintain_fleet(fleet, no_progress, rebuild=True)).embedded


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
    assert await rebuild(fleet) == 4
    assert await embedders(fleet) == {"mirrored/1"}
    assert await rebuild(fleet) is None


async def test_an_entry_without_a_vector_gets_one_in_the_next_run(fleet: Fleet) -> None:
    ((entry, _),) = await fleet.knowledge.all()
    assert entry is not None
    await fleet.knowledge.update(
        entry.key, lambda entry: replace(entry, vector="", embedder="", unpublished=True)
    )
    assert (await maintain_fleet(fleet, no_progress)).embedded == 1
    assert (await fleet.knowledge.found(entry.key)).embedder == "mirrored/1"


async def test_only_the_vectors_change(fleet: Fleet) -> None:
    before = (await fleet.programs.read("basher")).patterns["mine"]
    await rebuild(fleet)
    after = (await fleet.programs.read("basher")).patterns["mine"]
    assert after.vector != before.vector
    assert replace(after, vector=before.vector, embedder=before.embedder) == before


async def test_the_next_consolidation_compares_by_the_new_vectors(fleet: Fleet) -> None:
    await rebuild(fleet)
    await learn(fleet, "clu", ROTATE)
    promoted = (await pattern_consolidate(fleet, no_progress)).promoted
    assert [entry.contributors for entry in promoted] == [("clu", "iso")]
    assert {row.embedder for row in (await fleet.knowledge.snapshots.read()).rows} == {"mirrored/1"}


async def test_a_lesson_that_is_reworded_meanwhile_keeps_the_vector_of_its_new_words(
    fleet: Fleet,
) -> None:
    new = "Compress the log files once a week"
    await rebuild(
        interrupted(
            fleet, writing("programs"), lambda: learn(fleet, "basher", new, change="reworded")
        )
    )
    pattern = (await fleet.programs.read("basher")).patterns["mine"]
    await learn(fleet, "quorra", new)
    assert pattern == replace(pattern, pattern=new, embedder="mirrored/1")
    assert pattern.vector == (await fleet.programs.read("quorra")).patterns["mine"].vector


async def test_a_stand_in_replaces_no_vector(fleet: Fleet) -> None:
    assert await rebuild(replace(fleet, embedder=Mirrored("The model does not load."))) is None
    assert await embedders(fleet) == {"lexical/1"}
