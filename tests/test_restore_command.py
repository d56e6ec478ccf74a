"""`fleet-memory restore`: its output and its exit codes."""

import json

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.state import forget_memory
from tests.fleets import learn

BASHER = ("--program", "basher")


@pytest.fixture(autouse=True)
def _own_memory(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")

    async def forget(fleet: Fleet) -> None:
        await learn(fleet, "basher", "Check the status")
        await forget_memory(fleet, "basher", "mine", "wrong project")

    anyio.run(with_fleet, settings, forget)


def test_it_lists_the_archive_and_brings_back_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "--json", *BASHER]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["programId"], [row["patternId"] for row in printed["archive"]]) == (
        "basher",
        ["mine"],
    )
    assert main(["restore", "mine", "--json", *BASHER]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "programId": "basher",
        "restored": True,
        "patternId": "mine",
    }
    assert main(["restore", "mine", *BASHER]) == 1
    assert "the archive holds no 'mine'" in capsys.readouterr().err


def test_a_person_reads_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", *BASHER]) == 0
    assert capsys.readouterr().out.endswith(" forgotten: Check the status\n")
    assert main(["restore", "mine", *BASHER]) == 0
    assert main(["restore", *BASHER]) == 0
    assert capsys.readouterr().out == "basher has mine again\nnothing of basher is in the archive\n"


def test_a_lesson_without_room_is_answered_no(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def learn_again(fleet: Fleet) -> None:
        await learn(fleet, "basher", "check the status.", id_="again")

    anyio.run(with_fleet, settings, learn_again)
    assert main(["restore", "mine", "--json", *BASHER]) == 1
    assert json.loads(capsys.readouterr().out)["restored"] is False


def test_the_owner_of_the_archive_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore"]) == 2
    assert "--program: required" in capsys.readouterr().err
