"""`fleet-memory doctor store` says where a memory lives, on every engine."""

import json

import pytest

from fleet_memory.cli import main
from fleet_memory.extensions import location


def test_it_names_the_place(store_address: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "store", "--store", store_address, "--embedder", "lexical", "--json"])
    found = {each["name"]: each["text"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert found["store"].startswith(str(location(store_address)))
