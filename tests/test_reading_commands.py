"""The commands that people read a memory with: `list`, `show`, `search` and `why`."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import with_membership
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller, Program
from fleet_memory.server.app import call_in_process
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.stores import Document
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import NEAREST
from fleet_memory.tools.state import forget_memory
from tests.fleets import documents, learn
from tests.shared import KEY, Lesson, learnt, opened_pair, shared_entry

WRITER = "t1"
NOW = "2026-03-01T09:00:00Z"
CLAIM = "Look whether a task is still free before you claim it"
STEERING = "Rotate\x1b[31m the\ncontext early"  # as an older version took it
READING = [
    ["list", "entries"],
    ["list", "lessons"],
    ["list", "lessons", "--program", "basher"],
    ["show", KEY],
    ["show", "basher/rotate"],
    ["why", "basher/rotate"],
    ["search", "rotate the context"],
    ["search", "--program", "basher", "rotate the context"],
    ["list", "log"],
    ["list", "programs"],
    ["list", "domains"],
]
REQUIRING = [  # a memory that is there
    *READING,
    ["doctor", "memory"],
    ["policy", "show"],
    ["lesson", "restore", "--program", "basher"],
    ["lesson", "restore", "rotate", "--program", "basher"],
    ["purge", "--text", "hunter2", "--yes"],
    ["lesson", "forget", "basher", "--all", "--why", "w", "--yes"],
    ["lesson", "forget", "basher/rotate", "--why", "w"],
    ["lesson", "edit", "basher/rotate", "Rotate", "--change", "reworded", "--why", "w"],
    ["lesson", "allow", "basher/rotate", "--why", "w"],
    ["backup", "copy.db"],
    ["review"],
    ["review", "p1", "same"],
    ["maintain"],
    ["maintain", "--rebuild"],
    ["seed", "rules.toml", "--dry-run"],
    ["export", "-"],
    ["entry", "retire", KEY, "--why", "w"],
    ["entry", "reinstate", KEY, "--why", "w"],
    ["entry", "reword", KEY, "Look first", "--why", "w"],
    ["entry", "split", KEY, "--program", "basher", "--why", "w"],
]


@pytest.fixture(autouse=True)
def _fleet_with_an_entry(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "STORE": str(settings.store.words[0]),
        "EMBEDDER": "lexical",
        "NOW": NOW,
    }.items():
        monkeypatch.setenv(f"FLEET_MEMORY_{name}", value)
    change(settings, teach)


async def teach(fleet: Fleet) -> None:
    await shared_entry(fleet, "basher", "iso")
    await learnt(fleet, "basher", STEERING, "rotate")
    await learn(fleet, "sark", "Pin the actions by hash", id_="pin", domain="ci")


def change(settings: Settings, work: Callable[[Fleet], Awaitable[None]]) -> None:
    anyio.run(with_fleet, settings, work)


def stored(settings: Settings) -> Sequence[Document]:
    return anyio.run(with_fleet, settings, documents)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    answer = json.loads(printed(capsys, *words, "--json"))
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_changes_nothing_and_steers_no_terminal(
    words: list[str], settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(settings)
    assert "\x1b" not in printed(capsys, *words)
    assert answered(capsys, *words)
    assert stored(settings) == before


@pytest.mark.parametrize("words", REQUIRING, ids=" ".join)
def test_a_command_that_needs_a_memory_creates_none(
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(
        '[[entry]]\ntext = "Never commit secrets"\ndomain = "security"\n'
    )
    missing = tmp_path / "no" / "memory.db"
    assert main([*words, "--store", str(missing)]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert f"there is no memory at {missing}" in printed.err
    assert not missing.parent.exists()


def rows(answer: dict[str, object], name: str) -> list[dict[str, object]]:
    listed = answer[name]
    assert isinstance(listed, list)
    return listed


def test_list_names_the_entries_and_the_lessons(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", "entries").splitlines() == [
        "entries:",
        f"  key{'':{len(KEY) - 3}}  contributorCount  pattern",
        f"  {KEY}  2{'':15}  {CLAIM}",
        "total  1",
    ]
    assert printed(capsys, "list", "lessons", "--program", "basher").splitlines() == [
        "lessons:",
        f"  programId  id      domain  knowledgeKey{'':{len(KEY) - 12}}  pattern",
        f"  basher     mine    tasks   {KEY}  {CLAIM}",
        f"  basher     rotate  tasks   {'':{len(KEY)}}  Rotate [31m the context early",
        "total  2",
    ]
    every = rows(answered(capsys, "list", "lessons"), "lessons")
    assert {(row["programId"], row["id"]) for row in every} == {
        ("basher", "mine"),
        ("basher", "rotate"),
        ("iso", "mine"),
        ("sark", "pin"),
    }
    promoted = answered(capsys, "list", "lessons", "--program", "basher", "--state", "promoted")
    assert [row["id"] for row in rows(promoted, "lessons")] == ["mine"]
    assert printed(capsys, "list", "lessons", "--domain", "task").endswith(
        "Close domains are tasks.\n"
    )


def test_list_counts_its_omissions_and_names_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("list", "lessons", "--program", "basher", "--limit", "1")
    assert printed(capsys, *words).endswith("\nand 1 more lessons\n")
    answer = answered(capsys, *words)
    assert (answer["total"], answer["omitted"]) == (2, {"lessons": 1})
    assert "Close domains are tasks." in printed(capsys, "list", "entries", "--domain", "task")
    with pytest.raises(SystemExit, match="2"):
        main(["list", "entries", "--state", "stale"])


def test_a_fleet_without_entries_is_answered_with_the_place_of_lessons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "`fleet-memory list lessons`" in printed(capsys, "list", "entries", "--fleet", "other")


def test_show_has_sources_words_and_history_of_an_entry(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def retire(fleet: Fleet) -> None:
        await retire_entry(fleet, KEY, "we have a queue")

    change(settings, retire)
    lines = printed(capsys, "show", KEY).splitlines()
    assert "      evidence: iso lost a day" in lines
    assert any(line.endswith("  retired   operator  we have a queue") for line in lines)
    answer = answered(capsys, "show", KEY)
    assert (answer["status"], answer["contributors"]) == ("retired", ["basher", "iso"])


def test_show_finds_a_lesson_also_in_the_archive_and_names_close_ones(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answered(capsys, "show", "pin", "--program", "sark") == (
        answered(capsys, "show", "sark/pin")
    )

    async def forget(fleet: Fleet) -> None:
        await forget_memory(fleet, "sark", "pin", "wrong project")

    change(settings, forget)
    assert "brings it back" in printed(capsys, "show", "sark/pin")
    assert "brings it back" in printed(capsys, "why", "sark/pin")
    for name, said in (
        ("basher/rotat", "Close ids are rotate"),
        (KEY[:-1], f"Close keys are {KEY}"),
    ):
        assert main(["show", name]) == 1
        assert said in capsys.readouterr().err
    assert main(["show", "pin"]) == 2


def test_search_ranks_lessons_of_every_program_with_the_entries(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (first, *_) = rows(answered(capsys, "search", "pin", "the", "actions"), "hits")
    assert (first["programId"], first["id"]) == ("sark", "pin")
    hits = rows(answered(capsys, "search", "claim a free task"), "hits")
    assert (hits[0]["key"], [hit for hit in hits if hit.get("id") == "mine"]) == (KEY, [])
    assert answered(capsys, "search", "xyzzy")["notes"] == [NEAREST]


def test_a_lesson_of_an_entry_that_lost_its_votes_is_called_its_candidate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answered(capsys, "show", "basher/mine")["knowledgeKey"] == KEY
    printed(capsys, "purge", "--program", "iso", "--yes")
    (row, _) = rows(answered(capsys, "list", "lessons", "--program", "basher"), "lessons")
    assert (row["candidateOf"], row.get("knowledgeKey")) == (KEY, None)
    (program,) = rows(answered(capsys, "list", "programs", "--program", "basher"), "programs")
    assert program["entries"] == []
    answer = answered(capsys, "show", KEY)
    assert (answer["status"], "Auto-promoted" in str(answer)) == ("candidate", False)


def test_list_log_has_the_newest_changes_first(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def retire(fleet: Fleet) -> None:
        await retire_entry(fleet, KEY, "we have a queue")

    change(settings, retire)
    newest, oldest = rows(answered(capsys, "list", "log"), "changes")
    assert (newest["event"], newest["key"], newest["by"], newest["why"]) == (
        "retired",
        KEY,
        "operator",
        "we have a queue",
    )
    assert (oldest["event"], oldest["by"]) == ("promoted", "judge")
    assert printed(capsys, "list", "log", "--limit", "1").endswith("\nand 1 more changes\n")
    assert printed(capsys, "list", "log", "--since", "2999-01-01").startswith("changes  none\n")
    with pytest.raises(SystemExit, match="2"):
        main(["list", "log", "--since", "yesterday"])


def test_list_programs_names_the_entries_that_they_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = rows(answered(capsys, "list", "programs"), "programs")
    taught = {one["programId"]: (one["lessons"], one["entries"]) for one in programs}
    assert taught == {"basher": (2, [KEY]), "iso": (1, [KEY]), "sark": (1, [])}
    assert answered(capsys, "list", "programs", "--limit", "1")["omitted"] == {"programs": 2}


def test_domains_are_counted_the_commonest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", "domains").splitlines() == [
        "domain  entries  lessons",
        "tasks   1        3",
        "ci      0        1",
    ]
    (row,) = rows(answered(capsys, "list", "domains", "--program", "sark"), "domains")
    assert row == {"domain": "ci", "entries": 0, "lessons": 1}


@pytest.mark.parametrize(
    "words",
    [
        "list lessons",
        "search x",
        "list programs",
        "list domains",
        "show mine",
        "lesson restore",
        "lesson forget bashr --all --why w --yes",
        "doctor memory",
    ],
)
def test_a_program_that_stored_nothing_is_the_same_no_everywhere(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = [] if "bashr" in words else ["--program", "bashr"]
    assert main([*words.split(), *program, "--json"]) == 1
    said = "fleet-memory: bashr has stored nothing. Close names are basher.\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("show pattern/x/y", "fleet-memory list entries"),
        ("entry retire pattern/x/y --why w", "fleet-memory list entries"),
        ("show sark/nowhere-near", "fleet-memory list lessons"),
    ],
)
def test_advice_for_a_person_names_a_command_and_no_tool_call(
    words: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--json"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert f"(in a shell: {command})" in printed.err


@pytest.mark.parametrize(
    "words",
    [
        "maintain",
        "maintain --rebuild",
        "lesson forget basher --all --why w",
        "lesson edit sark/pin Pin --change reworded --why w",
        "lesson allow sark/pin --why w",
        "backup copy.db",
        "seed rules.toml",
        "purge --text x",
    ],
)
def test_a_bound_process_is_refused_before_it_is_asked_anything(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(
        '[[entry]]\ntext = "Never commit secrets"\ndomain = "security"\n'
    )
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    assert main(words.split()) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.split(",")[0]) == ("", "fleet-memory: You are sark")


@pytest.mark.parametrize(
    "words",
    [
        "list lessons",
        "show mine",
        "search x",
        "list programs",
        "list domains",
        "doctor memory",
        "lesson restore",
    ],
)
def test_a_flag_names_no_other_program_than_the_environment_does(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    assert main([*words.split(), "--program", "basher"]) == 1
    refusal = "fleet-memory: You are sark by FLEET_MEMORY_PROGRAM, and --program names basher.\n"
    assert capsys.readouterr() == ("", refusal)


@pytest.mark.parametrize(
    "words",
    ["list log", "list programs", "list domains", "list lessons", "search x", "show basher/mine"],
)
def test_a_bound_process_reads_no_other_program(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    code = main(words.split())
    text = "".join(capsys.readouterr())
    assert "basher" not in text.replace("no lesson 'basher/mine'", "")
    assert code == (1 if words.startswith(("list log", "show")) else 0)


def test_show_and_log_name_the_token_that_something_was_written_with(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(fleet: Fleet) -> None:
        bound = replace(fleet, caller=Caller("basher", "admin", WRITER))
        await learn(bound, "basher", "Pin each action by its hash", id_="pin")
        await reinforce_memory(bound, "basher", KEY, evidence="seen")
        await retire_entry(bound, KEY, "no longer")

    change(settings, write)
    assert answered(capsys, "show", "basher/pin").get("token") == WRITER
    answer = answered(capsys, "show", KEY)
    assert [word.get("token") for word in rows(answer, "words")] == [WRITER]
    assert rows(answer, "ledger")[-1].get("token") == WRITER
    (line,) = rows(answered(capsys, "list", "log", "--limit", "1"), "changes")
    assert (line["event"], line["by"], line["token"]) == ("retired", "basher", WRITER)


async def teach_a_candidate(fleet: Fleet) -> None:
    """Let two programs learn the same under a policy that asks for three votes."""
    await set_policy(fleet, ["threshold", "3"])
    pair = await opened_pair(
        fleet, Lesson("ram", "Rebase before you push", "rebase"), Lesson("yori", "Rebase often")
    )
    (verdict,) = await judge(
        fleet, Judge(None), [NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": "same"})]
    )
    assert isinstance(verdict, Judged)


def test_list_and_show_have_the_candidates_that_were_never_published(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(settings, teach_a_candidate)
    (row,) = rows(answered(capsys, "list", "entries", "--state", "candidate"), "entries")
    key = str(row["key"])
    assert answered(capsys, "show", "yori/open")["candidateOf"] == key
    answer = answered(capsys, "show", key)
    assert (answer["status"], answer["contributors"]) == ("candidate", ["ram", "yori"])
    assert [one["key"] for one in rows(answered(capsys, "list", "entries"), "entries")] == [KEY]
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    assert main(["show", key]) == 1
    assert main(["list", "entries", "--state", "candidate"]) == 1


def test_show_names_a_lessons_project_session_and_entry(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(fleet: Fleet) -> None:
        lesson = {
            "pattern": "Pin each action",
            "domain": "ci",
            "confidence": 0.8,
            "evidence": "seen",
            "id": "pinned",
        }
        sent = NewPattern.model_validate({**lesson, "projectId": "web", "sessionId": "s-7"})
        await store_memory(fleet, "ram", sent)

        def echoing(before: Program) -> ProgramChange:
            return ProgramChange(with_membership(before, "pinned", KEY, is_member=True))

        await fleet.programs.update("ram", echoing, fleet.now())

    change(settings, write)
    answer = answered(capsys, "show", "ram/pinned")
    assert (answer["projectId"], answer["sessionId"], answer["knowledgeKey"]) == ("web", "s-7", KEY)
    plain = answered(capsys, "show", "basher/mine")
    assert {"projectId", "sessionId"} & plain.keys() == set()


def test_a_journal_is_read_by_its_seqs_and_a_program_without_one_is_named(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = [{"kind": "note", "content": f"step {number}"} for number in range(9)]
    given: dict[str, object] = {"programId": "basher", "events": sent}
    anyio.run(call_in_process, settings, "journal_append", given)
    monkeypatch.setenv("FLEET_MEMORY_STORE", str(settings.store.file))
    monkeypatch.setenv("FLEET_MEMORY_EMBEDDER", "lexical")
    assert main(["journal", "basher", "--at", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["items"]
    assert [each["seq"] for each in found] == [2, 1, 3, 4, 5, 6, 7]
    for words, said in (
        (["basher", "--at", "0"], "seq: the journal has events 1 to 9"),
        (["basher", "--at", "-1"], "seq: the journal has events 1 to 9"),
        (["basher", "--at", "10"], "seq: the journal has events 1 to 9"),
        (["bosher"], "bosher has no journal: it begins with the agent's first journal_append."),
        (["bosher", "--search", "step"], "bosher has no journal"),
    ):
        assert main(["journal", *words]) == 1
        assert said in capsys.readouterr().err
