"""Put a memory beside this script, in three forms, that the version that merged lessons by numbers
wrote.

    PYTHON make_merged_memory.py     PYTHON is an interpreter that has the version in question
    (commit 2d07702)

FIRESTORE_EMULATOR_HOST names an emulator that can write into this folder.
"""

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

HERE = Path(__file__).parent
sys.path.insert(
    0, str(HERE.parent / "version-0.1")
)  # its scripts live a memory, and write the three forms

from make_memory import (  # noqa: E402
    CHECK,
    DEADLINE,
    DNS,
    FORCE,
    LOOK,
    MIGRATE,
    TIMEOUT,
    VERIFY,
    Lesson,
    Life,
    lesson,
)
from record_answers import PROJECT, compress, copied, emulator, export  # noqa: E402

RETRY_3 = "Retry 3 times before giving up on a claim"
RETRY_30 = "Retry 30 times before giving up on a claim"
FLAKY_5 = "Retry a flaky test 5 times, then open a ticket"
FLAKY_2 = "Retry a flaky test 2 times, then open a ticket"
SPLIT = "A pull request of more than 400 changed lines is not read, so split it"
SMALL = "Keep each pull request under 400 changed lines, or nobody reads it"
ECHO = "Always check that a task's status is created before claiming it, to avoid race conditions"
BOUND = "Put a time limit on each call that leaves the machine"
BATCH = "Claim tasks in one batch instead of looping over single claims"
DRAIN = "Drain a worker before you restart it"
REHEARSE = "Rehearse each database migration before the deploy"
FLAG = "Run every migration behind a flag"
LAST = "Limit how long a call to another machine may last"
PIN = "Pin the version of every build tool"

RULES = """
[[entry]]
text = "Ask a person before you delete data"
domain = "safety"
key = "ask-first"
confidence = 0.95
why = "A table was lost in 2025"
"""

LEARNT: Mapping[str, Sequence[Lesson]] = {
    "basher": (
        lesson(CHECK, "task-claiming", 0.92, id="claim-race", tags=["tasks"], sessionId="b-1"),
        lesson(FORCE, "git", 0.9, id="force", projectId="harbor"),
        lesson(TIMEOUT, "http", 0.8, id="timeout"),
        lesson(MIGRATE, "deploys", 0.85, id="migrate"),
        lesson(DRAIN, "deploys", 0.8, id="drain"),
        lesson(RETRY_3, "retries", 0.6, id="retry"),
        lesson(FLAKY_5, "tests", 0.6, id="flaky"),
        lesson(SPLIT, "reviews", 0.7, id="split"),
    ),
    "sark": (
        lesson(VERIFY, "task-claiming", 0.89, id="verify"),
        lesson(FORCE.lower() + "!", "git", 0.8, id="no-force"),
        lesson(DEADLINE, "http", 0.75, id="deadline"),
        lesson(DNS, "networking", 0.7, id="dns"),
        lesson(RETRY_30, "retries", 0.5, id="retry"),
        lesson(FLAKY_2, "tests", 0.7, id="flaky"),
        lesson(SMALL, "reviews", 0.8, id="small"),
        lesson(PIN, "builds", 0.65, id="pin"),
    ),
    "iso": (
        lesson(LOOK, "task-claiming", 0.85, id="look"),
        lesson(DNS, "networking", 0.6, id="dns"),
        lesson(MIGRATE, "deploys", 0.9, id="migrate"),
        lesson(DRAIN, "deploys", 0.6, id="drain"),
        lesson(BATCH, "batching", 0.7, id="batch"),
    ),
    "clu": (lesson(DRAIN + ".", "deploys", 0.7, id="drain"),),
}


async def winter(life: Life) -> None:
    """Four programs learn apart; numbers merge some lessons, and agents judge some pairs."""
    for day, (program, lessons) in enumerate(LEARNT.items(), 10):
        async with life.session(f"2026-01-{day}T09:00:00Z"):
            await life.store(program, *lessons)
            if program == "basher":
                state = {"lastTask": {"taskId": "t1", "title": "Claim queue", "outcome": "done"}}
                await life.call("update_program_state", programId=program, contextSummary=state)
                await life.call(
                    "add_note", programId=program, text="Port 8085 is taken", pinned=True
                )
    seed(life, "2026-01-15T08:00:00Z")
    async with life.session("2026-01-20T10:00:00Z"):
        offered = await life.call("pattern_consolidate")
        await judge(life, offered, DEADLINE, TIMEOUT, same=True, reason="Both bound a call")
        await judge(life, offered, RETRY_3, RETRY_30, same=False, reason="3 is not 30")
        await judge(life, offered, FLAKY_2, FLAKY_5, same=False, reason="2 is not 5")


async def judge(
    life: Life, offered: dict[str, Any], one: str, other: str, *, same: bool, reason: str
) -> None:
    """Answer one pair that was offered."""
    pairs = [*offered["review"], *offered["contested"]]
    pair = next(
        pair for pair in pairs if {pair["a"]["pattern"], pair["b"]["pattern"]} == {one, other}
    )
    await life.call(
        "pattern_consolidate", verdicts=[{"pairId": pair["pairId"], "same": same, "reason": reason}]
    )


def seed(life: Life, now: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rules.toml")
        file.write_text(RULES, encoding="utf-8")
        life.command(now, "seed", str(file), "--yes")


async def spring(life: Life) -> None:
    """A reader echoes and contradicts; texts that were judged or merged are rewritten; a program is
    deleted.
    """
    async with life.session("2026-03-02T09:00:00Z"):
        boot = await life.call("gsp_bootstrap", agentId="quorra", depth="full")
        keys = {entry["pattern"]: entry["key"] for entry in boot["knowledge"]}
        await life.store("quorra", lesson(ECHO, "task-claiming", 0.9, id="echo"))
        for program in ("quorra", "basher"):
            word = {"programId": program, "patternId": keys[DNS], "outcome": "contradicted"}
            await life.call("reinforce_memory", **word, evidence="An outage lasted a day")
        word = {"programId": "sark", "patternId": keys[MIGRATE], "outcome": "contradicted"}
        await life.call("reinforce_memory", **word, evidence="A column vanished under running code")
        await life.call(
            "reinforce_memory", programId="quorra", patternId=keys[FORCE], evidence="Saved a branch"
        )
        await life.call("pattern_consolidate")
        await life.store(
            "sark",
            lesson("Retry a flaky test only while its ticket is open", "tests", 0.7, id="flaky"),
        )
        await life.store("iso", lesson(FLAG, "deploys", 0.6, id="migrate"))
    life.command("2026-03-03T09:00:00Z", "delete-program", "clu", "--yes")
    async with life.session("2026-03-04T09:00:00Z"):
        await life.store("iso", lesson(BOUND, "http", 0.7, id="bound"))
        await life.store("quorra", lesson(REHEARSE, "deploys", 0.7, id="rehearse"))
        offered = await life.call("pattern_consolidate")
        await judge(life, offered, BOUND, TIMEOUT, same=True, reason="Both bound a call")
        await judge(life, offered, FLAG, MIGRATE, same=False, reason="How is not when")
        await life.store("quorra", lesson(LAST, "http", 0.6, id="last"))
        await life.call("pattern_consolidate")
        await life.store(
            "iso", lesson("Pin every tool that a build calls", "builds", 0.6, id="pin")
        )
    key = keys[DRAIN]
    for undo in ((), ("--undo",)):
        life.command("2026-03-05T09:00:00Z", "retire", key, "--why", "On trial", *undo)


async def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        memory = Path(scratch, "memory.db")
        life = Life(str(memory))
        await winter(life)
        await spring(life)
        await write_forms(memory)


async def write_forms(memory: Path) -> None:
    """Write the SQLite file, the export of it, and the emulator's own export of the same
    documents.
    """
    with sqlite3.connect(memory) as rows:
        rows.execute("pragma wal_checkpoint(truncate)")
    compress(memory, HERE / "memory.db.gz")
    exported = memory.with_name("memory.jsonl")
    export(str(memory), exported)
    compress(exported, HERE / "memory.jsonl.gz")
    await copied(memory)
    folder = HERE / "firestore"
    shutil.rmtree(folder, ignore_errors=True)
    emulator("export", PROJECT, export_directory=str(HERE), export_name=folder.name)


if __name__ == "__main__":
    anyio.run(main)
