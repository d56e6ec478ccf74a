"""Who an agent in a coding client is: one project is one program, whichever folder the client is
in.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_memory.clients.identity import (
    HookState,
    agent_of,
    origin_name,
    program_of,
    project_name,
    project_of,
)
from fleet_memory.settings import PROJECT_VARIABLE, Settings, load
from tests.bounds import HANG_S

AT_ONCE = 8  # processes


@pytest.fixture
def state(tmp_path: Path) -> HookState:
    return HookState(tmp_path / "state")


def folder(*parts: str | Path) -> Path:
    made = Path(*parts)
    made.mkdir(parents=True, exist_ok=True)
    return made.resolve()


def repository(*parts: str | Path) -> Path:
    """Return a folder with as much of a git repository as `git init` makes there."""
    top = folder(*parts)
    (folder(top, ".git") / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return top


def worktree(main: Path, top: Path, own: str = ".git/worktrees/side") -> Path:
    """Return a worktree as `git worktree add` makes it."""
    (folder(main, own) / "commondir").write_text("../..\n", encoding="utf-8")
    (folder(top) / ".git").write_text(f"gitdir: {main / own}\n", encoding="utf-8")
    return top.resolve()


def program(
    settings: Settings,
    state: HookState,
    given: Mapping[str, object],
    environment: Mapping[str, str] | None = None,
) -> str:
    return program_of(replace(settings, folder=load({}, environment or {}).folder), given, state)


def test_a_project_is_one_program_in_all_of_its_folders(
    settings: Settings, state: HookState, tmp_path: Path
) -> None:
    repository(tmp_path, "proj")
    for inside in ("proj", "proj/src", "proj/src/deep"):
        assert program(settings, state, {"cwd": str(folder(tmp_path, inside))}) == "proj"


def test_a_credential_is_no_name_of_a_program_or_an_agent(
    settings: Settings, state: HookState, tmp_path: Path
) -> None:
    token = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    name = program(settings, state, {"cwd": str(folder(tmp_path, token))})
    agent = agent_of(settings, "proj", {"agent_id": "a1", "agent_type": token})
    assert re.fullmatch(r"agent-[0-9a-f]{6} proj/agent-[0-9a-f]{6}", f"{name} {agent}")
    assert not [*(tmp_path / "state").rglob("*")]


def test_the_clients_project_goes_before_the_folder_it_drifted_to(
    settings: Settings, state: HookState, tmp_path: Path
) -> None:
    top, elsewhere = folder(tmp_path, "proj"), repository(tmp_path, "other")
    assert (
        program(settings, state, {"cwd": str(elsewhere)}, {"CLAUDE_PROJECT_DIR": str(top)})
        == "proj"
    )
    assert program(settings, state, {"cwd": str(elsewhere)}, {"CLAUDE_PROJECT_DIR": ""}) == "other"


@pytest.mark.parametrize("cwd", [5, "", None])
def test_a_folder_that_is_no_text_is_not_the_name_of_a_program(
    settings: Settings,
    state: HookState,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cwd: object,
) -> None:
    monkeypatch.chdir(folder(tmp_path, "proj"))
    assert program(settings, state, {"cwd": cwd}) == "proj"


def test_a_client_that_was_started_in_a_part_of_a_project_is_of_the_project(
    settings: Settings, state: HookState, tmp_path: Path
) -> None:
    top = repository(tmp_path, "proj")
    for part in (top, folder(top, "backend")):
        assert program(settings, state, {}, {"CLAUDE_PROJECT_DIR": str(part)}) == "proj"


def test_a_worktree_is_of_its_main_repository_and_a_submodule_of_itself(tmp_path: Path) -> None:
    main = repository(tmp_path, "proj")
    side = worktree(main, tmp_path / "side")
    assert project_of(side)[0] == project_of(folder(side, "src"))[0] == main
    (folder(main, "lib") / ".git").write_text(
        f"gitdir: {folder(main, '.git/modules/lib')}\n", encoding="utf-8"
    )
    assert project_of(folder(main, "lib", "src"))[0] == main / "lib"


def test_a_worktree_of_a_bare_repository_is_named_for_it(state: HookState, tmp_path: Path) -> None:
    for bare, root in (("proj/.bare", "proj"), ("shop.git", "shop.git")):
        side = worktree(folder(tmp_path, bare), tmp_path / f"side-{root}", "worktrees/side")
        assert project_of(side)[0] == tmp_path.resolve() / root
        assert project_name(project_of(side)[0], state) == root.removesuffix(".git")


ORIGIN = '[core]\n\tbare = false\n[remote "fork"]\n\turl = x:y/z\n[remote "origin"]\n\turl = {}\n'


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/acme/api.git", "acme.api"),
        ("git@github.com:Acme/API", "acme.api"),
        ("ssh://git@git.example:2222/group/sub/my.api/", "group.sub.my-api"),
        ("https://git.example/other/sub/my.api", "other.sub.my-api"),
        ("ssh://git@git.example:7999/acme/api.git", "acme.api"),
        ("https://git.example/" + "long/" * 30 + "api", "long." * 18 + "lon-c77c9a"),
        ("https://me:secret@git.example/api.git", "git-example.api"),
        ("git.example:api.git", "git-example.api"),
        ("/srv/git/acme/api.git", ""),
        ("file:///srv/git/acme/api.git", ""),
        ("../api", ""),
        ("C:/work/acme/api", ""),
        ("https://git.example/gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a/api", ""),
        ("https://git.example/日本/語", ""),
    ],
)
def test_the_address_of_origin_names_the_program(tmp_path: Path, url: str, name: str) -> None:
    (tmp_path / "config").write_text(ORIGIN.format(url), encoding="utf-8")
    assert origin_name(tmp_path) == name


def test_a_repository_with_an_origin_is_one_program_on_all_machines_and_after_a_move(
    settings: Settings, tmp_path: Path
) -> None:
    for machine, places in (("one", ("a/api", "b/api")), ("two", ("b/api", "a/api"))):
        state = HookState(tmp_path / f"state-{machine}")
        for place in places:
            top = repository(tmp_path, machine, place)
            url = f"https://github.com/{place[0]}cme/api"
            (top / ".git" / "config").write_text(ORIGIN.format(url), encoding="utf-8")
            side = worktree(top, tmp_path / machine / f"side-{place[0]}")
            for inside in (top, side):
                assert program(settings, state, {"cwd": str(inside)}) == f"{place[0]}cme.api"
    moved = (tmp_path / "one/a/api").rename(tmp_path / "shop")
    assert program(settings, HookState(None), {"cwd": str(moved)}) == "acme.api"


def test_a_damaged_git_file_is_no_reason_to_fail(tmp_path: Path) -> None:
    top = folder(tmp_path, "proj")
    (top / ".git").write_bytes(b"\xff\x00gitdir")
    assert project_of(folder(top, "src"))[0] == top
    empty = folder(tmp_path, "empty", ".git").parent
    assert project_of(folder(empty, "src"))[0] == empty / "src"


def test_a_session_keeps_its_program(settings: Settings, state: HookState, tmp_path: Path) -> None:
    state.write("sessions", "s1", {"program": "proj"})
    for given in (
        {"session_id": "s1", "cwd": str(folder(tmp_path, "backend"))},
        {"session_id": "s1"},
    ):
        assert program(settings, state, given) == "proj"
    assert (
        program(settings, state, {"session_id": "s2", "cwd": str(tmp_path / "backend")})
        == "backend"
    )


@pytest.mark.parametrize("leaf", ["проект", "日本語", "...", "!", "\ud83d"])
def test_a_folder_without_a_usable_name_has_a_program_of_its_own(
    leaf: str, state: HookState
) -> None:
    names = {project_name(Path(parent) / leaf, state) for parent in ("/a", "/b")}
    assert len(names) == 2
    assert all(
        name.startswith("agent-") and name == name.encode("ascii").decode() for name in names
    )
    assert project_name(Path("/a") / leaf, state) in names


def test_two_projects_of_one_name_are_two_programs(state: HookState, tmp_path: Path) -> None:
    first, second, shouted = (folder(tmp_path, parent, "api") for parent in ("a", "b", "c"))
    assert project_name(first, state) == "api"
    other = project_name(second, state)
    assert other.startswith("api-")
    assert len({"api", other, project_name(shouted, state)}) == 3
    assert [project_name(first, state), project_name(second, state)] == ["api", other]


def test_programs_that_votes_take_for_one_are_not_two_projects(
    state: HookState, tmp_path: Path
) -> None:
    assert project_name(folder(tmp_path, "a", "api"), state) == "api"
    assert project_name(folder(tmp_path, "b", "API"), state).startswith("API-")


def test_a_linked_folder_is_the_project_that_it_leads_to(
    settings: Settings, state: HookState, tmp_path: Path
) -> None:
    top = folder(tmp_path, "proj")
    try:
        (tmp_path / "link").symlink_to(top, target_is_directory=True)
    except OSError:
        pytest.skip("this system links no folders")
    assert [
        program(settings, state, {"cwd": str(tmp_path / name)}) for name in ("link", "proj")
    ] == ["proj", "proj"]


def test_a_name_stays_that_of_its_first_folder_though_that_is_gone(
    state: HookState, tmp_path: Path
) -> None:
    first, second = folder(tmp_path, "a", "api"), folder(tmp_path, "b", "api")
    names = [project_name(root, state) for root in (first, second)]
    first.rmdir()
    assert [project_name(root, state) for root in (first, second)] == names
    assert project_name(folder(tmp_path, "c", "api"), state).startswith("api-")


def test_where_no_file_can_be_written_the_folder_names_the_program(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for nowhere in (HookState(None), HookState(tmp_path / "file" / "state")):
        assert project_name(folder(tmp_path, "proj"), nowhere) == "proj"


def test_a_subagent_has_a_name_of_its_own_unless_one_is_configured(
    settings: Settings, tmp_path: Path
) -> None:
    reviewer = {"agent_id": "a1", "agent_type": "code reviewer"}
    assert agent_of(settings, "proj", reviewer) == "proj/code-reviewer"
    assert (
        agent_of(settings, "proj", {"agent_type": "code reviewer"}) == "proj"
    )  # a session of `claude --agent`
    assert len(agent_of(settings, "p" * 100, reviewer)) == 100
    bound = load({"store": str(tmp_path / "memory.db"), "program": "sark"}, {})
    assert agent_of(bound, program_of(bound, {}, HookState(None)), reviewer) == "sark"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("x" * 300, "proj/" + "x" * 60),
        ("/", "proj/agent-"),
        ("../../other", "proj/other"),
        ("ns:review/er", "proj/ns:review-er"),
    ],
)
def test_no_type_of_a_subagent_makes_another_name_than_one_below_its_program(
    kind: str, name: str, settings: Settings
) -> None:
    agent = agent_of(settings, "proj", {"agent_id": "a1", "agent_type": kind})
    assert agent.startswith(name)
    assert len(agent) <= 100
    assert agent.count("/") == 1


def test_processes_that_start_at_once_agree_on_who_has_a_name(tmp_path: Path) -> None:
    script = (
        "import sys, json; from pathlib import Path; from fleet_memory.clients.identity "
        "import project_name;"
        "from fleet_memory.clients.identity import HookState; sys.stdin.readline();"
        "print(json.dumps([sys.argv[2], project_name(Path(sys.argv[2]), "
        "HookState(Path(sys.argv[1])))]))"
    )
    roots = [folder(tmp_path, f"parent{number // 2}", "api") for number in range(AT_ONCE)]
    processes = [
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", script, str(tmp_path / "state"), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for root in roots
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    named = {tuple(json.loads(process.communicate(timeout=HANG_S)[0])) for process in processes}
    assert len(named) == AT_ONCE // 2  # both processes of a folder say the same
    assert len({name for _, name in named}) == AT_ONCE // 2
    assert [name for _, name in named].count("api") == 1


def test_a_client_without_a_project_names_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, "/home/ada")
    for unset in ("${workspaceFolder}", "/home/ada", ""):
        assert load({}, {PROJECT_VARIABLE: unset}).folder is None
    named = load({"folder": "/home/ada/shop"}, {PROJECT_VARIABLE: "/home/ada/site"})
    assert named.folder == Path("/home/ada/shop")
