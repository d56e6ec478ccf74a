"""Two laptops with programs of the same names go into one store and back, through files: nothing of
either is missing, and all three have one view.
"""

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.programs import absent_program
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, changed_entry_fields
from fleet_memory.rules.union import MemoryDocuments
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import ABSENT, Query, Write
from fleet_memory.stores.sqlite import SqliteStore
from tests.bounds import examples
from tests.moving import bring, export_to
from tests.test_union import END, Memory, Step, lived, steps

FLEET = "default"
# pairs of lives; 2,000 of them in a nightly run
PHASES = [Phase.explicit, Phase.generate]  # shrinking takes minutes


class Laptop:
    """A store of its own, with the file that its memory moves in."""

    def __init__(self, folder: Path, name: str) -> None:
        self.store = SqliteStore(folder / f"{name}.db")
        self.file = folder / f"{name}.jsonl"
        self.fleet = Fleet.on(self.store, FLEET, Lexical(), lambda: END)

    async def live(self, memory: Memory) -> None:
        """Store a memory that was lived elsewhere."""
        fleet, (programs, entries, pairs) = self.fleet, memory.documents
        for program in programs.values():
            before = absent_program(program.program_id)
            await commit_settled(fleet.store, *fleet.programs.writes(before, program))
        writes = [
            Write(
                fleet.knowledge.paths.entry(key), changed_entry_fields(ABSENT_ENTRY, entry), ABSENT
            )
            for key, entry in entries.items()
        ]
        writes += [
            fleet.pairs.write(VersionedPair(id_, None, ABSENT), pair) for id_, pair in pairs.items()
        ]
        await self.store.commit(*writes)

    async def take(self, other: "Laptop") -> int:
        """Merge the other's file, and return how many documents changed."""
        await export_to(other.fleet, other.file, force=True)
        return (await bring(self.fleet, other.file)).written

    async def memory(self) -> Memory:
        fleet = self.fleet
        ids = [one.ref.id for one in await self.store.find(Query(fleet.pairs.paths.pairs))]
        pairs = await fleet.pairs.read(*ids) if ids else []
        programs = [one.program for one in await fleet.programs.all()]
        entries = [one.entry for one in await fleet.knowledge.all() if one.entry]
        return Memory(
            MemoryDocuments(
                {one.program_id: one for one in programs},
                {one.key: one for one in entries},
                {one.pair_id: one.pair for one in pairs if one.pair},
            )
        )


async def move_there_and_back(folder: Path, first: Memory, second: Memory) -> None:
    async with AsyncExitStack() as stack:
        one, two, hub = (Laptop(folder, name) for name in ("one", "two", "hub"))
        for laptop in (one, two, hub):
            stack.push_async_callback(laptop.store.close)
        await one.live(first)
        await two.live(second)
        for source, target in ((one, hub), (two, hub), (hub, one), (hub, two)):
            await target.take(source)
            assert await target.take(source) == 0
        view = (await hub.memory()).view()
        for laptop in (one, two):
            assert (await laptop.memory()).view() == view
            await hub.take(laptop)  # lines of the ledger about its import alone
            assert (await hub.memory()).view() == view
            assert (await check_memory(laptop.store, FLEET, Lexical())).healthy


@given(st.lists(steps, max_size=6), st.lists(steps, max_size=10), st.lists(steps, max_size=10))
@settings(
    max_examples=examples(8), deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck)
)
def test_two_laptops_and_the_store_between_them_have_one_view_of_all_that_either_learnt(
    common: list[Step], first: list[Step], second: list[Step]
) -> None:
    past = lived(Memory(), common, 0)
    with tempfile.TemporaryDirectory() as folder:
        one, other = lived(past, first, 100), lived(past, second, 101)
        anyio.run(move_there_and_back, Path(folder), one, other)
