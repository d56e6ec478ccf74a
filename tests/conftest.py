from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from fleet_memory.settings import Settings, load
from tests.bounds import HANG_S

if TYPE_CHECKING:
    from mcp import Client

    from fleet_memory.fleet import Fleet


# Tests of many rules and jobs at once, each of which has tests of its own. Tracing them for
# scripts/coverage_floor.py would double their time.
UNTRACED = ("law_histories", "law_random", "laundering", "demo", "matrix", "page_commands")


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Leave some tests out of the coverage."""
    for item in items:
        if item.path.stem.removeprefix("test_") in UNTRACED:
            item.add_marker(pytest.mark.no_cover)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})


@pytest.fixture
async def fleet(settings: Settings) -> AsyncIterator["Fleet"]:
    """The fleet of the settings, for tests that call jobs and tools as plain functions."""
    from fleet_memory.clock import clock
    from fleet_memory.server.composition import LazyFleet

    lazy = LazyFleet(settings, clock(settings.now))
    with anyio.fail_after(HANG_S):
        yield await lazy.fleet()
    await lazy.close()


@pytest.fixture
async def here(fleet: "Fleet") -> "Fleet":
    """The fleet that takes a file in."""
    from tests.fleets import NOW, at

    return at(fleet, NOW)


@pytest.fixture
async def there(tmp_path: Path, fleet: "Fleet") -> AsyncIterator["Fleet"]:
    """A fleet of the same name on another laptop, a day later."""
    from fleet_memory.stores.sqlite import SqliteStore
    from tests.fleets import NOW, at, on
    from tests.lessons import days

    store = SqliteStore(tmp_path / "there.db")
    yield at(on(fleet, store), NOW + days(1))
    await store.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that a memory moves in."""
    return tmp_path / "moving.jsonl"


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator["Client"]:
    from mcp import Client  # half a second that tests of rules need not wait for

    from fleet_memory.server.app import create_server

    with anyio.fail_after(HANG_S):
        async with Client(create_server(settings), raise_exceptions=True) as client:
            yield client


@pytest.fixture
async def full_client(tmp_path: Path) -> AsyncIterator["Client"]:
    """A client of a server with every toolset."""
    from mcp import Client

    from fleet_memory.server.app import create_server

    flags = {"store": str(tmp_path / "memory.db"), "embedder": "lexical", "toolsets": "all"}
    with anyio.fail_after(HANG_S):
        async with Client(create_server(load(flags, {})), raise_exceptions=True) as client:
            yield client
