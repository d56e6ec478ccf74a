"""The commands of every page print the shown output; those that cannot run here have a reason, and
their flags exist.

Each page starts with the memory of the README's story, unless it is in WITHOUT_MEMORY.
tests/transcripts.py has the rules of a block.
"""

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import GROUPS, main
from fleet_memory.clients.doctor import tools_of
from fleet_memory.clients.entries import StartedServer
from tests.transcripts import Block, Ran, blocks, commands, is_shown, new_home, of_user, run

ROOT = Path(__file__).parent.parent
GENERATED = {
    "docs/commands.md",
    "docs/configuration.md",
}  # and docs/tools: examples are of the code
WITHOUT_MEMORY = {"README.md", "docs/tutorial.md"}  # they start with nothing
NEXT_DAY = "2026-03-04T09:00:00Z"
CORE_AND_SESSION = 7  # tools
KINDS = ("console", "sh")

unix = pytest.mark.skipif(sys.platform == "win32", reason="the pages show a Unix shell")


def page_names() -> list[str]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    names = {page.relative_to(ROOT).as_posix() for page in pages if page.name != "CHANGELOG.md"}
    return sorted(name for name in names - GENERATED if not name.startswith("docs/tools/"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def runnable(name: str) -> list[Block]:
    return [block for block in blocks(text_of(name)) if block.kind in KINDS and not block.reason]


PAGES_WITH_COMMANDS = [name for name in page_names() if runnable(name)]
README = text_of("README.md")


@pytest.fixture(scope="session")
def after_the_story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of somebody who has run the transcripts of the README."""
    home = new_home(tmp_path_factory.mktemp("story"))
    story = [block for block in runnable("README.md") if block.is_transcript]
    assert [problem for ran in run(home, story) for problem in problems(ran)] == []
    return home


@pytest.fixture
def home(tmp_path: Path, after_the_story: Path) -> Path:
    shutil.copytree(after_the_story, tmp_path, dirs_exist_ok=True)
    return tmp_path


def problems(ran: Ran, then: str = "") -> Iterator[str]:
    """Yield what a command did otherwise than shown; one that fails is shown with `$ echo $?` after
    it.
    """
    command, lines = ran.shown
    if ran.code != 0 and not (ran.code is not None and then.startswith("echo $?")):
        yield f"$ {command}\n{ran.printed}exit code {ran.code}"
    elif lines is not None and not is_shown(lines, ran.printed):
        yield f"$ {command}\n{ran.printed}is shown as\n" + "\n".join(lines)


@unix
@pytest.mark.parametrize("name", PAGES_WITH_COMMANDS)
def test_the_commands_of_a_page_do_what_it_shows(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = new_home(tmp_path) if name in WITHOUT_MEMORY else request.getfixturevalue("home")
    ran = run(home, runnable(name))
    following = [*(each.shown.command for each in ran[1:]), ""]
    found = [
        problem
        for each, then in zip(ran, following, strict=True)
        for problem in problems(each, then)
    ]
    assert not found, "\n".join(found)


@unix
def test_a_session_starts_with_the_text_that_the_readme_shows(home: Path) -> None:
    booted = subprocess.run(  # noqa: S603 our own command
        [home / "bin" / "fleet-memory", "hook", "SessionStart"],
        cwd=home / "quorra",
        env=of_user(home) | {"FLEET_MEMORY_NOW": NEXT_DAY},
        input=json.dumps({"source": "startup"}),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    context = json.loads(booted.stdout)["hookSpecificOutput"]["additionalContext"]
    (text,) = (block.text for block in blocks(README) if block.kind == "text")
    assert is_shown(text.splitlines(), context + "\n"), context


@unix
def test_the_commands_in_the_readme_s_sentences_run(home: Path) -> None:
    prose = re.sub(r"^ *```.*?^ *```$", "", README, flags=re.DOTALL | re.MULTILINE)
    in_sentences = re.findall(r"`(fleet-memory [^`]+)`", prose)
    assert "fleet-memory install claude-code --undo" in in_sentences
    whole = [
        Block("sh", f"{line} </dev/null", "", NEXT_DAY)
        for line in in_sentences
        if "--mine" not in line
    ]
    assert [problem for each in run(home, whole) for problem in problems(each)] == []


def test_the_client_s_own_command_and_the_entry_for_other_clients_start_the_server(
    tmp_path: Path,
) -> None:
    """The form of the command: `claude mcp add --help` of Claude Code 2.1.197, which wrote the same
    entry.
    """
    (added,) = re.findall(
        r"^claude mcp add --scope user fleet-memory -- (.+)$", README, re.MULTILINE
    )
    (block,) = (block.text for block in blocks(README) if block.kind == "json")
    entry = json.loads(block)["mcpServers"]["fleet-memory"]
    assert added.split() == [entry["command"], *entry["args"]]
    server = StartedServer(
        [sys.executable, "-m", "fleet_memory", *entry["args"]], {"HOME": str(tmp_path)}
    )
    with (tmp_path / "log").open("w", encoding="utf-8") as log:
        assert len(anyio.run(tools_of, server, log)[2]) == CORE_AND_SESSION


@pytest.mark.parametrize("name", [*page_names(), *sorted(GENERATED)])
def test_every_command_and_flag_that_a_page_shows_exists(name: str) -> None:
    assert list(unknown_words(text_of(name))) == []


@pytest.mark.parametrize("name", page_names())
def test_commands_stand_in_blocks_that_are_run_or_have_a_reason(name: str) -> None:
    others = [
        block
        for block in blocks(text_of(name))
        if block.kind not in (*KINDS, "yaml", "json", "text", "mermaid")
    ]
    assert [
        block.text
        for block in others
        if re.search(r"^(\$ )?(fleet-memory|gcloud) ", block.text, re.M)
    ] == []


def unknown_words(page: str) -> Iterator[str]:
    """Yield the commands and flags that no parser knows, e.g. "export --zip"."""
    shown = [
        command.command
        for block in blocks(page)
        if block.kind in (*KINDS, "yaml")
        for command in commands(block)
    ]
    code = "\n".join(shown).replace("\\\n", " ")
    prose = re.sub(r"^ *```.*?^ *```$", "", page, flags=re.DOTALL | re.MULTILINE)
    spans = [span for span in re.findall(r"`([^`]+)`", prose) if span.startswith("fleet-memory ")]
    for line in [*code.splitlines(), *spans]:
        for first, rest in re.findall(
            r"(?:^|[\s|;&'\"])fleet-memory ([a-z][a-z-]*)([^|&;#]*)", line
        ):
            second = re.match(r" ([a-z]+)(?![\w-])", rest) if first in GROUPS else None
            name = f"{first}{second[0]}" if second else first
            known = flags_of(name)
            used = re.findall(r"(?<=\s)(--[a-z][a-z-]*)", rest)
            yield from (f"{name} {flag}".strip() for flag in used or [""] if flag not in known)


@cache
def flags_of(name: str) -> set[str]:
    """Return the flags of a command, and "" if it exists."""
    printed, code = io.StringIO(), 2
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            code = main([*name.split(), "--help"])
        except SystemExit as left:
            code = int(left.code or 0)
    return {"", *re.findall(r"--[a-z][a-z-]*", printed.getvalue())} if code == 0 else set()


def test_the_checks_see_what_they_refuse() -> None:
    lines = "$ fleet-memory lost | head --all\nfleet-memory prints\n$ fleet-memory show x --json\n"
    page = f"`fleet-memory list entries --zip`\n```console\n{lines}```\n"
    assert list(unknown_words(page)) == ["lost", "list entries --zip"]
    (block,) = blocks(page)
    lost, show = commands(block)
    assert list(problems(Ran(lost, "fleet-memory prints\n", 0))) == []
    assert list(problems(Ran(lost, "fleet-memory prints\n", 2), then="echo $?")) == []
    assert list(problems(Ran(lost, "", 2))) == ["$ fleet-memory lost | head --all\nexit code 2"]
    assert list(problems(Ran(show, "a\n", 0))) == ["$ fleet-memory show x --json\na\nis shown as\n"]
