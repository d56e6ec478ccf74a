"""The commands that people read a memory with: list, show, search, log, who and domains."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.judging import Judge, Judged, judge
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.pairs import with_membership
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Program
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.stores import Document
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.retrieval import NEAREST
from fleet_memory.tools.state import forget_memory
from tests.fleets import documents, learn
from tests.shared import KEY, Lesson, learnt, opened_pair, shared_entry

NOW = "2026-03-01T09:00:00Z"
CLAIM = "Look whether a task is still free before you claim it"
STEERING = "Rotate\x1b[31m the\ncontext early"  # as an older version took it
READING = [
    ["list"],
    ["list", "--program", "basher"],
    ["show", KEY],
    ["show", "basher/rotate"],
    ["search", "rotate the context"],
    ["search", "--program", "basher", "rotate the context"],
    ["log"],
    ["who"],
    ["domains"],
]
REQUIRING = [  # a memory that is there
    *READING,
    ["health"],
    ["policy", "show"],
    ["restore", "--program", "basher"],
    ["restore", "rotate", "--program", "basher"],
    ["purge", "--text", "hunter2", "--yes"],
    ["delete-program", "basher", "--yes"],
    ["review"],
    ["review", "--pair", "p1", "--verdict", "same"],
    ["maintain"],
    ["reembed"],
    ["seed", "rules.toml", "--dry-run"],
    ["export", "-"],
    ["retire", KEY, "--why", "w"],
    ["reinstate", KEY, "--why", "w"],
    ["reword", KEY, "Look first", "--why", "w"],
    ["split", KEY, "--program", "basher", "--why", "w"],
]


@pytest.fixture(autouse=True)
def _fleet_with_an_entry(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STORE": str(settings.store[0]), "EMBEDDER": "lexical", "NOW": NOW}.items():
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


def test_list_names_the_entries_or_the_lessons_of_a_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(capsys, "list") == f"{KEY}: {CLAIM} (2 agents)\n"
    lines = printed(capsys, "list", "--program", "basher").splitlines()
    assert lines == [
        "mine: Look whether a task is still free before you claim it (tasks, in " + KEY + ")",
        "rotate: Rotate [31m the context early (tasks)",
    ]
    assert (
        printed(capsys, "list", "--program", "basher", "--state", "promoted").splitlines()
        == lines[:1]
    )
    assert printed(capsys, "list", "--program", "basher", "--domain", "ci") == "nothing matches\n"


def test_list_counts_its_omissions_and_names_close_ones(capsys: pytest.CaptureFixture[str]) -> None:
    cut = printed(capsys, "list", "--program", "basher", "--limit", "1")
    assert cut.endswith("\nand 1 more; --limit shows more\n")
    answer = answered(capsys, "list", "--program", "basher", "--limit", "1")
    assert (answer["total"], answer["omitted"]) == (2, {"lessons": 1})
    assert answered(capsys, "list", "--domain", "task")["suggestions"] == ["tasks"]
    assert main(["list", "--state", "stale"]) == 2


def test_a_fleet_without_entries_is_answered_with_the_place_of_lessons(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "--fleet", "other"]) == 0
    assert "`fleet-memory who` lists the programs" in capsys.readouterr().out


def test_show_has_sources_words_and_history_of_an_entry(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def retire(fleet: Fleet) -> None:
        await retire_entry(fleet, KEY, "we have a queue")

    change(settings, retire)
    lines = printed(capsys, "show", KEY).splitlines()
    assert lines[:2] == [f"{KEY}: retired", CLAIM]
    assert "    evidence: iso lost a day" in lines
    assert lines[-1].endswith(" retired by operator: we have a queue")
    assert answered(capsys, "show", KEY)["contributors"] == ["basher", "iso"]


def test_show_finds_a_lesson_also_in_the_archive_and_names_close_ones(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, "show", "pin", "--program", "sark").startswith(
        "sark/pin: Pin the actions by hash\n"
    )

    async def forget(fleet: Fleet) -> None:
        await forget_memory(fleet, "sark", "pin", "wrong project")

    change(settings, forget)
    assert "brings it back" in printed(capsys, "show", "sark/pin")
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
    lines = printed(capsys, "search", "pin", "the", "actions").splitlines()
    assert lines[0].partition(" ")[2] == "sark/pin: Pin the actions by hash (ci)"
    hits = answered(capsys, "search", "claim a free task")["hits"]
    assert isinstance(hits, list)
    assert (hits[0]["key"], [hit.get("id") for hit in hits if hit.get("id") == "mine"]) == (KEY, [])
    assert printed(capsys, "search", "xyzzy").splitlines()[0] == NEAREST


def test_a_lesson_of_an_entry_that_lost_its_votes_is_called_its_candidate(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert f"in {KEY})" in printed(capsys, "list", "--program", "basher")
    printed(capsys, "purge", "--program", "iso", "--yes")
    for words in (["list", "--program", "basher"], ["search", "task still free"]):
        assert f"candidate of {KEY})" in printed(capsys, *words)
    assert f"  candidate of {KEY}\n" in printed(capsys, "show", "basher/mine")
    assert "0 entries" in printed(capsys, "who", "--program", "basher")
    shown = printed(capsys, "show", KEY)
    assert ("candidate" in shown.splitlines()[0], "Auto-promoted" in shown) == (True, False)


def test_log_has_the_newest_changes_first(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def retire(fleet: Fleet) -> None:
        await retire_entry(fleet, KEY, "we have a queue")

    change(settings, retire)
    newest, oldest = printed(capsys, "log").splitlines()
    assert newest.endswith(f" retired {KEY} by operator: we have a queue")
    assert oldest.endswith(f" promoted {KEY} by judge")
    assert printed(capsys, "log", "--limit", "1").splitlines() == [
        newest,
        "and 1 more; --limit shows more",
    ]
    assert printed(capsys, "log", "--since", "2999-01-01") == "nothing has changed since then\n"
    with pytest.raises(SystemExit, match="2"):
        main(["log", "--since", "yesterday"])


def test_who_names_the_programs_and_the_entries_that_they_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = answered(capsys, "who")["programs"]
    assert isinstance(programs, list)
    taught = {one["programId"]: (one["lessons"], one["entries"]) for one in programs}
    assert taught == {"basher": (2, [KEY]), "iso": (1, [KEY]), "sark": (1, [])}
    assert answered(capsys, "who", "--limit", "1")["omitted"] == {"programs": 2}
    assert printed(capsys, "who", "--program", "iso").splitlines()[1:] == [f"  {KEY}"]


def test_domains_are_counted_the_commonest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "domains") == "tasks: 1 entry, 3 lessons\nci: 0 entries, 1 lesson\n"
    assert printed(capsys, "domains", "--program", "sark") == "ci: 0 entries, 1 lesson\n"


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "search x",
        "who",
        "domains",
        "show mine",
        "restore",
        "delete-program bashr --yes",
        "health",
    ],
)
def test_a_program_that_stored_nothing_is_the_same_no_everywhere(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program = [] if "bashr" in words else ["--program", "bashr"]
    assert main([*words.split(), *program, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["programId"], answer["exists"], answer["suggestions"]) == (
        "bashr",
        False,
        ["basher"],
    )
    assert main([*words.split(), *program]) == 1
    assert "bashr" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("show pattern/x/y", "fleet-memory list"),
        ("retire pattern/x/y --why w", "fleet-memory list"),
        ("show sark/nowhere-near", "fleet-memory list --program NAME"),
    ],
)
def test_advice_for_a_person_names_a_command_and_no_tool_call(
    words: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--json"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert f"`{command}` lists" in printed.err
    assert "recall_memory" not in printed.err


@pytest.mark.parametrize(
    "words", ["maintain", "reembed", "delete-program basher", "seed rules.toml", "purge --text x"]
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
    "words", ["list", "show mine", "search x", "who", "domains", "health", "restore"]
)
def test_a_flag_names_no_other_program_than_the_environment_does(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    assert main([*words.split(), "--program", "basher"]) == 1
    refusal = "fleet-memory: You are sark by FLEET_MEMORY_PROGRAM, and --program names basher.\n"
    assert capsys.readouterr() == ("", refusal)


@pytest.mark.parametrize("words", ["log", "who", "domains", "search x", "show basher/mine"])
def test_a_bound_process_reads_no_other_program(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    code = main(words.split())
    text = "".join(capsys.readouterr())
    assert "basher" not in text.replace("no lesson 'basher/mine'", "")
    assert code == (1 if words.startswith(("log", "show")) else 0)


def test_show_and_log_name_the_token_that_something_was_written_with(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    async def write(fleet: Fleet) -> None:
        bound = replace(fleet, caller=Caller("basher", "admin", "t1"))
        await learn(bound, "basher", "Pin each action by its hash", id_="pin")
        await reinforce_memory(bound, "basher", KEY, evidence="seen")
        await retire_entry(bound, KEY, "no longer")

    change(settings, write)
    assert main(["show", "basher/pin"]) == 0
    assert " (token t1), last reinforced " in capsys.readouterr().out
    assert main(["show", KEY]) == 0
    out = capsys.readouterr().out
    assert "basher (token t1) confirmed: seen" in out
    assert "retired by basher (token t1): no longer" in out
    assert main(["log", "--limit", "1"]) == 0
    assert f"retired {KEY} by basher (token t1): no longer" in capsys.readouterr().out


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
    key = next(
        word
        for word in printed(capsys, "show", "ram/rebase").split()
        if word.startswith("pattern/")
    )
    assert f"  candidate of {key}\n" in printed(capsys, "show", "yori/open")
    text = printed(capsys, "show", key).splitlines()[1]
    assert printed(capsys, "show", key).splitlines()[0] == f"{key}: candidate"
    assert answered(capsys, "show", key)["contributors"] == ["ram", "yori"]
    assert (
        printed(capsys, "list", "--state", "candidate") == f"{key}: {text} (2 agents, candidate)\n"
    )
    assert answered(capsys, "list", "--state", "candidate")["total"] == 1
    assert printed(capsys, "list") == f"{KEY}: {CLAIM} (2 agents)\n"
    unknown = printed(capsys, "list", "--state", "candidate", "--domain", "task")
    assert unknown == "nothing matches\nClose domains are tasks.\n"
    monkeypatch.setenv("FLEET_MEMORY_PROGRAM", "sark")
    assert main(["show", key]) == 1


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
    lines = printed(capsys, "show", "ram/pinned").splitlines()
    assert lines[-2:] == ["  project web; session s-7", f"  in {KEY}"]
    answer = answered(capsys, "show", "ram/pinned")
    assert (answer["projectId"], answer["sessionId"]) == ("web", "s-7")
    plain = answered(capsys, "show", "basher/mine")
    assert {"projectId", "sessionId"} & plain.keys() == set()
