"""One suite, every engine: a test that takes `store`, `open_store` or `store_address` runs once on each of them."""

import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path

import pytest
from emulator import VARIABLE, NoEmulator, found
from indexes import Watched

from fleet_memory.stores import Store
from fleet_memory.stores.firestore import FirestoreStore
from fleet_memory.stores.sqlite import SqliteStore


def pytest_configure(config: pytest.Config) -> None:
    """Start one emulator for all workers of pytest-xdist, which inherit its address."""
    is_controller = bool(config.getoption("dist", "no") != "no") and not hasattr(config, "workerinput")
    if is_controller and not config.option.collectonly:
        folder = tempfile.TemporaryDirectory(prefix="emulator-")
        config.add_cleanup(folder.cleanup)
        with suppress(NoEmulator):  # each worker finds the same, and skips or fails its tests
            shared = found(Path(folder.name))
            config.add_cleanup(shared.stop)
            os.environ[VARIABLE] = shared.host


@pytest.fixture(scope="session")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host:port of the Firestore emulator; child processes get it too."""
    try:
        running = found(tmp_path_factory.mktemp("emulator"))
    except NoEmulator as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, running.host)
        yield running.host
    running.stop()


@pytest.fixture
def project(emulator: str) -> str:  # noqa: ARG001 - it must run
    """An unused project of the emulator: it starts empty, and there is nothing to clear."""
    return f"test-{uuid.uuid4().hex[:12]}"


def sqlite(request: pytest.FixtureRequest) -> Callable[[], Store]:
    folder: Path = request.getfixturevalue("tmp_path")
    return partial(SqliteStore, folder / "memory.db")


def firestore(request: pytest.FixtureRequest) -> Callable[[], Store]:
    return partial(FirestoreStore, request.getfixturevalue("project"))


# Openers of one more store on the data of the running test, which starts empty
ENGINES: dict[str, Callable[[pytest.FixtureRequest], Callable[[], Store]]] = {
    "sqlite": sqlite,
    "firestore": firestore,
}


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # the Firestore client does not run under trio


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:  # noqa: ARG001 - anyio runs this fixture for it
    yield  # noqa: PT022 - held to the end: one event loop for the whole run, as the Firestore client wants it


@pytest.fixture(params=ENGINES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Store]]:
    opened = ENGINES[request.param](request)
    async with AsyncExitStack() as stores:

        def another() -> Store:
            store = Watched(opened())
            stores.push_async_callback(store.close)
            return store

        yield another


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def sqlite_address(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "fleet" / "memory.db")


def firestore_address(request: pytest.FixtureRequest) -> str:
    return f"firestore://{request.getfixturevalue('project')}"


# The value of FLEET_MEMORY_STORE that reaches the store of the running test, which starts empty
ADDRESSES: dict[str, Callable[[pytest.FixtureRequest], str]] = {
    "sqlite": sqlite_address,
    "firestore": firestore_address,
}


@pytest.fixture(params=ADDRESSES)
def store_address(request: pytest.FixtureRequest) -> str:
    return ADDRESSES[request.param](request)
