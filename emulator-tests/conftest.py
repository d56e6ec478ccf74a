"""One suite, every engine: a test that takes `store`, `open_store` or `store_address` runs once on
each of them.
"""

import os
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from agents import NOWHERE
from emulator import VARIABLE, NoEmulator, found
from indexes import Watched

from fleet_memory.extensions import OWN, location
from fleet_memory.server import composition
from fleet_memory.stores import Store


def pytest_configure(config: pytest.Config) -> None:
    """Start one emulator for all workers of pytest-xdist, which inherit its address."""
    is_controller = bool(config.getoption("dist", "no") != "no") and not hasattr(
        config, "workerinput"
    )
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


def sqlite(request: pytest.FixtureRequest) -> str:
    folder: Path = request.getfixturevalue("tmp_path")
    return str(folder / "fleet" / "memory.db")


def firestore(request: pytest.FixtureRequest) -> str:
    return f"firestore://{request.getfixturevalue('project')}"


def sqlite_below_a_file(request: pytest.FixtureRequest) -> str:
    file: Path = request.getfixturevalue("tmp_path") / NOWHERE
    file.touch()
    return str(file / "memory.db")


def firestore_without_emulator(request: pytest.FixtureRequest) -> str:
    request.getfixturevalue("monkeypatch").setenv(VARIABLE, "127.0.0.1:1")
    return f"firestore://{NOWHERE}"


class Engine(NamedTuple):
    """`address` is the value of FLEET_MEMORY_STORE for the memory of the running test, which starts
    empty.

    `out_of_reach` is that of a store which cannot be opened; `NOWHERE` is a part of it.
    """

    address: Callable[[pytest.FixtureRequest], str]
    out_of_reach: Callable[[pytest.FixtureRequest], str]


ENGINES = {
    "sqlite": Engine(sqlite, sqlite_below_a_file),
    "firestore": Engine(firestore, firestore_without_emulator),
}
assert ENGINES.keys() == OWN["stores"].keys(), "each engine of extensions.toml has a line here"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"  # the Firestore client does not run under trio


@pytest.fixture(scope="session", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:  # noqa: ARG001 - anyio runs this fixture for it
    yield  # noqa: PT022 - held to the end: one event loop for the whole run, as the Firestore client wants it


@pytest.fixture(params=ENGINES)
async def open_store(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[], Store]]:
    place = location(ENGINES[request.param].address(request))
    async with AsyncExitStack() as stores:

        def another() -> Store:
            store = Watched(composition.open_store(place))
            stores.push_async_callback(store.close)
            return store

        yield another


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


@pytest.fixture(params=ENGINES)
def store_address(request: pytest.FixtureRequest) -> str:
    return ENGINES[request.param].address(request)


@pytest.fixture(params=ENGINES)
def out_of_reach(request: pytest.FixtureRequest) -> str:
    return ENGINES[request.param].out_of_reach(request)
