"""The memories that versions before wrote, in each form: opened as a SQLite file, imported, or in
the emulator.
"""

import json
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pytest

from fleet_memory.server.composition import open_store
from fleet_memory.settings import load
from fleet_memory.stores import Store
from tests.moving import bring
from tests.older import DATA, exported, fleet_of, unpacked

Request: TypeAlias = pytest.FixtureRequest


@asynccontextmanager
async def open_memory(address: str) -> AsyncIterator[Store]:
    """Open the store at an address, for jobs that need no server."""
    store = open_store(load({"store": address}, {}).store)
    try:
        yield store
    finally:
        await store.close()


async def opened_file(version: str, request: Request) -> str:
    """Return the address of the version's own SQLite file."""
    folder: Path = request.getfixturevalue("tmp_path")
    return str(unpacked(version, folder / "memory.db"))


async def imported_file(version: str, request: Request) -> str:
    """Return the address of a new file with the version's export."""
    folder: Path = request.getfixturevalue("tmp_path")
    address = str(folder / "imported.db")
    file = exported(version, folder / "before.jsonl")
    async with open_memory(address) as store:
        assert (await bring(fleet_of(store, datetime.now(UTC)), file)).is_complete
    return address


async def imported_emulator(version: str, request: Request) -> str:
    """Let the emulator import the version's own documents into an unused project."""
    return emulator_import(
        version, request.getfixturevalue("emulator"), request.getfixturevalue("project")
    )


def emulator_import(version: str, host: str, project: str) -> str:
    """Let the emulator import its own export into a project; return the address of the memory."""
    export = DATA / version / "firestore" / "firestore.overall_export_metadata"
    body = {"database": f"projects/{project}/databases/(default)", "export_directory": str(export)}
    asked = urllib.request.Request(
        f"http://{host}/emulator/v1/projects/{project}:import",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:  # noqa: S310 - the emulator
        assert answer.status == 200
    return f"firestore://{project}"


FORMS: Mapping[str, Callable[[str, Request], Awaitable[str]]] = {
    "sqlite": opened_file,
    "imported": imported_file,
    "firestore": imported_emulator,
}
