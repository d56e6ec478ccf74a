"""The file of an export: private, whole or not at all; and each line is checked before an import
writes anything.
"""

import json
import stat
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.jobs.restoration import list_archive
from fleet_memory.jobs.transfer.reading import times_in
from fleet_memory.schemas.programs import Note, Program
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.session import commit_session
from fleet_memory.tools.state import ContextSummary, forget_memory, update_program_state
from tests.fleets import NOW, at, documents, learn
from tests.moving import bring, export_to, sealed

DATA = Path(__file__).parent / "data"
CLAIM = "Check that a task is still free before you claim it"
Json = dict[str, object]


async def export_made(fleet: Fleet, file: Path) -> Path:
    """Fill a fleet with a document in each collection, and export it."""
    fleet = at(fleet, NOW)
    for program in ("basher", "sark"):
        await learn(fleet, program, CLAIM)
    await learn(fleet, "iso", "Gone soon", id_="gone")
    await forget_memory(fleet, "iso", "gone", "no")
    await update_program_state(
        fleet, "iso", context_summary=ContextSummary.model_validate({"handoffNotes": "Merge it"})
    )
    await commit_session(fleet, "iso", missing=("Which port does the proxy use?",))
    await pattern_consolidate(fleet, no_progress)
    await export_to(fleet, file)
    return file


@pytest.fixture
async def exported(fleet: Fleet, tmp_path: Path) -> Path:
    """The export of the fleet."""
    return await export_made(fleet, tmp_path / "memory.jsonl")


def lines_of(file: Path) -> list[Json]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[1:-2]]


def first_of(lines: list[Json], collection: str) -> int:
    return next(place for place, line in enumerate(lines) if line["collection"] == collection)


BROKEN: dict[str, tuple[str, Json | None, str]] = {
    "an archive line without its lesson": (
        "archive",
        {"programId": "a1"},
        "the archive document .* is not sound",
    ),
    "a history line without its text": (
        "history",
        {"programId": "iso", "number": 0},
        "the history document .* is not",
    ),
    "a ledger line of no kind": (
        "ledger",
        {"event": "eaten", "key": "x"},
        "the ledger document .* is not sound",
    ),
    "an entry without a text": (
        "gsp",
        {"key": "x", "state": "fresh"},
        "the gsp document .* is not sound",
    ),
    "a program from the future": (
        "programs",
        None,
        "is from the future: later than 2026-03-07",
    ),
    "a document without an id": (
        "",
        {"collection": "programs", "fields": {}},
        "must have a collection",
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("collection", "fields", "said"), BROKEN.values(), ids=BROKEN)
async def test_a_line_that_is_not_sound_is_named_and_nothing_is_written(
    fleet: Fleet, exported: Path, collection: str, fields: Json | None, said: str
) -> None:
    lines = lines_of(exported)
    place = first_of(lines, collection) if collection else 0
    known = lines[place]
    if fields is None:
        at_ = "9999-01-01T00:00:00Z"
        lines[place] = known | {"fields": dict(known["fields"]) | {"lastUpdate": at_}}  # type: ignore[call-overload]  # an object by its kind
    else:
        lines[place] = known | {"fields": fields} if collection else fields
    await anyio.Path(exported).write_text(sealed(*lines), encoding="utf-8")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    before = await documents(fleet)
    with pytest.raises(InvalidArgumentError, match=f"line {place + 2}: .*{said}"):
        await bring(other, exported)
    assert await documents(fleet) == before
    assert await other.programs.all() == []


@pytest.mark.anyio
@pytest.mark.parametrize(("collection", "field"), [("gsp", "lastConfirmed"), ("ledger", "at")])
async def test_no_time_of_a_file_is_in_the_future(
    fleet: Fleet, exported: Path, collection: str, field: str
) -> None:
    lines = lines_of(exported)
    place = first_of(lines, collection)
    fields = lines[place]["fields"]
    assert isinstance(fields, dict)
    lines[place] = lines[place] | {"fields": fields | {field: "2999-01-01T00:00:00Z"}}
    await anyio.Path(exported).write_text(sealed(*lines), encoding="utf-8")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    with pytest.raises(
        InvalidArgumentError,
        match=f"line {place + 2}: the {collection} document .* is from the future",
    ):
        await bring(other, exported)


def test_a_time_deep_in_a_value_is_found() -> None:
    notes = {"n1": Note(id="n1", text="x", at=NOW)}
    program = Program(program_id="basher", shown={"4882dd289fa34031": NOW}, notes=notes)
    assert [*times_in(program)] == [NOW, NOW]


@pytest.mark.anyio
async def test_a_file_of_version_0_2_is_read_and_one_of_now_names_the_new_format(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet = at(fleet, NOW)
    merged = await bring(fleet, DATA / "export-0.2.jsonl")
    assert merged.archived == ()
    (entry,) = (versioned.entry for versioned in await fleet.knowledge.all())
    assert entry is not None
    assert {line.program_id for line in entry.provenance} == {"basher", "iso"}
    assert [(word.program_id, word.outcome) for word in entry.words] == [("sark", "confirmed")]
    assert len((await fleet.programs.read("sark")).patterns) == 1
    await export_to(fleet, tmp_path / "now.jsonl")
    header = (tmp_path / "now.jsonl").read_text(encoding="utf-8").partition("\n")[0]
    assert json.loads(header)["format"] == "fleet-memory/2"


@pytest.mark.anyio
async def test_a_run_makes_the_vectors_of_lessons_of_version_0_2_anew(fleet: Fleet) -> None:
    await bring(fleet, DATA / "export-0.2.jsonl")
    assert await engines(fleet) == {""}
    await maintain_fleet(fleet, no_progress)
    assert await engines(fleet) == {fleet.embedder.name}


async def engines(fleet: Fleet) -> set[str]:
    programs = [each.program for each in await fleet.programs.all()]
    return {lesson.embedder for program in programs for lesson in program.patterns.values()}


@pytest.mark.anyio
async def test_lessons_that_version_0_2_kept_on_a_page_are_read(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet, file = at(fleet, NOW), tmp_path / "memory.jsonl"
    for number, text in enumerate((CLAIM, "Merge on Fridays")):
        await learn(fleet, "basher", text, id_=f"lesson-{number}")
    await export_to(fleet, file)
    (line,) = lines_of(file)
    fields = line["fields"]
    assert isinstance(fields, dict)
    (at_hand, text), (paged, other_text) = fields["patterns"].items()
    page = {"programId": "basher", "page": 1, "patterns": {paged: other_text}}
    line_of_page = {"collection": "pages", "id": "basher_7e_1", "fields": page}
    program = line | {"fields": fields | {"patterns": {at_hand: text}}}
    await anyio.Path(file).write_text(sealed(program, line_of_page), encoding="utf-8")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    await bring(other, file)
    before, after = [await each.programs.read("basher") for each in (fleet, other)]
    assert after.patterns.keys() == before.patterns.keys()


@pytest.mark.anyio
async def test_lessons_that_version_0_2_archived_by_age_are_read(
    fleet: Fleet, tmp_path: Path
) -> None:
    fleet, file = at(fleet, NOW), tmp_path / "memory.jsonl"
    await learn(fleet, "basher", CLAIM)
    await forget_memory(fleet, "basher", "mine", "old")
    await export_to(fleet, file)
    text = (await anyio.Path(file).read_text(encoding="utf-8")).replace('"forgotten"', '"decay"')
    lines = [json.loads(line) for line in text.splitlines()[1:-1]]
    await anyio.Path(file).write_text(sealed(*lines), encoding="utf-8")
    other = at(Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now), NOW)
    await bring(other, file)
    (row,) = await list_archive(other, "basher")
    assert (row["patternId"], row["reason"]) == ("mine", "decay")


@pytest.mark.anyio
@pytest.mark.parametrize("line", ["[" * 100_000 + "]" * 100_000, '{"a":"\\ud800"}', '{"a":NaN}'])
async def test_a_line_that_no_store_takes_is_refused(
    fleet: Fleet, exported: Path, line: str
) -> None:
    await anyio.Path(exported).write_text(sealed(line), encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match="line 2: "):
        await bring(fleet, exported)


@pytest.fixture
def store(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory and its export, as the commands find them."""
    anyio.run(with_fleet, settings, lambda fleet: export_made(fleet, tmp_path / "memory.jsonl"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.usefixtures("store")
def test_an_export_is_for_its_owner_alone_and_leaves_no_draft(tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / "new.jsonl.part").symlink_to(victim)
    assert main(["export", "new.jsonl"]) == 0
    assert stat.S_IMODE((tmp_path / "new.jsonl").stat().st_mode) == 0o600
    assert victim.read_text(encoding="utf-8") == "mine"
    before = sorted(tmp_path.iterdir())
    assert main(["export", "--force", str(tmp_path)]) == 2
    assert main(["export", "nowhere/new.jsonl"]) == 2
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.usefixtures("store")
def test_an_export_through_a_link_replaces_the_file_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "target.jsonl")
    assert main(["export", "link.jsonl", "--force"]) == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert lines_of(tmp_path / "target.jsonl") == lines_of(tmp_path / "memory.jsonl")


def test_a_memory_that_is_not_there_is_not_exported_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "backup.jsonl", "--store", "typo/deep/x.db"]) == 1
    assert "there is no memory at" in said(capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("store")
def test_an_empty_fleet_replaces_no_backup_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tmp_path / "memory.jsonl").read_bytes()
    assert main(["export", "memory.jsonl", "--force", "--fleet", "typo"]) == 1
    assert "fleet typo has no memory" in said(capsys)
    assert (tmp_path / "memory.jsonl").read_bytes() == before


@pytest.mark.usefixtures("store")
def test_stdout_has_the_export_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "-"]) == 0
    captured = capsys.readouterr()
    assert (
        captured.out.split("\n")[1:]
        == (tmp_path / "memory.jsonl").read_text(encoding="utf-8").split("\n")[1:]
    )
    assert "wrote 7 documents" in captured.err


@pytest.mark.usefixtures("store")
def test_the_file_of_another_fleet_goes_in_only_if_a_person_agrees(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["import", "memory.jsonl", "--fleet", "team"]) == 1
    assert "pass --yes" in said(capsys)
    assert main(["export", "-", "--fleet", "team"]) == 1
    assert main(["import", "memory.jsonl", "--fleet", "team", "--yes"]) == 0
    assert "\nsource   default\nwritten  7\n" in said(capsys)


@pytest.mark.usefixtures("store")
def test_the_command_that_brings_a_backup_back_serves_a_fleet_without_a_policy_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["import", "memory.jsonl", "--policy", "--store", "restored.db"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n--policy: the file has no policy and no rules; those of this fleet stay.\n"
    )


@pytest.mark.usefixtures("store")
def test_a_bound_process_may_not_import_and_is_refused_before_the_file_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "basher")
    for command in (["export", "new.jsonl"], ["import", "nowhere.jsonl"]):
        assert main(command) != 0
        assert "You are basher" in said(capsys)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "file.jsonl cannot be read: No such file or directory"),
        (b"\xff\xfe", "not UTF-8 text, from byte 0 on"),
        (b"", "line 1: not JSON"),
    ],
)
@pytest.mark.usefixtures("store")
def test_a_file_that_cannot_be_read_is_refused_by_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "file.jsonl").write_bytes(content)
    assert main(["import", "file.jsonl"]) == 2
    assert words in said(capsys)


@pytest.mark.usefixtures("store")
def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    content = (tmp_path / "memory.jsonl").read_bytes()
    (tmp_path / "windows.jsonl").write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    assert main(["import", "windows.jsonl", "--store", "new.db"]) == 0
