"""`fleet-memory check` says where a memory lives, on every engine."""

import json

import pytest

from fleet_memory.cli import main
from fleet_memory.store_address import SqliteFile, engine_name, location


def test_it_names_the_engine_and_each_part_of_the_place(
    store_address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = location(store_address)
    main(["check", "--store", store_address, "--embedder", "lexical", "--json"])
    rows = json.loads(capsys.readouterr().out)
    parts = {"file": str(place.path)} if isinstance(place, SqliteFile) else place._asdict()
    expected = {"store": engine_name(place), **parts}
    assert {name: rows[name] for name in expected} == expected
