"""`fleet-memory demo` tells its story to a pipe that knows ASCII only, and the story comes out as told."""

import os
import subprocess
import sys

PATIENCE_S = 300  # thirteen servers start one after the other, on a machine that may be busy


def demo(*flags: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the demo as a pipe sees it, without this shell's own settings."""
    ours = ("FLEET_MEMORY_", "FORCE_COLOR", "COLUMNS", "TTY_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(  # noqa: S603 our own module
        [sys.executable, "-m", "fleet_memory", "demo", *flags],
        env=environment | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_three_agents_learn_one_lesson_and_a_fourth_boots_with_it() -> None:
    done = demo()
    told = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b""), told
    assert "\x1b" not in told
    assert "basher, iso, sark" in told
    assert "pattern/task-claiming/check-task-status-created-before-claiming" in told
    assert "0.89, the median of 3" in told
    assert max(map(len, told.splitlines())) <= 100


def test_the_demo_says_when_the_embedder_cannot_play_it() -> None:
    done = demo("--embedder", "lexical")
    assert done.returncode == 2
    assert b"The demo needs the default embedder" in done.stdout
