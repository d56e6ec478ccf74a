"""Commands as processes whose pipes, terminal, home or working directory are unusual: no traceback,
the right code.
"""

import json
import os
import pwd
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from fleet_memory.cli import main
from tests import forked
from tests.bounds import HANG_S

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="a POSIX shell, its closed streams and its signals"
)

PATTERN = {
    "pattern": "Look before you leap",
    "domain": "care",
    "confidence": 0.9,
    "evidence": "It hurt",
}
STORE = json.dumps({"programId": "basher", "pattern": PATTERN})
RECALL = json.dumps({"programId": "basher", "query": "leap"})
INTERRUPTED_IMPORT = """
import runpy, sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "fleet_memory.cli.printing": raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
runpy.run_module("fleet_memory", run_name="__main__")
"""


class Ended(NamedTuple):
    """A process that has ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ours = {"FLEET_MEMORY_STORE": str(tmp_path / "memory.db"), "FLEET_MEMORY_EMBEDDER": "lexical"}
    return {
        **os.environ,
        **ours,
        "FM": shlex.join(forked.words()),
        "STARTED": f"{sys.executable} -m fleet_memory",  # where Python's own streams count
        "STORE": STORE,
        "RECALL": RECALL,
    }


def run(command: list[str], environment: dict[str, str]) -> Ended:
    done = subprocess.run(  # noqa: S603 ours
        command, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def shell(line: str, environment: dict[str, str]) -> Ended:
    return run(["sh", "-c", line], environment)


@pytest.mark.parametrize(
    ("how", "words"),
    [("STARTED", "--help"), ("STARTED", "doctor store --json"), ("FM", "doctor memory")],
)
def test_a_reader_that_goes_away_is_no_error(
    how: str, words: str, environment: dict[str, str]
) -> None:
    assert shell('$FM call store_memory "$STORE"', environment).code == 0
    assert shell(f"{{ ${how} {words}; echo $? >&2; }} | true", environment) == (0, "", "0\n")


@pytest.mark.parametrize(
    ("where", "why"),
    [
        pytest.param(">&-", "stdout is closed", id="closed"),
        pytest.param(
            ">/dev/full",
            "No space left on device",
            marks=pytest.mark.skipif(
                not Path("/dev/full").exists(), reason="no device that is always full"
            ),
            id="full",
        ),
    ],
)
def test_an_export_that_cannot_be_written_is_one_line_and_an_error(
    where: str, why: str, environment: dict[str, str]
) -> None:
    assert shell('$FM call store_memory "$STORE"', environment).code == 0
    problem = f"fleet-memory: the output cannot be written: {why}; what was changed stays changed\n"
    assert shell(f"$STARTED export - {where}", environment) == (5, "", problem)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_an_answer_that_cannot_be_written_is_one_line_and_its_changes_stay(
    environment: dict[str, str],
) -> None:
    problem = (
        "the output cannot be written: No space left on device; what was changed stays changed"
    )
    assert shell('$FM call store_memory "$STORE" >/dev/full', environment) == (
        5,
        "",
        f"fleet-memory: {problem}\n",
    )
    assert json.loads(shell('$FM call recall_memory "$RECALL"', environment).out)["total"] == 1


def test_closed_streams_are_empty_ones(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell('$STARTED call store_memory "$STORE" >&-', environment) == (0, "", "")
    assert shell("$STARTED doctor memory >&- 2>&- <&-", environment) == (0, "", "")
    problem = "fleet-memory: JSON: "
    assert shell("$STARTED call store_memory - <&-", environment).err.startswith(problem)
    monkeypatch.setattr(sys, "stdin", None)  # as Python has it then
    assert main(["import", "-"]) == 2
    assert json.loads(shell('$FM call recall_memory "$RECALL"', environment).out)["total"] == 1


def test_a_narrow_dumb_terminal_and_another_encoding_show_it_all(
    environment: dict[str, str], tmp_path: Path
) -> None:
    odd = environment | {
        "COLUMNS": "10",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONIOENCODING": "ascii",
    }
    checked = shell(f"$STARTED doctor store --store '{tmp_path}/é[/b].db'", odd)
    assert (checked.code, checked.err) == (1, "")
    assert f"  {tmp_path}/é[/b].db, not there yet" in checked.out


def test_a_user_without_a_home_directory_needs_one_for_the_default_store_alone(
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("FLEET_MEMORY_STORE", "FLEET_MEMORY_EMBEDDER"):
        monkeypatch.setenv(name, environment[name])
    assert main(["call", "store_memory", STORE]) == 0
    assert main(["doctor", "memory"]) == 0
    monkeypatch.delenv("FLEET_MEMORY_STORE")
    capsys.readouterr()
    assert main(["doctor", "store"]) == 2
    assert capsys.readouterr() == (
        "",
        "fleet-memory: HOME: this user has no home directory for a memory; name one with --store "
        "or FLEET_MEMORY_STORE.\n",
    )
    with pytest.raises(SystemExit, match="0"):
        main(["doctor", "--help"])


def test_in_a_working_directory_that_is_gone_a_relative_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["doctor", "store", "--store", "m.db"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fleet-memory: --store: 'm.db' names no file. Allowed: ")


def test_ctrl_c_ends_a_command_without_a_word(environment: dict[str, str]) -> None:
    command = [sys.executable, "-u", "-m", "fleet_memory", "demo", "--mine"]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 ours
        command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stdout
        assert process.stdout.readline()  # it goes on to read the first sentence
        process.send_signal(signal.SIGINT)
        process.wait(
            HANG_S
        )  # before its standard input is closed: an end of the input has an answer of its own
        _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (130, b"")


def test_ctrl_c_while_a_command_is_imported_ends_it_without_a_word(
    environment: dict[str, str],
) -> None:
    assert run([sys.executable, "-c", INTERRUPTED_IMPORT, "doctor"], environment) == (130, "", "")
