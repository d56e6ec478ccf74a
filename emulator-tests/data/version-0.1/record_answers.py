"""Put a memory file beside this script in three forms, and record what a version answers about it.

    PYTHON record_answers.py MEMORY_FILE     PYTHON is an interpreter that has the version in
    question

FIRESTORE_EMULATOR_HOST names an emulator that can write into this folder. The forms are the SQLite
file, the export of `fleet-memory export`, and the Firestore emulator's own export of the same
documents.
"""

import gzip
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import urllib.request
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from make_memory import Life

from fleet_memory.stores import Query, Ref, Write
from fleet_memory.stores.firestore import FirestoreStore
from fleet_memory.stores.sqlite import SqliteStore

HERE = Path(__file__).parent
PROJECT = "version-before"
PROGRAMS = ("basher", "iso", "sark", "quorra")
LARGE = {"maxTokens": 30000}
DRIFT_S = 60  # the clock ticks while a test asks: no answer may change within so many seconds
COMMANDS = (
    ("check", "--json"),
    ("health", "--json"),
    *(("health", "--json", "--program", program) for program in PROGRAMS),
    *(("restore", "--program", program) for program in PROGRAMS),
)
Call = tuple[str, dict[str, Any]]
Record = dict[str, Any]


def calls(keys: list[str]) -> list[Call]:
    """Return every reading call, and the boots of each program at the end: they write what was
    read.
    """
    about = [call for program in PROGRAMS for call in _about(program)]
    about.append(
        (
            "recall_memory",
            {"programId": "basher", "scope": "shared", "query": "claim a task", "explain": True},
        )
    )
    about += [("gsp_read", {"key": key, **LARGE}) for key in keys]
    states = ("fresh", "verify", "contested", "retired")
    about += [("gsp_search", {"status": status}) for status in states]
    about += [
        ("gsp_search", {"query": "network", "explain": True}),
        ("gsp_search", {"tier": "constitutional"}),
    ]
    about += [("gsp_diff", {"sinceVersion": version, **LARGE}) for version in (0, 3)]
    about += [("fleet_health", LARGE), ("pattern_consolidate", {"dryRun": True})]
    about += [
        ("gsp_bootstrap", {"agentId": program, "depth": "full", **LARGE}) for program in PROGRAMS
    ]
    about.append(("gsp_bootstrap", {"agentId": "basher", "depth": "essential"}))
    return [
        *about,
        ("gsp_bootstrap", {"agentId": "newcomer", "task": "restart a worker", "knownVersion": 3}),
    ]


def _about(program: str) -> list[Call]:
    own = {"programId": program}
    return [
        ("recall_memory", {**own, "includeStale": True, "limit": 100, **LARGE}),
        (
            "recall_memory",
            {**own, "query": "restart a worker", "includeStale": True, "limit": 3, "explain": True},
        ),
        (
            "recall_memory",
            {**own, "projectId": "harbor", "minConfidence": 0.6, "scope": "all", "limit": 4},
        ),
        ("recall_memory", {**own, "tags": ["tasks"], "includeStale": True}),
        ("memory_health", own),
        ("get_program_state", own),
        ("get_context_history", own),
    ]


def compress(file: Path, to: Path) -> None:
    to.write_bytes(gzip.compress(file.read_bytes(), mtime=0))


def export(address: str, file: Path) -> None:
    Life(address).command("2026-08-02T09:00:00Z", "export", str(file), "--force")


def emulator(verb: str, project: str, **fields: str) -> None:
    """Ask the emulator to export or import a project's documents."""
    body = {"database": f"projects/{project}/databases/(default)", **fields}
    url = f"http://{os.environ['FIRESTORE_EMULATOR_HOST']}/emulator/v1/projects/{project}:{verb}"
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)):
        pass


async def copied(file: Path) -> None:
    """Write every document of the file to the emulator, with the version's own engine."""
    with sqlite3.connect(file) as rows:
        collections = [name for (name,) in rows.execute("select distinct collection from docs")]
    source, target = SqliteStore(file), FirestoreStore(PROJECT)
    for collection in collections:
        for document in await source.find(Query(collection)):
            await target.commit(Write(Ref(collection, document.ref.id), document.fields))
    await source.close()
    await target.close()


async def recorded(address: str, now: str, keys: list[str]) -> list[Record]:
    life = Life(address)
    records: list[Record] = []
    for words in COMMANDS:
        text = await anyio.to_thread.run_sync(life.command, now, *words)
        records.append(
            {"command": words, "answer": json.loads(text) if text.startswith("{") else text}
        )
    async with life.session(now):
        for tool, arguments in calls(keys):
            records.append(
                {"tool": tool, "arguments": arguments, "answer": await life.call(tool, **arguments)}
            )
    return records


async def main(memory: Path) -> None:
    with sqlite3.connect(memory) as rows:
        rows.execute("pragma wal_checkpoint(truncate)")
        keys = [
            json.loads(body)["key"]
            for (body,) in rows.execute("select body from docs where collection like '%/gsp'")
        ]
    compress(memory, HERE / "memory.db.gz")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "memory.jsonl")
        export(str(memory), file)
        compress(file, HERE / "memory.jsonl.gz")
    await copied(memory)
    folder = HERE / "firestore"
    shutil.rmtree(folder, ignore_errors=True)
    emulator("export", PROJECT, export_directory=str(HERE), export_name=folder.name)
    with tempfile.TemporaryDirectory() as scratch:
        await record(memory, sorted(keys), Path(scratch))


async def record(memory: Path, keys: list[str], scratch: Path) -> None:
    """Record at the first instant from which no answer changes for a minute, and where an engine
    answers otherwise.
    """
    for hour in range(24):
        instant = datetime.fromisoformat("2026-08-02T00:00:00Z") + timedelta(hours=hour)
        answers = [
            await recorded(
                str(shutil.copy(memory, scratch / f"{hour}-{drift}.db")), at.isoformat(), keys
            )
            for drift in (0, DRIFT_S)
            for at in [instant + timedelta(seconds=drift)]
        ]
        if [r["answer"] for r in answers[0][1:]] == [r["answer"] for r in answers[1][1:]]:
            break
        print("too close to a rounding at", instant, file=sys.stderr)  # noqa: T201 - a script
    now = instant.isoformat()
    imported = str(scratch / "imported.db")
    (scratch / "memory.jsonl").write_bytes(gzip.decompress((HERE / "memory.jsonl.gz").read_bytes()))
    Life(imported).command(now, "import", str(scratch / "memory.jsonl"))
    others = {"imported": await recorded(imported, now, keys)}
    emulator(
        "import",
        PROJECT + "-again",
        export_directory=str(HERE / "firestore/firestore.overall_export_metadata"),
    )
    others["firestore"] = await recorded(f"firestore://{PROJECT}-again", now, keys)
    for form, records in others.items():
        for mine, other in zip(answers[0], records, strict=True):
            if mine["answer"] != other["answer"]:
                mine[form] = other["answer"]
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in answers[0])
    (HERE / "answers.json").write_text(
        f'{{"now": "{now}", "records": [\n{lines}\n]}}\n', encoding="utf-8"
    )


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
