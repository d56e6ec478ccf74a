"""The worlds that each history happens to: each is opened with its near texts and an empty folder."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from tests.law_fleet import FleetWorld
from tests.law_world import World
from tests.plain_world import PlainWorld

Near = Iterable[Iterable[str]]
OpenWorld = Callable[[Near, Path], AbstractAsyncContextManager[World]]


@asynccontextmanager
async def plain(near: Near, _folder: Path) -> AsyncIterator[World]:
    yield PlainWorld(near)


@asynccontextmanager
async def fleet(near: Near, _folder: Path) -> AsyncIterator[World]:
    async with FleetWorld([frozenset(x) for x in near]) as world:
        yield world


WORLDS: dict[str, OpenWorld] = {"plain": plain, "fleet": fleet}
