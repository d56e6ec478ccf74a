"""A memory that the version before wrote opens on every engine, answers as that version did, and
goes on.

How the memory and the answers were made: data/version-0.1/README.md.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from agents import Agent, agent
from older_answers import Json, Record, differences, expected, source
from older_memories import FORMS

from tests.older import DATA, OLDEST, exported

pytestmark = pytest.mark.anyio

RECORDED = json.loads((DATA / OLDEST / "answers.json").read_text(encoding="utf-8"))
LATER = "2026-08-20T09:00:00Z"
DELETED = frozenset(
    {"calibratedConfidence", "calibrated", "fleetRate", "outcomes"}
)  # of calibration, in an export

Request: TypeAlias = pytest.FixtureRequest


def is_comparable(record: Record) -> bool:
    """Whether a tool still answers the same question: judging does not, nor does recall in one
    project.
    """
    return record["tool"] != "pattern_consolidate" and not (
        record["tool"] == "recall_memory" and "projectId" in record["arguments"]
    )


COMMANDS: list[Record] = [record for record in RECORDED["records"] if "command" in record]
CALLS: list[Record] = [
    record for record in RECORDED["records"] if "tool" in record and is_comparable(record)
]


def without_deleted(value: Json) -> Json:
    """Return a value without the fields of calibration, also inside of JSON that is stored as
    text.
    """
    if isinstance(value, dict):
        return {
            name: without_deleted(inner) for name, inner in value.items() if name not in DELETED
        }
    if isinstance(value, list):
        return [without_deleted(inner) for inner in value]
    if isinstance(value, str) and value.startswith("{"):
        return "\n".join(
            json.dumps(without_deleted(json.loads(line)), sort_keys=True)
            for line in value.split("\n")
        )
    return value


def run(address: str, now: str, *words: str) -> str:
    settings = {"FLEET_MEMORY_STORE": address, "FLEET_MEMORY_NOW": now}
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    as_json = ["--json"] if words[0] == "restore" else []  # which printed nothing else then
    line = [sys.executable, "-m", "fleet_memory", *words, *as_json]
    ended = subprocess.run(  # noqa: S603 - ours
        line, capture_output=True, text=True, check=False, timeout=120, env=inherited | settings
    )
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stdout


@pytest.fixture(params=FORMS)
def form(request: Request) -> str:
    return str(request.param)


@pytest.fixture
async def memory(form: str, request: Request) -> str:
    """The address of a store of this test's own that has the memory of the version before."""
    return await FORMS[form](OLDEST, request)


def test_a_command_prints_the_same_as_the_version_before(memory: str, form: str) -> None:
    for record in COMMANDS:
        text = run(memory, RECORDED["now"], *record["command"])
        answer = json.loads(text) if text.startswith("{") else text
        assert differences(answer, record, record.get(form, record["answer"])) == []


async def test_a_tool_answers_the_same_as_the_version_before(memory: str, form: str) -> None:
    async with agent(memory, now=RECORDED["now"]) as reader:
        for record in CALLS:
            answer = await answer_as_before(reader, record["tool"], asked_as_before(record))
            assert differences(answer, record, record.get(form, record["answer"])) == []


def test_a_field_that_is_lost_is_noticed_unless_its_loss_has_a_reason() -> None:
    unnoticed = set()
    for record in (one for one in [*COMMANDS, *CALLS] if isinstance(one["answer"], dict)):
        answer = expected(record, record["answer"])
        assert differences(answer, record, record["answer"]) == []
        for place, value, poorer in each_lost(answer):
            if not differences(poorer, record, record["answer"]) and value not in (0, [], {}):
                unnoticed.add((source(record), place.rpartition("/")[2]))
    calibrated = {name for name, field in unnoticed if field == "calibratedConfidence"}
    figures = {"confidence", "contributorCount", "lastConfirmed", "strength"}
    assert unnoticed == {("get_program_state", "programId")} | {
        *((name, "calibratedConfidence") for name in calibrated),
        *(("gsp_bootstrap", field) for field in figures),
    }


def each_lost(answer: Json, place: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Yield each field of an answer with its place, its value, and the answer without it."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield (
                f"{place}/{name}",
                value,
                {other: inner for other, inner in answer.items() if other != name},
            )
            for inside, lost, poorer in each_lost(value, f"{place}/{name}"):
                yield inside, lost, answer | {name: poorer}
    if isinstance(answer, list):
        for index, value in enumerate(answer):
            for inside, lost, poorer in each_lost(value, f"{place}/*"):
                yield inside, lost, [*answer[:index], poorer, *answer[index + 1 :]]


async def answer_as_before(reader: Agent, tool: str, arguments: Record) -> Record:
    """Return an answer of today; the history of a state as the tool that it had."""
    if tool != "get_context_history":
        return await reader.call(tool, **arguments)
    state = await reader.call("get_program_state", **arguments, history=50)
    return {**arguments, "summaries": state.get("history", [])}


def asked_as_before(record: Record) -> Record:
    """Return the arguments of a call.

    Recall asked own lessons where it now asks the fleet's too (docs/recall.md): without a scope it
    had no such answer.
    """
    scope = {"scope": "own"} if record["tool"] == "recall_memory" else {}
    return scope | cast("Record", record["arguments"])


def test_its_export_is_the_export_of_the_version_before(memory: str, tmp_path: Path) -> None:
    file = tmp_path / "now.jsonl"
    run(memory, RECORDED["now"], "export", str(file))
    assert documents(file) == documents(exported(OLDEST, tmp_path / "before.jsonl"))


async def test_the_memory_lives_on(memory: str) -> None:
    async with agent(memory, now=LATER) as fleet:
        drain = {
            "pattern": "Drain a worker before you restart it!",
            "domain": "operations",
            "confidence": 0.7,
        }
        stored = await fleet.call(
            "store_memory", programId="sark", pattern=drain | {"evidence": "Lost three tasks"}
        )
        assert stored["status"] == "created"
        told = await fleet.call("reinforce_memory", programId="basher", patternId="claim-race")
        assert (told["revived"], told["reinforcements"]) == (True, 4)
        entry = await published(fleet)
        boot = await fleet.call("gsp_bootstrap", agentId="newcomer", depth="full")
        assert entry in {row["key"] for row in boot["knowledge"]}
        recalled = await fleet.call(
            "recall_memory", programId="sark", domain="operations", scope="own"
        )
        assert [lesson["knowledgeKey"] for lesson in recalled["patterns"]] == [entry]
    swept = json.loads(run(memory, "2027-06-01T09:00:00Z", "maintain", "--json"))
    assert len(swept["archived"]) == 22  # promoted lessons fade like others
    report = json.loads(run(memory, "2027-06-01T10:00:00Z", "check", "--json"))
    assert report["intact"] is True


async def published(fleet: Agent) -> str:
    """Consolidate, and return the key of the entry that two programs now share; numbers' merges
    wait for judgement.
    """
    first = await fleet.call("pattern_consolidate")
    (entry,) = first["promoted"]
    assert (entry["domain"], entry["contributors"]) == ("operations", ["basher", "sark"])
    assert first["openPairs"] >= 3
    second = await fleet.call("pattern_consolidate")
    assert (second["promoted"], second["openPairs"]) == ([], first["openPairs"])
    return str(entry["key"])


def documents(file: Path) -> list[Json]:
    """Return the documents of an export, but snapshots; the header names a version and a time, the
    footer a hash.
    """
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines()[1:-1])
    return [without_deleted(line) for line in lines if line["collection"] != "snapshots"]
