"""The command in a client's configuration: it must still start in a week, and on a colleague's
machine.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from fleet_memory.clients.clients import PINNED, Installation, shell_command

ON_PATH = {name: f"/usr/bin/{name}" for name in ("fleet-memory", "uvx")}
SCRIPTS = {"/home/me/.local/bin/fleet-memory": "/home/me/.local/bin/fleet-memory"}


def installed(
    prefix: PurePath, *found: str, script: str = "/home/me/.local/bin/fleet-memory"
) -> Installation:
    path = SCRIPTS | {name: ON_PATH[name] for name in found}
    return Installation(
        type(prefix)(script), "/usr/bin/python", prefix, is_virtual=True, find=path.get
    )


UV_TOOL = PurePosixPath("/home/me/.local/share/uv/tools/fleet-memory")
UVX = PurePosixPath("/home/me/.cache/uv/archive-v0/SU7OKyyMxJjsCSh1")
PIPX_RUN = PurePosixPath("/home/me/.local/share/pipx/.cache/0123456789abcde")
PIPX = PurePosixPath("/home/me/.local/share/pipx/venvs/fleet-memory")
VENV = PurePosixPath("/home/me/project/.venv")


@pytest.mark.parametrize(
    ("installation", "words"),
    [
        (installed(UV_TOOL), ["/home/me/.local/bin/fleet-memory"]),
        (installed(PIPX), ["/home/me/.local/bin/fleet-memory"]),
        (
            installed(VENV, script="/home/me/project/run.py"),
            ["/usr/bin/python", "-P", "-m", "fleet_memory"],
        ),
        (installed(UVX, "uvx"), ["/usr/bin/uvx", PINNED]),
        (installed(UVX), ["uvx", PINNED]),
        (installed(PIPX_RUN, "uvx"), ["/usr/bin/uvx", PINNED]),
        (
            installed(
                PureWindowsPath(r"C:\Users\me\AppData\Local\uv\cache\archive-v0\SU7O"), "uvx"
            ),
            [ON_PATH["uvx"], PINNED],
        ),
        (
            installed(PureWindowsPath(r"C:\Users\me\pipx\.cache\SU7O"), "uvx"),
            [ON_PATH["uvx"], PINNED],
        ),
    ],
)
def test_a_user_s_entry_starts_the_installation_that_lasts(
    installation: Installation, words: list[str]
) -> None:
    assert installation.words(shared=False) == words


@pytest.mark.parametrize(
    ("installation", "words"),
    [
        (installed(UV_TOOL, "fleet-memory", "uvx"), ["fleet-memory"]),
        (installed(PIPX), ["uvx", PINNED]),
        (installed(UVX, "fleet-memory", "uvx"), ["uvx", PINNED]),
        (
            installed(PurePosixPath("/usr/bin"), "fleet-memory"),
            ["uvx", PINNED],
        ),  # an activated environment's own
    ],
)
def test_a_team_s_entry_names_no_path(installation: Installation, words: list[str]) -> None:
    assert installation.words(shared=True) == words


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            [r"C:\Users\me\.local\bin\fleet-memory.EXE", "hook", "Stop"],
            "C:/Users/me/.local/bin/fleet-memory.EXE hook Stop",
        ),
        (
            [
                r"C:\Program Files\fm\fleet-memory.exe",
                "hook",
                "Stop",
                "--store",
                r"D:\my $data\team.db",
            ],
            "'C:/Program Files/fm/fleet-memory.exe' hook Stop --store 'D:/my $data/team.db'",
        ),
    ],
)
def test_a_hook_on_windows_is_a_command_for_git_bash(words: list[str], command: str) -> None:
    assert shell_command(words, windows=True) == command


def test_elsewhere_it_is_a_command_for_a_posix_shell() -> None:
    words = ["/a b/fleet-memory", "hook", "Stop", "--program", "my agent"]
    assert shlex.split(shell_command(words, windows=False)) == words


BASH = r"C:\Program Files\Git\bin\bash.exe" if os.name == "nt" else "/bin/bash"


@pytest.mark.skipif(shutil.which(BASH) is None, reason="asks bash itself")
@pytest.mark.parametrize(
    "word", [r"C:\Users\me\a b\x.exe", r"D:\$HOME\`id`", 'say "hi"', "it's", "a;b&c|d", "é→日本"]
)
def test_bash_reads_a_windows_command_as_it_was_meant(word: str) -> None:
    command = shell_command(["printf", "%s", word], windows=True)
    read = subprocess.run([BASH, "-c", command], capture_output=True, check=True).stdout  # noqa: S603 words of this test
    assert read.decode() == word.replace("\\", "/")
