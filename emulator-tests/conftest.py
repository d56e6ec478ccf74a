"""One suite, every engine: a test that takes `store` or `open_store` runs once on each of `ENGINES`."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from fleet_memory.stores import Store
from fleet_memory.stores.sqlite import SqliteStore


def sqlite(request: pytest.FixtureRequest) -> Callable[[], Store]:
    folder: Path = request.getfixturevalue("tmp_path")
    return partial(SqliteStore, folder / "memory.db")


# What opens one more store on the data of the running test, which starts empty
ENGINES: dict[str, Callable[[pytest.FixtureRequest], Callable[[], Store]]] = {
    "sqlite": sqlite,
}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # the Firestore client does not run under trio


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:  # noqa: ARG001 - what makes anyio run this fixture
    yield  # noqa: PT022 - held to the end: one event loop for the whole run, as the Firestore client wants it


@pytest.fixture(params=ENGINES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Store]]:
    opened = ENGINES[request.param](request)
    async with AsyncExitStack() as stores:

        def another() -> Store:
            store = opened()
            stores.push_async_callback(store.close)
            return store

        yield another


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def sqlite_address(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "fleet" / "memory.db")


# What FLEET_MEMORY_STORE says to reach the store of the running test, which starts empty
ADDRESSES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": sqlite_address,
}


@pytest.fixture(params=ADDRESSES)
def store_address(request: pytest.FixtureRequest) -> str:
    return ADDRESSES[request.param](request)
