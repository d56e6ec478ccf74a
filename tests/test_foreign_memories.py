"""People's notes and memories of other programs become lessons: the fitting ones, with their times,
once, and all of one origin.
"""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest
from anyio import to_thread

from fleet_memory.cli import main
from fleet_memory.errors import EmbedderUnavailableError, ForbiddenError, InvalidArgumentError
from fleet_memory.extensions import OWN
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.importing import ImportedForeign, import_foreign, read_foreign
from fleet_memory.importing.databases import read_cerebro, read_memory_service
from fleet_memory.importing.markdown import markdown_file
from fleet_memory.importing.notes import read_notes, read_server_memory
from fleet_memory.importing.texts import (
    FOREIGN_CONFIDENCE,
    ForeignMemory,
    ForeignPart,
    ForeignText,
    LeftOut,
    fitting_lessons,
    name_of,
)
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.text.credentials import credential_in
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.patterns import Source
from fleet_memory.schemas.programs import Caller, Program
from fleet_memory.settings import Settings
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.state import forget_memory
from tests.fleets import NOW, at, documents, learn

pytestmark = pytest.mark.anyio

DATA = Path(__file__).parent / "data" / "memories"
RETRY = "Retries must carry the same idempotency key"
SMALL = "Prefer pull requests under 300 lines"
AT = datetime(2026, 1, 5, 10, tzinfo=UTC)
TOKEN = f"ghp_{'aB3dE6gH9j' * 3}kL2mN5"
FOUND = ForeignText("here", RETRY, "of a test", ("billing",))
MEMORIES = """
    CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,
        content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,
        created_at_iso TEXT, updated_at_iso TEXT, deleted_at REAL DEFAULT NULL, superseded_by TEXT)
"""
ENTRIES = """
    CREATE TABLE entries (id INTEGER PRIMARY KEY AUTOINCREMENT, role TEXT NOT NULL, category TEXT NOT NULL,
        text TEXT NOT NULL, embedding BLOB, tags TEXT DEFAULT '[]', created_at TEXT NOT NULL, invalidated_at TEXT,
        invalidation_reason TEXT, superseded_by INTEGER)
"""


class Failing(Lexical):
    """An engine that must not be asked."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError(texts)


class Unavailable(Lexical):
    """An engine that does not answer."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailableError(f"no answer about {len(texts)} texts")


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    return at(fleet, NOW)


def graph(folder: Path, *lines: object, name: str = "memory.jsonl") -> Path:
    """Write a memory as server-memory does, last changed at AT; a text is a line as it is."""
    file = folder / name
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    os.utime(file, (AT.timestamp(), AT.timestamp()))
    return file


def entity(name: str, *observations: str) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": "service", "observations": observations}


def service(folder: Path, *rows: dict[str, object]) -> Path:
    """Write a memory as mcp-memory-service does, without its vectors."""
    with closing(sqlite3.connect(folder / "vec.db")) as connection:
        connection.execute(MEMORIES)
        for number, row in enumerate(rows, 1):
            fields = {
                "content_hash": f"{number:064}",
                "created_at": AT.timestamp(),
                "metadata": "{}",
            } | row
            marks = ", ".join(f":{name}" for name in fields)
            connection.execute(
                f"INSERT INTO memories ({', '.join(fields)}) VALUES ({marks})",  # noqa: S608 names of this test
                fields,
            )
        connection.commit()
    return folder / "vec.db"


def cerebro(folder: Path, *rows: tuple[object, ...]) -> Path:
    with closing(sqlite3.connect(folder / "memory.sqlite3")) as connection:
        connection.execute(ENTRIES)
        fields = "role, category, text, tags, created_at, invalidated_at"
        connection.executemany(f"INSERT INTO entries ({fields}) VALUES (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608 names of this test
        connection.commit()
    return folder / "memory.sqlite3"


async def bring(
    fleet: Fleet,
    source: str,
    place: Path,
    program: str | None = None,
    *,
    dry_run: bool = False,
) -> ImportedForeign:
    memory = await to_thread.run_sync(read_foreign, source, place)
    return await import_foreign(fleet, memory, program or source, dry_run=dry_run)


async def lessons(fleet: Fleet, program: str) -> dict[str, str]:
    return {
        one.pattern: one.evidence for one in (await fleet.programs.read(program)).patterns.values()
    }


def texts_of(parts: Iterable[ForeignPart]) -> list[str]:
    return [part.text for part in parts if isinstance(part, ForeignText)]


def kinds(left_out: object) -> Counter[str]:
    assert isinstance(left_out, list | tuple)
    return Counter(part.kind for part in left_out)


async def test_each_observation_of_server_memory_is_a_lesson_and_the_rest_is_named(
    fleet: Fleet,
) -> None:
    imported = await bring(fleet, "server-memory", DATA / "server-memory.jsonl")
    assert len(imported.new) == 45
    assert kinds(imported.left_out) == {"relation": 11, "damaged": 1}
    assert imported.left_out[:2] == [
        LeftOut("damaged", "line 14", "no entity or relation"),
        LeftOut("relation", "line 17", "Tom_Reyes maintains orders-service"),
    ]
    known = await lessons(fleet, "server-memory")
    assert (
        known["Port 8085 locally"]
        == "Imported from server-memory: observation of orders-service (service)"
    )


async def test_a_lesson_has_the_time_the_topic_and_the_tags_of_its_source(
    fleet: Fleet, tmp_path: Path
) -> None:
    await bring(fleet, "server-memory", graph(tmp_path, entity("billing api", RETRY)))
    (lesson,) = (await fleet.programs.read("server-memory")).patterns.values()
    assert (lesson.pattern, lesson.domain, lesson.confidence) == (
        RETRY,
        "billing-api",
        FOREIGN_CONFIDENCE,
    )
    assert (lesson.discovered_at, lesson.last_reinforced, lesson.stored_at) == (AT, AT, NOW)
    assert lesson.tags == ("server-memory", "service")
    assert lesson.vector
    mark = Source(connection="import", client="server-memory")
    assert (lesson.session_id, lesson.source) == ("import", mark)


async def test_memories_of_the_service_have_their_project_and_both_times(
    fleet: Fleet, tmp_path: Path
) -> None:
    later = (AT + timedelta(days=3)).timestamp()
    file = service(
        tmp_path,
        {
            "content": RETRY,
            "tags": "billing,proj:pay,agent:iso",
        },
        {
            "content": SMALL,
            "tags": "untagged,topic:review",
            "memory_type": "decision",
            "updated_at": later,
        },
        {"content": "Gone", "deleted_at": later},
        {"content": "Old", "superseded_by": "abc"},
    )
    before = file.read_bytes()
    imported = await bring(fleet, "mcp-memory-service", file)
    assert imported.left_out == [
        LeftOut("gone there", "memory 00000000", "deleted"),
        LeftOut("gone there", "memory 00000000", "replaced by a newer one"),
    ]
    stored = (await fleet.programs.read("mcp-memory-service")).patterns.values()
    of_agent, other = sorted(stored, key=lambda lesson: lesson.domain)
    assert (of_agent.domain, of_agent.project_id) == ("billing", "pay")
    assert (other.domain, other.discovered_at, other.last_reinforced) == (
        "review",
        AT,
        AT + timedelta(days=3),
    )
    assert other.tags == ("mcp-memory-service", "topic:review", "decision")
    assert file.read_bytes() == before
    assert {name for name in os.listdir(tmp_path) if name.startswith("vec")} == {"vec.db"}  # noqa: PTH208 of a test, not in the way of calls


def test_a_row_that_the_service_has_not_yet_moved_from_its_log_is_read(tmp_path: Path) -> None:
    file = service(tmp_path, {"content": RETRY})
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute(
            "INSERT INTO memories (content_hash, content, created_at) VALUES ('b', ?, 0)", (SMALL,)
        )
        other.commit()
        assert texts_of(read_memory_service(file)) == [RETRY, SMALL]
    assert texts_of(read_memory_service(file)) == [RETRY, SMALL]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vec.db"]


async def test_entries_of_cerebro_say_their_roles(fleet: Fleet, tmp_path: Path) -> None:
    cerebro(
        tmp_path,
        ("backend dev", "gotchas", RETRY, '["billing"]', "2026-01-05", None),
        ("reviewer/senior", "style", SMALL, "[]", "2026-01-06", None),
        ("backend dev", "gotchas", "Old", "[]", "2026-01-05", "2026-01-07T00:00:00+00:00"),
    )
    imported = await bring(fleet, "cerebro", tmp_path)
    assert len(imported.new) == 2
    assert imported.left_out == [LeftOut("gone there", "entry 3", "invalidated")]
    stored = (await fleet.programs.read("cerebro")).patterns.values()
    lesson = next(each for each in stored if each.pattern == RETRY)
    assert (lesson.domain, lesson.discovered_at) == ("gotchas", datetime(2026, 1, 5, tzinfo=UTC))
    assert lesson.evidence == "Imported from cerebro: gotchas of backend dev"


def test_observations_of_basic_memory_are_lessons_with_their_context_and_tags() -> None:
    parts = [*read_notes(DATA / "basic-memory")]
    texts = {part.text: part for part in parts if isinstance(part, ForeignText)}
    assert texts.keys() == {
        "Run smoke tests against the canary service name, the main one still routes to the old "
        "pods for up to 90 s",
        "A rollback does not roll back migrations, so they must be backward compatible by one "
        "release #migrations (learnt the hard way)",
        "No deploys on Friday",
        'Notarization fails with "The signature of the binary is invalid" if the native module '
        "isn't unpacked from "
        "asar; add it to asarUnpack",
        "Only one window, deep links are handled in second-instance",
        "contextBridge clones objects, so class instances lose their methods - pass plain data",
        "Paths over 260 characters fail in git checkout, set core.longpaths true in the image",
        "PowerShell 5 writes UTF-16 with `>`; use Out-File -Encoding utf8 or pwsh 7 #encoding "
        "(broke version.txt)",
        "Agent name is WIN-BLD-02",
        "vi.mock is hoisted, variables used in the factory have to be made with vi.hoisted",
        "`--pool=forks` when native modules (better-sqlite3) segfault in threads",
        "jsdom has no ResizeObserver; stub in test/setup.ts",
    }
    rollback = texts[
        "A rollback does not roll back migrations, so they must be backward compatible by one "
        "release #migrations (learnt the hard way)"
    ]
    assert rollback.context == "lesson, Deploy Checklist.md"
    assert rollback.tags == ("migrations", "deploy", "process", "lesson")
    assert texts["No deploys on Friday"].place == str(
        DATA / "basic-memory" / "Deploy Checklist.md:19"
    )
    assert next(filter(None, texts["Agent name is WIN-BLD-02"].topics)) == "Windows build agent"
    created = texts["Only one window, deep links are handled in second-instance"].created
    assert created == datetime.fromisoformat("2025-02-20").astimezone(UTC)
    assert kinds([part for part in parts if isinstance(part, LeftOut)]) == {
        "relation": 4,
        "no statement": 3,
    }


def test_front_matter_of_note_programs_is_read() -> None:
    text = (
        "---\r\ntitle: 'Billing: retries'\r\ntags:\r\n- a\r\n  - \"b c\"\r\nlabels: [x, "
        "'y']\r\n---\r\nBody\r\n"
    )
    fields = {"title": ("Billing: retries",), "tags": ("a", "b c"), "labels": ("x", "y")}
    assert markdown_file(text) == (fields, "Body\n")
    assert markdown_file("---\nnever: ended\n") == ({}, "---\nnever: ended\n")


def test_notes_that_move_while_they_are_read_are_left_out(tmp_path: Path) -> None:
    notes, away, stop = tmp_path / "notes", tmp_path / "away", Event()
    for folder, text in ((notes / "kept", RETRY), (away / "below" / "moves", SMALL)):
        folder.mkdir(parents=True)
        (folder / "one.md").write_text(f"- [lesson] {text}", encoding="utf-8")

    def move() -> None:
        while not stop.is_set():
            (away / "below").rename(notes / "below")
            (notes / "below").rename(away / "below")

    mover = Thread(target=move)
    mover.start()
    try:
        for _ in range(500):
            parts = [*read_notes(notes)]
            assert RETRY in texts_of(parts)
            assert kinds([part for part in parts if isinstance(part, LeftOut)]).keys() <= {
                "gone there"
            }
    finally:
        stop.set()
        mover.join()


async def test_a_second_import_changes_nothing_and_brings_back_no_forgotten_lesson(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = graph(tmp_path, entity("billing", RETRY, SMALL, f"{RETRY}."))
    first = await bring(fleet, "server-memory", file)
    assert (len(first.new), kinds(first.left_out)) == (2, {"repeated": 1})
    (forgotten,) = (
        one
        for one in (await fleet.programs.read("server-memory")).patterns.values()
        if one.pattern == SMALL
    )
    await forget_memory(fleet, "server-memory", forgotten.id, "not ours")
    before = await documents(fleet)
    second = await bring(at(fleet, NOW + timedelta(days=2)), "server-memory", file)
    assert (second.new, second.unchanged) == ([], 2)
    assert await documents(fleet) == before


async def test_a_lesson_that_the_program_has_stays_as_it_is(fleet: Fleet, tmp_path: Path) -> None:
    await learn(fleet, "basher", RETRY)
    before = await documents(fleet)
    imported = await bring(
        fleet, "server-memory", graph(tmp_path, entity("billing", RETRY)), "basher"
    )
    assert (imported.new, imported.unchanged) == ([], 1)
    assert await documents(fleet) == before


async def test_a_dry_run_returns_the_same_answer_and_writes_nothing(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = graph(tmp_path, entity("billing", RETRY, SMALL))
    before = await documents(fleet)
    tried = await bring(fleet, "server-memory", file, dry_run=True)
    assert await documents(fleet) == before
    assert tried == await bring(fleet, "server-memory", file)


def copies(source: str, folder: Path) -> tuple[Path, Path]:
    """Write one memory twice: the second is elsewhere, has lost its first text, and words RETRY
    otherwise.
    """
    first, second = folder / "may", folder / "june"
    first.mkdir()
    second.mkdir()
    if source == "server-memory":
        other = entity("billing", RETRY) | {"entityType": "api"}
        return graph(first, entity("x", "An old text"), entity("billing", RETRY)), graph(
            second, other
        )
    if source == "mcp-memory-service":
        old: dict[str, object] = {"content": "An old text"}
        return service(first, old, {"content": RETRY}), service(
            second, {"content": RETRY, "memory_type": "decision"}
        )
    if source == "cerebro":
        old_entry = ("dev", "gotchas", "An old text", "[]", "2026-01-04", None)
        entries = (
            ("dev", category, RETRY, "[]", "2026-01-05", None) for category in ("gotchas", "style")
        )
        return cerebro(first, old_entry, next(entries)), cerebro(second, next(entries))
    (first / "A.md").write_text("- [lesson] An old text", encoding="utf-8")
    (first / "Billing.md").write_text(f"- [lesson] {RETRY}", encoding="utf-8")
    (second / "Payments.md").write_text(f"- [decision] {RETRY}", encoding="utf-8")
    return first, second


async def shared(fleet: Fleet) -> list[str]:
    """Return the fleet's knowledge after a run of maintenance."""
    await pattern_consolidate(fleet, no_progress)
    return [entry.pattern for entry in (await recall_memory(fleet, "ram")).knowledge]


@pytest.mark.parametrize("source", sorted(OWN["importers"]))
async def test_one_memory_that_two_programs_took_is_one_origin_however_it_changed_between(
    fleet: Fleet, tmp_path: Path, source: str
) -> None:
    first, second = copies(source, tmp_path)
    await bring(fleet, source, first, "basher")
    await bring(fleet, source, second, "iso")
    assert (await lessons(fleet, "basher"))[RETRY] != (await lessons(fleet, "iso"))[RETRY]
    assert await shared(fleet) == []
    (candidate,) = await fleet.knowledge.all()
    assert candidate.entry is not None
    assert {line.program_id for line in candidate.entry.provenance} == {"basher", "iso"}


async def test_an_agent_that_learns_the_same_by_itself_is_another_origin(
    fleet: Fleet, tmp_path: Path
) -> None:
    await bring(fleet, "server-memory", graph(tmp_path, entity("billing", RETRY)), "basher")
    await learn(fleet, "iso", RETRY)
    assert await shared(fleet) == [RETRY]


async def test_three_memories_of_one_person_publish_nothing(fleet: Fleet, tmp_path: Path) -> None:
    await bring(fleet, "server-memory", graph(tmp_path, entity("billing", RETRY)))
    await bring(fleet, "mcp-memory-service", service(tmp_path, {"content": RETRY}))
    old = cerebro(tmp_path, ("dev", "gotchas", RETRY, "[]", "2026-01-05", None))
    await bring(fleet, "cerebro", old)
    assert await shared(fleet) == []


async def test_a_full_program_takes_no_more_and_loses_nothing(fleet: Fleet, tmp_path: Path) -> None:
    await learn(fleet, "basher", "My own lesson")
    file = graph(tmp_path, entity("billing", *(f"Lesson number {n}" for n in range(510))))
    imported = await bring(fleet, "server-memory", file, "basher")
    assert (len(imported.new), kinds(imported.left_out)) == (499, {"no room": 11})
    program = await fleet.programs.read("basher")
    assert len(program.patterns) == 500
    assert "My own lesson" in {one.pattern for one in program.patterns.values()}


async def test_where_there_is_too_little_room_the_newest_come(fleet: Fleet, tmp_path: Path) -> None:
    rows = [
        {"content": f"Lesson {n}", "created_at": (AT + timedelta(hours=n)).timestamp()}
        for n in range(510)
    ]
    imported = await bring(fleet, "mcp-memory-service", service(tmp_path, *rows), "basher")
    assert {part.place for part in imported.left_out} == {"memory 00000000"}
    assert {one.pattern.pattern for one in imported.new} == {f"Lesson {n}" for n in range(10, 510)}


async def test_a_second_import_makes_no_vectors(fleet: Fleet, tmp_path: Path) -> None:
    file = graph(tmp_path, entity("billing", RETRY, SMALL))
    await bring(fleet, "server-memory", file)
    imported = await bring(replace(fleet, embedder=Failing()), "server-memory", file)
    assert imported.unchanged == 2


async def test_lessons_come_without_vectors_while_the_engine_does_not_answer(
    fleet: Fleet, tmp_path: Path
) -> None:
    down = replace(fleet, embedder=Unavailable())
    await bring(down, "server-memory", graph(tmp_path, entity("billing", RETRY)))
    (lesson,) = (await fleet.programs.read("server-memory")).patterns.values()
    assert (lesson.pattern, lesson.vector) == (RETRY, "")


async def test_old_memories_are_counted_as_faded(fleet: Fleet, tmp_path: Path) -> None:
    rows = [
        {"content": RETRY, "created_at": (NOW - timedelta(days=age)).timestamp()}
        for age in (91, 89)
    ]
    imported = await bring(
        fleet, "mcp-memory-service", service(tmp_path, rows[0], rows[1] | {"content": SMALL})
    )
    assert imported.faded == 1


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        (
            "x" * 1_001,
            LeftOut(
                "limit", "here", "pattern: must be at most 1000 characters, not 1001; shorten it"
            ),
        ),
        (" ", LeftOut("limit", "here", "pattern: must not be empty")),
        (
            "a\x00b",
            LeftOut(
                "limit", "here", "pattern: must not hold control characters (U+0000 at position 1)"
            ),
        ),
        ("the key is hunter2", LeftOut("credential", "here", "rule password")),
    ],
)
def test_a_text_that_is_no_lesson_is_named_with_the_reason_and_without_its_words(
    text: str, left_out: LeftOut
) -> None:
    memory = ForeignMemory("cerebro", [ForeignText("here", text, "of a test", ("tests",))])
    assert fitting_lessons(memory, NOW, rule_of) == ([], [left_out])


def rule_of(text: str) -> str | None:
    return "password" if "hunter2" in text else None


def test_places_and_reasons_are_printable_and_short() -> None:
    parts = [LeftOut("relation", "line 3", "a\x1b[31m\ud800" + "b" * 500)]
    _, (part,) = fitting_lessons(ForeignMemory("server-memory", parts), NOW, rule_of)
    assert part.why == "a?[31m?" + "b" * 113


async def test_texts_that_are_not_unicode_are_named_as_damaged(
    fleet: Fleet, tmp_path: Path
) -> None:
    imported = await bring(
        fleet,
        "server-memory",
        graph(tmp_path, entity("a\ud800", "b"), entity("c", "\udfff", RETRY)),
    )
    assert list(await lessons(fleet, "server-memory")) == [RETRY]
    assert [part.place for part in imported.left_out] == ["a?, observation 1", "c, observation 1"]
    assert kinds(imported.left_out) == {"damaged": 2}


@pytest.mark.parametrize(
    "text",
    [
        FOUND._replace(topics=("billing", TOKEN)),
        FOUND._replace(tags=(TOKEN,)),
        FOUND._replace(project=f"shop {TOKEN}"),
        FOUND._replace(text=f"Push with {TOKEN}"),
    ],
)
async def test_a_credential_is_left_out_wherever_a_lesson_would_keep_it(text: ForeignText) -> None:
    fitting = fitting_lessons(ForeignMemory("cerebro", [text]), NOW, credential_in)
    assert fitting == ([], [LeftOut("credential", "here", "rule github-pat")])


async def test_a_value_is_read_with_the_name_over_it(fleet: Fleet, tmp_path: Path) -> None:
    file = graph(tmp_path, entity("stripe_api_key", "9f86d081884c7d65" + "9a2feaa0c55ad015"))
    with pytest.raises(
        InvalidArgumentError, match=r"\n  stripe_api_key, observation 1: rule generic-api-key$"
    ):
        await bring(fleet, "server-memory", file)


async def test_a_credential_is_no_name_of_a_program(fleet: Fleet, tmp_path: Path) -> None:
    file = graph(tmp_path, entity("billing", RETRY))
    with pytest.raises(
        InvalidArgumentError, match=r"^--program: holds a credential \(rule github-pat\)"
    ):
        await bring(fleet, "server-memory", file, TOKEN)


async def test_a_policy_that_allows_credentials_lets_them_come(
    fleet: Fleet, tmp_path: Path
) -> None:
    file = graph(tmp_path, entity("vault", f"The token is {TOKEN}"))
    with pytest.raises(InvalidArgumentError, match="1 of its texts hold a credential"):
        await bring(fleet, "server-memory", file)
    await set_policy(fleet, ["secrets", "allow"])
    assert (
        await bring(at(fleet, NOW + timedelta(minutes=2)), "server-memory", file)
    ).left_out == []


def test_a_relation_with_a_credential_is_not_shown() -> None:
    memory = ForeignMemory("server-memory", [LeftOut("relation", "line 3", "hunter2 opens vault")])
    assert fitting_lessons(memory, NOW, rule_of) == (
        [],
        [LeftOut("relation", "line 3", "not shown, has a credential")],
    )


def test_times_to_come_are_now_and_a_creation_is_no_later_than_its_change() -> None:
    tomorrow = NOW + timedelta(days=1)
    text = ForeignText("here", RETRY, "of a test", ("tests",), created=tomorrow, changed=AT)
    memory = ForeignMemory("cerebro", [text, text._replace(text=SMALL, changed=tomorrow)])
    times = [
        (one.pattern.discovered_at, one.pattern.last_reinforced)
        for one in fitting_lessons(memory, NOW, rule_of)[0]
    ]
    assert times == [(NOW, NOW), (AT, AT)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Backend Dev", "Backend-Dev"),
        ("reviewer/senior", "reviewer/senior"),
        ("Åsa..x", "A-sa.x"),
        ("日本", ""),
        (".x", "x"),
    ],
)
def test_a_name_of_another_memory_becomes_a_name_here(text: str, name: str) -> None:
    assert name_of(text) == name


async def test_a_bound_process_imports_nothing(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(ForbiddenError):
        await bring(
            replace(fleet, caller=Caller("basher")),
            "server-memory",
            graph(tmp_path, entity("a", RETRY)),
        )
    assert await fleet.programs.read("server-memory") == Program(program_id="server-memory")


@pytest.mark.parametrize("reader", [read_server_memory, read_memory_service, read_cerebro])
def test_a_file_that_is_no_memory_is_refused_by_its_name(reader: object, tmp_path: Path) -> None:
    assert callable(reader)
    (tmp_path / "notes.txt").write_text("not a memory", encoding="utf-8")
    for name in ("notes.txt", "gone"):
        with pytest.raises(InvalidArgumentError, match=f"FILE: {name}"):
            list(reader(tmp_path / name))


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidArgumentError, match="no memories with content, created_at, id, tags"
    ):
        list(read_memory_service(cerebro(tmp_path)))


NOTES = """# Guide

We build invoices.

## Commands
- `npm test`
- Run `npm run lint` before each commit

## Code style
- Prefer:
  - named exports over default exports
- [ ] write more of this
- [Deploy](deploy.md), how we deploy
```
- no lesson at all
```
"""


@pytest.fixture
def notes(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what people have: the command runs in it, on a memory of its own."""
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.words[0]))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    monkeypatch.setenv("FLEET_MEMORY_NOW", "2026-03-07T12:00:00Z")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "invoices"
    (folder / ".cursor" / "rules").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text(NOTES, encoding="utf-8")
    (folder / "AGENTS.md").symlink_to("CLAUDE.md")
    rule = "---\ndescription: API\nglobs: src/**/*.ts\n---\n- Validate every body with zod\n"
    (folder / ".cursor" / "rules" / "api.mdc").write_text(rule, encoding="utf-8")
    fact = (
        "---\nname: deploy\ntype: project\n---\nDeploys go by the canary.\n\n**Why:** an outage\n"
    )
    (folder / "memory").mkdir()
    (folder / "memory" / "deploy.md").write_text(fact, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--json"]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.usefixtures("notes")
def test_notes_that_people_have_become_lessons_of_this_folders_agent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = ("CLAUDE.md", "AGENTS.md", ".cursor/rules", "memory")
    answer = printed(capsys, "import", *files, "--yes")
    assert (answer["programId"], answer["new"]) == ("invoices", 4)
    assert answer["lessons"] == [
        {
            "place": "CLAUDE.md:7",
            "domain": "Commands",
            "text": "Run `npm run lint` before each commit",
        },
        {
            "place": "CLAUDE.md:11",
            "domain": "code-style",
            "text": "named exports over default exports",
        },
        {
            "place": os.path.join(".cursor", "rules", "api.mdc:5"),  # noqa: PTH118 as it is shown
            "domain": "api",
            "text": "Validate every body with zod",
        },
        {
            "place": os.path.join("memory", "deploy.md:5"),  # noqa: PTH118 as it is shown
            "domain": "deploy",
            "text": "Deploys go by the canary.",
        },
    ]
    assert answer["leftOutCounts"] == {"no statement": 8, "relation": 2, "repeated": 2}
    lessons = printed(capsys, "list", "lessons")["lessons"]
    assert isinstance(lessons, list)
    evidence = {each["pattern"]: each["evidence"] for each in lessons}
    assert (
        evidence["Deploys go by the canary."]
        == "Imported from notes: deploy.md. **Why:** an outage"
    )
    again = printed(capsys, "import", *files, "--yes")
    assert (again["new"], again["unchanged"]) == (0, 4)


def test_an_import_of_notes_is_shown_first_and_asks(
    notes: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "CLAUDE.md"]) == 1
    assert not Path(str(settings.store.words[0])).exists()
    said = capsys.readouterr().err
    assert "CLAUDE.md:7   Commands    Run `npm run lint` before each commit" in said
    assert said.endswith("nothing was changed: pass --yes, or run this in a terminal and answer\n")
    assert printed(capsys, "import", "CLAUDE.md", "--dry-run")["new"] == 2
    assert main(["list", "lessons"]) in (0, 1)
    assert "lint" not in capsys.readouterr().out
    (notes / "empty.md").touch()
    assert main(["import", "empty.md", "--yes"]) == 1


def test_notes_with_credentials_are_refused_whole_and_each_is_named_by_its_line(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = f"- Push with {TOKEN}\n- Always rebase before merging\n- The token is {TOKEN}\n"
    (notes / "AGENTS.md").unlink()
    (notes / "AGENTS.md").write_text(lines, encoding="utf-8")
    for more in ("--yes", "--dry-run"):
        assert main(["import", "CLAUDE.md", "AGENTS.md", more]) == 2
        named = "\n  AGENTS.md:1: rule github-pat\n  AGENTS.md:3: rule github-pat\n"
        assert capsys.readouterr().err.endswith(named)
    assert main(["list", "lessons"]) in (0, 1)
    assert "rebase" not in capsys.readouterr().out


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["gone.md"], "gone.md is not there"),
        (["CLAUDE.md", "backup.jsonl"], "an export is imported alone"),
        (["backup.jsonl", "--dry-run"], "an export is imported alone"),
        (["CLAUDE.md", "--policy"], "they go with a file of `export`"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_a_line(
    words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", *words]) == 2
    assert why in capsys.readouterr().err


def test_the_command_names_25_parts_and_counts_the_others(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    relations = [
        {"type": "relation", "from": "a", "to": str(n), "relationType": "of"} for n in range(30)
    ]
    file = str(graph(notes, entity("a", RETRY), *relations, "{damaged"))
    words = ["import", "--from", "server-memory", file]
    assert main([*words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "\nleftOutCounts  damaged 1, relation 30\n" in shown
    assert shown.endswith("\nand 6 more leftOut\n")
    answer = printed(capsys, *words, "--program", "basher", "--yes")
    left_out = answer["leftOut"]
    assert isinstance(left_out, list)
    assert (answer["programId"], answer["new"], len(left_out)) == ("basher", 1, 25)


async def test_no_lesson_leaves_for_one_that_is_imported(fleet: Fleet) -> None:
    for n in range(3):
        await learn(fleet, "basher", f"Own lesson {n}", id_=f"own{n}")
    texts = [
        FOUND._replace(text=f"{RETRY} {n}: {'x' * 900}", context="c" * 1900) for n in range(400)
    ]
    done = await import_foreign(fleet, ForeignMemory("notes", texts), "basher", dry_run=False)
    stored = (await fleet.programs.read("basher")).patterns
    assert (len(stored), {"own0", "own1", "own2"} <= stored.keys()) == (3 + len(done.new), True)
    assert {part.kind for part in done.left_out} == {"no room"}
    assert len(done.new) + len(done.left_out) == 400
    assert await fleet.programs.archive.count_lessons() == 0
