"""`fleet-memory list log` shows the changes of shared knowledge; the reads that are noted there have
their own list.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.recall import recall_memory
from tests.shared import KEY, shared_entry

NOTE = "Reads of others' memory are left out; --reads shows them."


@pytest.fixture(autouse=True)
def _fleet_with_reads(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STORE": str(settings.store.words[0]), "EMBEDDER": "lexical"}.items():
        monkeypatch.setenv(f"FLEET_MEMORY_{name}", value)
    change(settings, read_between_changes)


async def read_between_changes(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    for program in ("basher", "iso"):
        await recall_memory(auditor(fleet), program)
    await retire_entry(fleet, KEY, "we have a queue")


def auditor(fleet: Fleet) -> Fleet:
    return replace(fleet, caller=Caller("cicero", "auditor", "t9"))


def change(settings: Settings, work: Callable[[Fleet], Awaitable[None]]) -> None:
    anyio.run(with_fleet, settings, work)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["list", "log", *words]) == 0
    return capsys.readouterr().out.splitlines()


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    (line,) = printed(capsys, *words, "--json")
    answer = json.loads(line)
    assert isinstance(answer, dict)
    return answer


def events(answer: dict[str, Any]) -> list[str]:
    return [line["event"] for line in answer["changes"]]


def test_reads_are_left_out_of_the_changes_which_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert events(answered(capsys)) == ["retired", "promoted"]
    assert answered(capsys)["notes"] == [NOTE]
    assert printed(capsys)[-1] == NOTE
    assert answered(capsys, "--since", "2999-01-01") == {"changes": [], "notes": [NOTE]}


def test_reads_are_listed_alone_where_they_are_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reads = answered(capsys, "--reads")["reads"]
    assert [(each["key"], each["by"], each["token"], each["why"]) for each in reads] == [
        (program, "cicero", "t9", "recall_memory") for program in ("iso", "basher")
    ]
    answer = answered(capsys, "--reads", "--limit", "1")
    assert [line["key"] for line in answer["reads"]] == ["iso"]
    assert answer.keys() == {"reads", "omitted"}
    assert answered(capsys, "--reads", "--since", "2999-01-01") == {"reads": []}


def test_a_purged_name_leaves_its_reads_where_they_were(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def purge(fleet: Fleet) -> None:
        await erase(fleet, Wanted(program="cicero"))

    change(settings, purge)
    assert events(answered(capsys)) == ["erased", "retired", "promoted"]
    reads = answered(capsys, "--reads")["reads"]
    assert (len(reads), "cicero" in str(reads)) == (2, False)
