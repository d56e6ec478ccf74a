"""Sets fleet-memory up in .venv and runs it: `python3 run.py demo` or `python3 run.py test`. Needs
Python >= 3.11.

`test` leaves out the tests that kill servers or race twenty of them; `test --all` runs these too.
Further arguments go to pytest, e.g. `python3 run.py test -k story`.
"""

from __future__ import annotations  # so that an older Python reads as far as the check below

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PARALLEL = [
    "-n",
    "auto",
    "--maxprocesses",
    "4",
    "--dist",
    "loadgroup",
]  # one emulator serves all workers
# The package to install, and the command to run with .venv's Python; further arguments are passed
# on.
COMMANDS = {
    "demo": (".", ["-m", "fleet_memory", "demo"]),
    "test": (".[dev]", ["-m", "pytest", "tests", "emulator-tests", *PARALLEL, "-m", "not kills"]),
    "test --all": (".[dev]", ["-m", "pytest", "tests", "emulator-tests", *PARALLEL]),
}


def main() -> None:
    """Run the command that was asked for and leave with its exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 that is what this line finds out
        sys.exit("fleet-memory needs Python 3.11 or newer; this is " + sys.version.split()[0])
    length = 2 if sys.argv[1:3] == ["test", "--all"] else 1
    name, arguments = " ".join(sys.argv[1:][:length]), sys.argv[1:][length:]
    if name not in COMMANDS:
        sys.exit(f"usage: python3 run.py {'|'.join(COMMANDS)}")
    extra, command = COMMANDS[name]
    set_up(extra)
    run(PYTHON, *command, *arguments)


def set_up(extra: str) -> None:
    """Install the package, once for every state of pyproject.toml."""
    digest = hashlib.sha256((HERE / "pyproject.toml").read_bytes()).hexdigest()
    record = VENV / "installed.txt"
    installed = record.read_text().split() if record.exists() else []
    if installed[:1] == [digest] and installed[-1] in (extra, ".[dev]"):
        return
    sys.stderr.write(f"Installing {extra} into {VENV}, once.\n")
    run(sys.executable, "-m", "venv", VENV)
    run(PYTHON, "-m", "pip", "install", "--quiet", "--editable", extra)
    record.write_text(f"{digest} {extra}\n")


def run(*command: str | Path) -> None:
    """Run a command in the project's folder; leave with its exit code if it fails."""
    if code := subprocess.call(command, cwd=HERE):  # noqa: S603 the commands above
        sys.exit(code)


if __name__ == "__main__":
    main()
