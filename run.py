"""Sets fleet-memory up in .venv and runs it: `python3 run.py demo` or `python3 run.py test`. Needs Python >= 3.11."""

from __future__ import annotations  # so that an older Python reads as far as the check below

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# What to install, and what to run with .venv's Python; further arguments are passed on.
COMMANDS = {
    "demo": (".", ["-m", "fleet_memory", "demo"]),
    "test": (".[dev]", ["-m", "pytest", "tests", "emulator-tests"]),
}


def main() -> None:
    """Run the command that was asked for and leave with its exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 that is what this line finds out
        sys.exit("fleet-memory needs Python 3.11 or newer; this is " + sys.version.split()[0])
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python3 run.py {'|'.join(COMMANDS)}")
    wanted, command = COMMANDS[sys.argv[1]]
    set_up(wanted)
    run(PYTHON, *command, *sys.argv[2:])


def set_up(wanted: str) -> None:
    """Install what is wanted, once for every state of pyproject.toml."""
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    record = VENV / "installed.txt"
    installed = record.read_text().split() if record.exists() else []
    if installed[:1] == [digest] and installed[-1] in (wanted, ".[dev]"):
        return
    sys.stderr.write(f"Installing {wanted} into {VENV}, once.\n")
    run(sys.executable, "-m", "venv", VENV)
    run(PYTHON, "-m", "pip", "install", "--quiet", "--editable", wanted)
    record.write_text(f"{digest} {wanted}\n")


def run(*command: str | Path) -> None:
    """Run a command in the project's folder; leave with its exit code if it fails."""
    if code := subprocess.call(command, cwd=HERE):  # noqa: S603 the commands above
        sys.exit(code)


if __name__ == "__main__":
    main()
