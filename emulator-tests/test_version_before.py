"""A memory that the version before wrote opens on every engine, answers what that version answered, and goes on.

How the memory and the answers were made: data/version-0.1/README.md.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from agents import Agent, agent
from older_memories import FORMS

from fleet_memory.schemas.programs import DecayConfig
from tests.older import DATA, OLDEST, exported

pytestmark = pytest.mark.anyio

RECORDED = json.loads((DATA / OLDEST / "answers.json").read_text(encoding="utf-8"))
LATER = "2026-08-20T09:00:00Z"
DECIMALS = 2  # of what the model computes: processors differ in the third
COMPUTED = frozenset({"similarity", "contrast"})
DELETED = frozenset({"calibratedConfidence", "calibrated", "fleetRate", "outcomes"})
# What votes added, how freshness, advice and the protocol are worded, the note that an import leaves, and what reading
# names now: contested entries, a boot's domains, own entries, and that nothing fits; scores have fixed scales
CHANGED = frozenset(
    {"toJudge", "protocol", "doubts", "words", "contradictions", "reason", "maintenance", "advice", "judging"}
    | {"contested", "domains", "note", "own", "score", "semantic"}
)
BOOT_FIGURES = frozenset({"confidence", "contributorCount", "lastConfirmed", "strength"})  # at depth full alone
UNJUDGED = frozenset(  # entries that numbers merged: `verify` now, at once where the entry itself is read
    {
        "pattern/reviews/keep-each-pull-request-under-400",
        "pattern/task-claiming/before-claiming-task-make-sure-status",
    }
)
SILENT_STATE: dict[str, Any] = {"contextSummary": {}, "config": {}, "baselines": {}}  # absent where it is empty now
PLACE = frozenset({"store", "file", "project", "database"})  # what `check` says of where the memory is

Request: TypeAlias = pytest.FixtureRequest
Record: TypeAlias = "dict[str, Any]"


def is_comparable(record: Record) -> bool:
    """Whether a tool still answers the same question: judging does not, nor does recall in one project."""
    return record["tool"] != "pattern_consolidate" and not (
        record["tool"] == "recall_memory" and "projectId" in record["arguments"]
    )


COMMANDS: list[Record] = [record for record in RECORDED["records"] if "command" in record]
CALLS: list[Record] = [record for record in RECORDED["records"] if "tool" in record and is_comparable(record)]
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"


def without_deleted(value: Json) -> Json:
    """Return a value without the fields of calibration, also inside of JSON that is stored as text."""
    if isinstance(value, dict):
        return {name: without_deleted(inner) for name, inner in value.items() if name not in DELETED | CHANGED}
    if isinstance(value, list):
        return [without_deleted(inner) for inner in value]
    if isinstance(value, str) and value.startswith("{"):
        return "\n".join(json.dumps(without_deleted(json.loads(line)), sort_keys=True) for line in value.split("\n"))
    return value


def comparable(value: Json) -> Json:
    """Return an answer that equals one whose computed numbers differ as between two processors."""
    if isinstance(value, dict):
        return {name: _comparable(name, inner) for name, inner in value.items()}
    return [comparable(inner) for inner in value] if isinstance(value, list) else value


def _comparable(name: str, value: Json) -> Json:
    if name in COMPUTED and isinstance(value, float):
        return pytest.approx(value, abs=10**-DECIMALS)  # type: ignore[return-value]  # equal to a number close to it
    return comparable(value)


def lean(value: Json) -> Json:
    """Return an answer with its lessons and entries as they are shown now: docs/recall.md, "The shape of a hit"."""
    if isinstance(value, list):
        return [lean(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if "ageDays" in value:
        return lean_pattern(value)
    return lean_entry(value) if "contributorCount" in value else {name: lean(inner) for name, inner in value.items()}


def lean_pattern(lesson: Record) -> Json:
    shown = rounded(lesson) | {"ageDays": int(lesson["ageDays"])}
    if "explain" in shown:
        return shown
    implied = {"strength"} if shown["strength"] == shown["confidence"] else set()
    implied |= {"promotedToStore"} if "knowledgeKey" in shown else set()
    implied |= {
        name for name in ("evidence", "stale", "ageDays", "reinforcements", "promotedToStore") if not shown[name]
    }
    dates = {"discoveredAt", "lastReinforced"}
    return {name: value for name, value in shown.items() if name not in implied | dates}


def lean_entry(entry: Record) -> Json:
    shown = rounded(entry)
    if "explain" in shown:
        return shown
    implied = {"status", "lastConfirmed"} if shown["status"] == "fresh" else set()
    implied |= {"evidenceCount"} if shown["evidenceCount"] == shown["contributorCount"] else set()
    implied |= {"domain"} if shown["key"].startswith(f"pattern/{shown['domain']}/") else set()
    return {name: value for name, value in shown.items() if name not in implied}


def rounded(hit: Record) -> Record:
    return {
        name: round(value, DECIMALS) if name in ("confidence", "strength") else value for name, value in hit.items()
    }


def run(address: str, now: str, *words: str) -> str:
    settings = {"FLEET_MEMORY_STORE": address, "FLEET_MEMORY_NOW": now}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")}
    line = [sys.executable, "-m", "fleet_memory", *words]
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


def test_a_command_prints_what_the_version_before_printed(memory: str, form: str) -> None:
    for record in COMMANDS:
        text = run(memory, RECORDED["now"], *record["command"])
        same(json.loads(text) if text.startswith("{") else text, record, form)


async def test_a_tool_answers_what_the_version_before_answered(memory: str, form: str) -> None:
    async with agent(memory, now=RECORDED["now"]) as reader:
        for record in CALLS:
            same(await answer_as_before(reader, record["tool"], asked_as_before(record)), record, form)


async def answer_as_before(reader: Agent, tool: str, arguments: Record) -> Record:
    """Return an answer with the empty, default and repeated parts that answers about the state had before."""
    if tool == "get_context_history":
        state = await reader.call("get_program_state", **arguments, history=50)
        return {**arguments, "summaries": state.get("history", [])}
    answer = await reader.call(tool, **arguments)
    if tool != "get_program_state":
        return answer
    notes = [{"pinned": False, **note} for note in answer.get("notes", [])]
    return {**SILENT_STATE, "decayConfig": DecayConfig().wire(), **arguments, **answer, "notes": notes}


def asked_as_before(record: Record) -> Record:
    """Return the arguments of a call: recall asked own lessons where it now asks the fleet's too."""
    scope = {"scope": "own"} if record["tool"] == "recall_memory" else {}
    return scope | cast("Record", record["arguments"])


def test_its_export_is_the_export_of_the_version_before(memory: str, tmp_path: Path) -> None:
    file = tmp_path / "now.jsonl"
    run(memory, RECORDED["now"], "export", str(file))
    assert documents(file) == documents(exported(OLDEST, tmp_path / "before.jsonl"))


async def test_the_memory_lives_on(memory: str) -> None:
    async with agent(memory, now=LATER) as fleet:
        drain = {"pattern": "Drain a worker before you restart it!", "domain": "operations", "confidence": 0.7}
        stored = await fleet.call("store_memory", programId="sark", pattern=drain | {"evidence": "Lost three tasks"})
        assert stored["status"] == "created"
        told = await fleet.call("reinforce_memory", programId="basher", patternId="claim-race")
        assert (told["revived"], told["reinforcements"]) == (True, 4)
        entry = await published(fleet)
        boot = await fleet.call("gsp_bootstrap", agentId="newcomer", depth="full")
        assert entry in {row["key"] for row in boot["knowledge"]}
        recalled = await fleet.call("recall_memory", programId="sark", domain="operations", scope="own")
        assert [lesson["knowledgeKey"] for lesson in recalled["patterns"]] == [entry]
    swept = json.loads(run(memory, "2027-06-01T09:00:00Z", "maintain", "--json"))
    assert len(swept["archived"]) == 22  # promoted lessons fade like others
    report = json.loads(run(memory, "2027-06-01T10:00:00Z", "check", "--json"))
    assert report["intact"] is True


async def published(fleet: Agent) -> str:
    """Consolidate, and return the key of what two programs now share; what numbers merged waits for judgement."""
    first = await fleet.call("pattern_consolidate")
    (entry,) = first["promoted"]
    assert (entry["domain"], entry["contributors"]) == ("operations", ["basher", "sark"])
    assert first["openPairs"] >= 3
    second = await fleet.call("pattern_consolidate")
    assert (second["promoted"], second["openPairs"]) == ([], first["openPairs"])
    return str(entry["key"])


def same(answer: Json, record: Record, form: str) -> None:
    before = record.get(form, record["answer"])
    if isinstance(before, dict) and before.get("key") in UNJUDGED:
        before = before | {"status": "verify"}
    now = without_empty(without_place(without_deleted(answer)))
    then = comparable(without_empty(lean(without_place(without_deleted(before)))))
    if isinstance(now, dict) and isinstance(then, dict) and "staleRatio" in now:  # a program's freshness is its own now
        now, then = ({**one, "freshness": None} for one in (now, then))
    if isinstance(now, dict) and isinstance(then, dict) and record.get("tool") == "gsp_bootstrap":
        if "changes" not in now:  # at a first boot all is new
            then = {name: inner for name, inner in then.items() if name != "changes"}
        if record["arguments"].get("depth") != "full":
            now, then = without_figures(now), without_figures(then)
    assert now == then


def without_empty(value: Json) -> Json:
    """Return an answer without what is false, zero or empty: most of it is absent now."""
    if isinstance(value, list):
        return [without_empty(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    inside = {name: without_empty(inner) for name, inner in value.items()}
    return {name: inner for name, inner in inside.items() if inner not in (0, "", [], {})}


def without_figures(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: without_figures(inner) for name, inner in value.items() if name not in BOOT_FIGURES}
    return [without_figures(inner) for inner in value] if isinstance(value, list) else value


def without_place(answer: Json) -> Json:
    if not isinstance(answer, dict):
        return answer
    return {name: value for name, value in answer.items() if name not in PLACE}


def documents(file: Path) -> list[Json]:
    """Return the documents of an export; the header names a version and a time, the footer a hash."""
    lines = file.read_text(encoding="utf-8").splitlines()[1:-1]
    return [without_deleted(json.loads(line)) for line in lines]
