"""A memory moves between stores through a file, and is merged with the target's."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from agents import local_agent

from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

NOW = "2026-03-01T09:00:00Z"


def run(command: str, address: str, file: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    line = [
        *forked.words(),
        command,
        str(file),
        "--store",
        address,
        "--json",
        *more,
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=HANG_S)  # noqa: S603 - ours
    return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


def documents(file: Path) -> list[dict[str, Any]]:
    """Return the documents of a file, without the marks that belong to the store of a program."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[1:-2]]
    marks = {"pending", "waiting", "dirty", "run", "readVersion", "changes"}
    for line in lines:
        line["fields"] = {
            name: value for name, value in line["fields"].items() if name not in marks
        }
    return lines


async def learn(address: str) -> None:
    lesson = {"domain": "claims", "confidence": 0.9, "evidence": "line one\u2028line two"}
    async with local_agent(address, now=NOW, embedder="lexical") as one:
        for program in ("basher", "sark"):
            pattern = lesson | {
                "pattern": "Check before claiming",
                "evidence": f"{program}\u2028saw it fail twice",
            }
            await one.call("store_memory", programId=program, pattern=pattern)
        await one.call(
            "store_memory", programId="iso", pattern=lesson | {"pattern": "Rotate the context"}
        )
        await one.call("pattern_consolidate")
        await one.call("gsp_bootstrap", agentId="iso")
        for note in ("first", "second"):
            await one.call(
                "update_program_state", programId="iso", contextSummary={"handoffNotes": note}
            )
            await one.call("write_note", programId="iso", text=f"note {note}")
        await one.call("write_note", programId="iso", noteId="n1", remove=True)
        await one.call(
            "commit_session", programId="iso", requestId="s1", notes=[{"text": "Moved along"}]
        )
        await one.call(
            "store_memory",
            programId="iso",
            pattern=lesson | {"pattern": "Not worth keeping", "id": "gone"},
        )
        await one.call("forget_memory", programId="iso", patternId="gone", reason="no")


async def test_a_memory_moves_out_and_in_and_out_again_equal(
    store_address: str, tmp_path: Path
) -> None:
    await learn(store_address)
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    code, told, _ = run("export", store_address, first)
    assert (code, told["fleet"]) == (0, "default")
    laptop = str(tmp_path / "laptop.db")
    code, told, _ = run("import", laptop, first)
    assert code == 0
    assert run("import", laptop, first)[1] == told | {"written": 0}
    run("export", laptop, second)
    assert documents(first) == documents(second)
    async with local_agent(laptop, now="2026-03-02T09:00:00Z", embedder="lexical") as one:
        assert (await one.call("pattern_consolidate"))["promoted"] == []
        boot = await one.call("gsp_bootstrap", agentId="newcomer", depth="full")
        assert [entry["contributorCount"] for entry in boot["knowledge"]] == [2]
        late = {
            "domain": "claims",
            "confidence": 0.9,
            "evidence": "",
            "pattern": "check before claiming",
        }
        await one.call("store_memory", programId="iso", pattern=late)
        (updated,) = (await one.call("pattern_consolidate"))["updated"]
        assert updated["contributors"] == [
            "basher",
            "sark",
        ]  # no third: when it was published moved along
        again = await one.call(
            "commit_session", programId="iso", requestId="s1", notes=[{"text": "Moved along"}]
        )
        assert again["repeated"]
        assert len((await one.call("get_program_state", programId="iso"))["notes"]) == 2
    assert run("import", store_address, first)[1]["written"] == 0


async def test_lessons_that_the_store_learnt_since_stay(store_address: str, tmp_path: Path) -> None:
    await learn(store_address)
    file = tmp_path / "old.jsonl"
    run("export", store_address, file)
    async with local_agent(store_address, now="2026-03-05T09:00:00Z", embedder="lexical") as one:
        later = {"domain": "claims", "confidence": 0.9, "evidence": "", "pattern": "Learnt later"}
        await one.call("store_memory", programId="basher", pattern=later)
    for more in ((), ("--overwrite",)):
        code, told, _ = run("import", store_address, file, *more)
        assert (code, told["written"]) == (0, 0)
    async with local_agent(store_address, now="2026-03-06T09:00:00Z", embedder="lexical") as one:
        assert (await one.call("memory_health", programId="basher"))["totalPatterns"] == 2


async def test_a_file_that_is_cut_off_or_changed_writes_nothing(
    store_address: str, tmp_path: Path
) -> None:
    await learn(store_address)
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    run("export", store_address, good)
    assert run("export", store_address, good)[0] == 2  # it exists
    lines = good.read_text(encoding="utf-8").split("\n")[:-1]
    for broken, said in (
        (lines[:-1], "the last line does not match"),
        ([*lines[:2], *lines[3:]], "the last line does not match"),
        (lines[1:], "line 1: not a file of"),
        (["{", *lines[1:]], "line 1: not JSON"),
    ):
        bad.write_text("\n".join(broken) + "\n", encoding="utf-8")
        code, _, stderr = run("import", str(tmp_path / "new.db"), bad)
        assert (code, said in stderr) == (2, True), stderr
    assert not (tmp_path / "new.db").exists()
