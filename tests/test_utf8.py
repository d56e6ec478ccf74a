"""The streams of every command are UTF-8, under any locale and code page."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ARROWS = "Look → leap ≥ 日本 – é"
RULES = f'[[entry]]\ntext = "{ARROWS}"\ndomain = "care"\n'
LOCALES: Mapping[str, Mapping[str, str]] = {  # of a Windows pipe, and of a bare container
    "cp1252": {"PYTHONIOENCODING": "cp1252"},
    "C": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
}
in_any_locale = pytest.mark.parametrize("locale", LOCALES)


class Shell:
    """Runs commands on a memory of its own, as a client would: bytes in, bytes out."""

    def __init__(self, folder: Path, locale: str) -> None:
        ours = ("LC_", "LANG", "PYTHONIO", "PYTHONUTF8", "PYTHONCOERCE")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
            "FLEET_MEMORY_STORE": str(folder / "memory.db"),
            "FLEET_MEMORY_EMBEDDER": "lexical",
            "XDG_STATE_HOME": str(folder / "state"),
            **LOCALES[locale],
        }

    def run(self, *words: str, stdin: str = "") -> str:
        """Return the output of a command that must succeed."""
        command = [sys.executable, "-m", "fleet_memory", *words]
        done = subprocess.run(  # noqa: S603
            command, input=stdin.encode(), capture_output=True, env=self._environment, check=False
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
        return done.stdout.decode()


@pytest.fixture
def shell(tmp_path: Path, locale: str) -> Shell:
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    return Shell(tmp_path, locale)


@in_any_locale
def test_commands_print_every_letter_and_read_it_and_a_hook_prints_ascii_that_means_it(
    shell: Shell, tmp_path: Path
) -> None:
    assert ARROWS in shell.run("seed", str(tmp_path / "rules.toml"), "--yes")
    asked = json.dumps({"programId": "basher", "query": ARROWS}, ensure_ascii=False)
    assert (
        json.loads(shell.run("call", "recall_memory", "-", stdin=asked))["knowledge"][0]["pattern"]
        == ARROWS
    )
    started = shell.run(
        "hook", "SessionStart", stdin=json.dumps({"cwd": str(tmp_path), "source": "startup"})
    )
    assert started.isascii()
    assert ARROWS in json.loads(started)["hookSpecificOutput"]["additionalContext"]
