"""The README's commands print the output that it shows: its blocks run in order, in a home of their own.

`.ci/run` runs the blocks marked `sh` as they stand, and installs the package by the README's command.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fleet_memory.integration.probing import probed
from fleet_memory.integration.server_entry import StartedServer

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
ASKING = {"delete-program", "import", "install", "purge"}  # a person answers; here `--yes` does
VERDICTS = {"same", "different"}  # a line of a transcript that a person typed
DAYS = ("2026-03-03T17:00:00Z", "2026-03-04T09:00:00Z")  # of the two transcripts
MAX_WAIT_S = 60  # a busy machine; alone a command takes a second
CORE_AND_STATE = 11  # tools

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the README shows a Unix shell")


class Shown(NamedTuple):
    """A command of a transcript, the answers that are typed, and the lines that it prints."""

    words: list[str]
    typed: str
    lines: list[str]


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^ *```{kind}\n(.*?)^ *```$", README, re.DOTALL | re.MULTILINE)


def transcripts() -> list[str]:
    return [block for block in blocks("console") if block.startswith("$ ")]


def shown(transcript: str) -> Iterator[Shown]:
    """Yield the commands of a transcript; a quotation may go over several lines."""
    for part in re.split(r"^\$ ", transcript, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        command = lines.pop(0)
        while command.count("'") % 2:
            command += "\n" + lines.pop(0)
        typed = "".join(f"{line}\n" for line in lines if line in VERDICTS)
        yield Shown(shlex.split(command), typed, [line for line in lines if line not in VERDICTS])


def is_shown(lines: list[str], printed: str) -> bool:
    """Whether output is as shown; "…" stands for any lines, and at the end of a line for its rest."""
    patterns = (
        r"(?:.*\n)*" if line == "…" else re.escape(line.removesuffix("…")) + (".*" * line.endswith("…")) + r"\n"
        for line in lines
    )
    return re.fullmatch("".join(patterns), printed) is not None


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "quorra").mkdir()
    return tmp_path


def run(home: Path, words: list[str], given: str = "", now: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a `fleet-memory` command in the folder `quorra` of a new user, and return it with all that it printed."""
    assert words[0] == "fleet-memory", words
    return subprocess.run(  # noqa: S603 our own module
        [sys.executable, "-m", "fleet_memory", *words[1:]],
        cwd=home / "quorra",
        env=of_new_user(home) | ({"FLEET_MEMORY_NOW": now} if now else {}),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=MAX_WAIT_S,
        check=False,
    )


def of_new_user(home: Path) -> dict[str, str]:
    ours = ("CLAUDE", "CODEX_HOME", "FLEET_MEMORY_", "XDG_", "APPDATA")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return environment | {"HOME": str(home), "PATH": os.pathsep.join(("/usr/bin", "/bin"))}


@pytest.mark.timeout(300)  # seconds: it starts some twenty processes, one after the other
def test_the_commands_of_the_readme_print_the_output_that_it_shows(home: Path) -> None:
    for transcript, now in zip(transcripts(), DAYS, strict=True):
        for command in shown(transcript):
            done = run(home, command.words, command.typed, now)
            assert done.returncode == 0, done.stdout
            assert is_shown(command.lines, done.stdout), done.stdout
    booted = run(home, ["fleet-memory", "hook", "SessionStart"], json.dumps({"source": "startup"}), DAYS[1])
    context = json.loads(booted.stdout)["hookSpecificOutput"]["additionalContext"]
    (text,) = blocks("text")
    assert is_shown(text.splitlines(), context + "\n"), context
    for words in commands():
        asking = ["--yes"] if words[1] in ASKING else []
        asking += ["--no-check"] if words[1] == "install" else []  # `doctor` has a line of its own
        abroad = ["--dry-run"] if any(word.startswith("firestore:") for word in words) else []
        done = run(home, [*words, *asking, *abroad], "One\n\nTwo\n" if "--mine" in words else "")
        assert done.returncode == 0, (words, done.stdout)


def commands() -> list[list[str]]:
    """Return the commands without output, e.g. `["fleet-memory", "doctor"]`, those in sentences last."""
    lines = [line for block in blocks("console") if block not in transcripts() for line in block.splitlines()]
    others = {line.split()[0] for line in lines} - {"fleet-memory"}
    assert others == {"claude", "uv"}  # the next test has the one, `.ci/run` the other
    prose = re.sub(r"^ *```.*?^ *```$", "", README, flags=re.DOTALL | re.MULTILINE)
    in_sentences = re.findall(r"`(fleet-memory [^`]+)`", prose)
    assert "fleet-memory install claude-code --undo" in in_sentences
    return [shlex.split(line) for line in (*lines, *in_sentences) if line.startswith("fleet-memory ")]


def test_the_client_s_own_command_and_the_entry_for_other_clients_start_the_server(home: Path) -> None:
    """The form of the command: `claude mcp add --help` of Claude Code 2.1.197, which wrote the same entry."""
    (added,) = re.findall(r"^claude mcp add --scope user fleet-memory -- (.+)$", README, re.MULTILINE)
    (block,) = blocks("json")
    entry = json.loads(block)["mcpServers"]["fleet-memory"]
    assert added.split() == [entry["command"], *entry["args"]]
    server = StartedServer([sys.executable, "-m", "fleet_memory", *entry["args"]], {"HOME": str(home)})
    assert probed(server).tools == CORE_AND_STATE
