"""A fleet in this process, for tests of jobs: other moments, its documents, and interruptions at
the worst moment.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.runs import take
from fleet_memory.repositories.snapshots import row_of
from fleet_memory.rules.asking import with_questions
from fleet_memory.rules.entries import recorded_state
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.patterns import NewPattern, TextChange
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Query, Store, Write
from fleet_memory.tools.core.lessons import store_memory
from tests.wrapped import ForwardingStore

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
FLEET = "default"
COLLECTIONS = (
    "programs",
    "pages",
    "gsp",
    "pairs",
    "snapshots",
    "ledger",
    "archive",
    "history",
    "maintenance",
)

Meanwhile = Callable[[], Awaitable[object]]
Matches = Callable[[Sequence[Write]], bool]


class Interrupted(ForwardingStore):
    """A store on which something happens once, just before the first commit that matches."""

    def __init__(self, store: Store, matches: Matches, meanwhile: Meanwhile) -> None:
        super().__init__(store)
        self._matches = matches
        self._meanwhile = [meanwhile]

    async def commit(self, *writes: Write) -> datetime:
        if self._meanwhile and self._matches(writes):
            await self._meanwhile.pop()()
        return await super().commit(*writes)


def at(fleet: Fleet, moment: datetime) -> Fleet:
    return replace(fleet, now=lambda: moment)


def on(fleet: Fleet, store: Store) -> Fleet:
    return Fleet.on(store, FLEET, fleet.embedder, fleet.now, fleet.caller)


def interrupted(fleet: Fleet, matches: Matches, meanwhile: Meanwhile) -> Fleet:
    """Return the fleet on a store that runs `meanwhile` just before the first commit that
    matches.
    """
    return on(fleet, Interrupted(fleet.knowledge.store, matches, meanwhile))


def writing(collection: str) -> Matches:
    """Match commits that write a document of this collection."""
    return lambda writes: any(write.ref.collection.endswith(f"/{collection}") for write in writes)


async def learn(
    fleet: Fleet,
    program: str,
    text: str,
    *,
    id_: str = "mine",
    domain: str = "tasks",
    change: TextChange | None = None,
) -> None:
    lesson = NewPattern(
        pattern=text,
        domain=domain,
        confidence=0.8,
        evidence=f"{program} saw it happen twice",
        id=id_,
        change=change,
    )
    await store_memory(fleet, program, lesson)


async def show(fleet: Fleet, program: str, *pairs: Pair) -> None:
    """Show pairs to a program, as the answer of a tool does: from now on its verdicts about them
    count.
    """
    now = fleet.now()

    def shown(before: Program) -> ProgramChange:
        return ProgramChange(with_questions(before, pairs, now))

    await fleet.programs.update(program, shown, now)


async def documents(fleet: Fleet) -> list[Document]:
    """Return everything that the fleet stored, but its leases."""
    store = fleet.knowledge.store
    return [
        document
        for name in COLLECTIONS
        for document in await store.find(Query(f"fleets/{FLEET}/{name}"))
    ]


async def lease_to_another(fleet: Fleet, name: str, after: timedelta = timedelta(0)) -> None:
    """Give the lease of this name to another run, which asks for it `after` so long."""
    lease = await take(
        fleet.knowledge.store,
        fleet.knowledge.paths.lease(name),
        "another",
        now=fleet.now() + after,
        ttl_s=60,
    )
    assert lease is not None


async def unshown(fleet: Fleet) -> list[str]:
    """Return the keys of the entries that boot does not read as they are."""
    rows = {row.key: row for row in (await fleet.knowledge.snapshots.read()).rows}
    return [
        entry.key
        for entry in [each.entry for each in await fleet.knowledge.all() if each.entry]
        if (row := rows.get(entry.key)) is not None or recorded_state(entry) != "candidate"
        if row is None or row_of(entry, row.since, row.changed_in) != row
    ]
