"""A program and its pages move between stores as one: through a file that agents, or a kill, may
interrupt.
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.server.forwarding_store import ForwardingStore
from fleet_memory.stores import ABSENT, Document, Query, Ref, Store, Write
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.state import DecayPatch, update_program_state
from tests.fleets import NOW, at, learn, on
from tests.moving import bring, export_to, known_to_agents, sealed

pytestmark = pytest.mark.anyio

OLD, NEW = ("ash", "birch"), ("elm", "fir")


class ChangedBefore(ForwardingStore):
    """A store on which something happens once, just before the first read of a collection."""

    def __init__(
        self, store: Store, group: str, meanwhile: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(store)
        self._group = group
        self._meanwhile = [meanwhile]

    async def _read(self, *collections: str) -> None:
        if self._meanwhile and any(name.endswith(f"/{self._group}") for name in collections):
            await self._meanwhile.pop()()

    async def get(self, *refs: Ref) -> list[Document | None]:
        await self._read(*(ref.collection for ref in refs))
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        await self._read(query.collection)
        return await super().find(query)


@pytest.fixture
async def fleet(fleet: Fleet) -> Fleet:
    """A fleet in which basher has two lessons on a page and two that are on none."""
    await with_cap(fleet, 2)
    for names, moment in ((OLD, NOW), (NEW, NOW + timedelta(days=1))):
        for name in names:
            await learn(at(fleet, moment), "basher", f"Lesson {name}", id_=name)
    return at(fleet, NOW + timedelta(days=1, hours=1))


async def with_cap(fleet: Fleet, lessons: int) -> None:
    patch = DecayPatch.model_validate({"maxUnpromotedPatterns": lessons})
    await update_program_state(fleet, "basher", decay_config=patch)


async def exported(fleet: Fleet, file: Path) -> Path:
    await export_to(fleet, file)
    return file


def copy_of(fleet: Fleet, store: Store | None = None) -> Fleet:
    """Return another fleet on the same store, or on one around it."""
    return Fleet.on(store or fleet.programs.store, "copy", fleet.embedder, fleet.now, fleet.caller)


async def copied(fleet: Fleet) -> object:
    return known_to_agents(await copy_of(fleet).programs.read_whole("basher"))


async def original(fleet: Fleet) -> object:
    return known_to_agents(await fleet.programs.read_whole("basher"))


@pytest.mark.parametrize("group", ["programs", "pages"])
async def test_an_export_has_a_lesson_that_moves_meanwhile(
    fleet: Fleet, tmp_path: Path, group: str
) -> None:
    store = fleet.programs.store
    moving = ChangedBefore(store, group, lambda: learn(fleet, "basher", "Lesson oak", id_="oak"))
    await bring(copy_of(fleet), await exported(on(fleet, moving), tmp_path / "memory.jsonl"))
    assert await copied(fleet) == await original(fleet)
    assert (await check_memory(store, "copy", fleet.embedder)).healthy


class KilledError(Exception):
    """The import ended here."""


class KilledAfter(ForwardingStore):
    """A store that takes so many commits and no more."""

    def __init__(self, store: Store, commits: int) -> None:
        super().__init__(store)
        self._left = commits

    async def commit(self, *writes: Write) -> datetime:
        if self._left == 0:
            raise KilledError
        self._left -= 1
        return await super().commit(*writes)


async def test_an_import_that_is_killed_loses_no_lesson_and_the_next_completes_it(
    fleet: Fleet, tmp_path: Path
) -> None:
    store, newer = fleet.programs.store, at(fleet, NOW + timedelta(days=2))
    await learn(newer, "sark", "Lesson oak")
    old = await exported(fleet, tmp_path / "old.jsonl")
    await reinforce_memory(newer, "basher", "ash")  # back from its page, for elm
    new = await exported(newer, tmp_path / "new.jsonl")
    await bring(copy_of(newer), old)
    for commits in range(4):
        with suppress(KilledError):
            await bring(copy_of(newer, KilledAfter(store, commits)), new)
        assert await lessons(fleet) == {*OLD, *NEW}
    assert (await bring(copy_of(newer), new)).written == 0
    reinforced = (await copy_of(fleet).programs.read_whole("basher")).patterns["ash"]
    assert (reinforced.confirmations, reinforced.last_reinforced) == (1, newer.now())


async def lessons(fleet: Fleet) -> set[str]:
    return set((await copy_of(fleet).programs.read_whole("basher")).patterns)


async def test_lessons_that_come_in_over_the_cap_go_to_the_pages(
    fleet: Fleet, tmp_path: Path
) -> None:
    file, copy = await exported(fleet, tmp_path / "memory.jsonl"), copy_of(fleet)
    for number in range(3):
        await learn(copy, "basher", f"Lesson {number}", id_=f"own-{number}")
    assert (await bring(copy, file)).is_complete
    program = await copy.programs.read_whole("basher")
    assert (set(program.patterns), len(program.active)) == (
        {*OLD, *NEW, "own-0", "own-1", "own-2"},
        2,
    )
    assert (await check_memory(copy.programs.store, "copy", fleet.embedder)).healthy


async def documents(fleet: Fleet, *groups: str) -> list[tuple[Ref, object]]:
    found = [
        await fleet.programs.store.find(Query(fleet.programs.paths.collection(group)))
        for group in groups
    ]
    return [(document.ref, document.fields) for documents in found for document in documents]


async def test_pages_without_their_program_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    file = await exported(fleet, tmp_path / "memory.jsonl")
    _, *lines, _ = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    file.write_text(
        sealed(*(line for line in lines if json.loads(line)["collection"] != "programs")),
        encoding="utf-8",
    )
    with pytest.raises(
        InvalidArgumentError,
        match="FILE: has pages but not the programs that they belong to: basher",
    ):
        await bring(fleet, file)


async def checked(fleet: Fleet, store: Store) -> object:
    return (await check_memory(store, "default", fleet.embedder)).rows.get("unreadable")


async def test_check_names_pages_with_lessons_that_their_program_does_not_have_there(
    fleet: Fleet,
) -> None:
    store, paths = fleet.programs.store, fleet.programs.paths
    assert await checked(fleet, store) is None
    (page,) = await store.find(Query(paths.pages))
    extra = "lessons that its program does not have there: 2"
    await store.commit(Write(paths.page("basher", 2), {**page.fields, "page": 2}, ABSENT))
    assert await checked(fleet, store) == [f"pages/basher_7e_2: {extra}"]
    await store.commit(Write(paths.program("basher"), None))
    assert await checked(fleet, store) == [
        f"pages/basher_7e_1: {extra}",
        f"pages/basher_7e_2: {extra}",
    ]


@pytest.mark.parametrize("group", ["programs", "pages"])
async def test_check_names_no_lesson_that_moves_meanwhile(fleet: Fleet, group: str) -> None:
    moves = (
        lambda: learn(fleet, "basher", "Lesson oak", id_="oak"),
        lambda: reinforce_memory(fleet, "basher", "ash"),
        lambda: reinforce_memory(fleet, "basher", "birch"),
    )
    for move in moves:
        assert await checked(fleet, ChangedBefore(fleet.programs.store, group, move)) is None
