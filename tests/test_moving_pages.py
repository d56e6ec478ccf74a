"""A program and its pages move between stores as one: through a file that agents, or a kill, may interrupt."""

import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import check_memory
from fleet_memory.jobs.transfer.exporting import export_fleet
from fleet_memory.jobs.transfer.importing import Imported, import_fleet
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.state import DecayPatch
from fleet_memory.stores import ABSENT, Document, Query, Ref, Store, Write
from fleet_memory.tools.reinforce_memory import reinforce_memory
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


class KilledError(Exception):
    """The import ended here."""


class KilledAfter(Wrapped):
    """A store that takes so many commits and no more."""

    def __init__(self, store: Store, commits: int) -> None:
        super().__init__(store)
        self._left = commits

    async def commit(self, *writes: Write) -> datetime:
        if self._left == 0:
            raise KilledError
        self._left -= 1
        return await super().commit(*writes)


async def test_an_import_that_is_killed_loses_no_lesson(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet_memory.jobs.transfer.importing.DOCUMENTS_PER_READ", 1)  # as in a large fleet
    store, newer = fleet.programs.store, at(fleet, NOW + timedelta(days=2))
    old = await export(store, tmp_path / "old.jsonl")
    await reinforce_memory(newer, "basher", "ash")  # back from its page, for elm
    new = await export(store, tmp_path / "new.jsonl")
    await bring(store, old)
    for commits in range(3):
        before = await copied(fleet)
        with suppress(KilledError):
            await bring(KilledAfter(store, commits), new)
        assert await copied(fleet) in (before, await newer.programs.read_whole("basher"))
    assert await copied(fleet) == await newer.programs.read_whole("basher")


async def test_an_import_that_overwrites_leaves_no_page_behind(fleet: Fleet, tmp_path: Path) -> None:
    store = fleet.programs.store
    await with_cap(fleet, 10)
    file = await export(store, tmp_path / "memory.jsonl")
    before = await documents(fleet, "pages", "programs")
    await with_cap(fleet, 2)
    await learn(fleet, "basher", "A secret", id_="oak")
    await bring(store, file, fleet="default", overwrite=True)
    assert await documents(fleet, "pages", "programs") == before


async def documents(fleet: Fleet, *groups: str) -> list[tuple[Ref, object]]:
    found = [await fleet.programs.store.find(Query(fleet.programs.paths.collection(group))) for group in groups]
    return [(document.ref, document.fields) for documents in found for document in documents]


async def test_pages_without_their_program_are_refused(fleet: Fleet, tmp_path: Path) -> None:
    file = await export(fleet.programs.store, tmp_path / "memory.jsonl")
    header, *lines, _ = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    lines = [line for line in lines if json.loads(line)["collection"] != "programs"]
    footer = {"documents": len(lines), "sha256": hashlib.sha256("\n".join(lines).encode()).hexdigest()}
    file.write_text("\n".join([header, *lines, json.dumps(footer)]) + "\n", encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="FILE: has pages but not the programs that they belong to: basher"):
        await bring(fleet.programs.store, file)


async def checked(fleet: Fleet, store: Store) -> object:
    return (await check_memory(store, "default", fleet.embedder)).rows.get("unreadable")


async def test_check_names_pages_with_lessons_that_their_program_does_not_have_there(fleet: Fleet) -> None:
    store, paths = fleet.programs.store, fleet.programs.paths
    assert await checked(fleet, store) is None
    (page,) = await store.find(Query(paths.pages))
    extra = "lessons that its program does not have there: 2"
    await store.commit(Write(paths.page("basher", 2), {**page.fields, "page": 2}, ABSENT))
    assert await checked(fleet, store) == [f"pages/basher_7e_2: {extra}"]
    await store.commit(Write(paths.program("basher"), None))
    assert await checked(fleet, store) == [f"pages/basher_7e_1: {extra}", f"pages/basher_7e_2: {extra}"]


@pytest.mark.parametrize("group", ["programs", "pages"])
async def test_check_names_no_lesson_that_moves_meanwhile(fleet: Fleet, group: str) -> None:
    moves = (
        lambda: learn(fleet, "basher", "Lesson oak", id_="oak"),
        lambda: reinforce_memory(fleet, "basher", "ash"),
        lambda: reinforce_memory(fleet, "basher", "birch"),
    )
    for move in moves:
        assert await checked(fleet, ChangedBefore(fleet.programs.store, group, move)) is None
