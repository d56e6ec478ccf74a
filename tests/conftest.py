from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from fleet_memory.settings import Settings, load

if TYPE_CHECKING:
    from mcp import Client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator["Client"]:
    from mcp import Client  # half a second that tests of rules need not wait for

    from fleet_memory.server.app import create_server

    with anyio.fail_after(30):
        async with Client(create_server(settings), raise_exceptions=True) as client:
            yield client
