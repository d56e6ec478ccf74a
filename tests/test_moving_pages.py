"""A program and its pages move between stores as one: through a file that agents, or a kill, may interrupt."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.transfer import Imported, export_fleet, import_fleet
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.state import DecayPatch
from fleet_memory.stores import Document, Query, Ref, Store
from fleet_memory.tools.update_program_state import update_program_state
from tests.fleets import NOW, at, learn
from tests.wrapped import Wrapped

pytestmark = pytest.mark.anyio

OLD, NEW = ("ash", "birch"), ("elm", "fir")


class ChangedBefore(Wrapped):
    """A store on which something happens once, just before the first read of a collection."""

    def __init__(self, store: Store, group: str, meanwhile: Callable[[], Awaitable[object]]) -> None:
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


async def export(store: Store, file: Path) -> Path:
    await export_fleet(store, "default", file, NOW, force=False, step=uncounted)
    return file


async def bring(store: Store, file: Path, *, fleet: str = "copy", overwrite: bool = False) -> Imported:
    return await import_fleet(store, fleet, file, overwrite=overwrite, step=uncounted)


def uncounted(_done: int, _total: int) -> None:
    """Count nothing."""


async def copied(fleet: Fleet) -> Program:
    copy = Fleet.on(fleet.programs.store, "copy", fleet.embedder, fleet.now, fleet.caller)
    return await copy.programs.read_whole("basher")


@pytest.mark.parametrize("group", ["programs", "pages"])
async def test_an_export_has_a_lesson_that_moves_meanwhile(fleet: Fleet, tmp_path: Path, group: str) -> None:
    store = fleet.programs.store
    moving = ChangedBefore(store, group, lambda: learn(fleet, "basher", "Lesson oak", id_="oak"))
    await bring(store, await export(moving, tmp_path / "memory.jsonl"))
    assert await copied(fleet) == await fleet.programs.read_whole("basher")
    assert (await check_memory(store, "copy", fleet.embedder)).healthy
