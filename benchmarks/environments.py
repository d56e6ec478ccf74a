"""Installs a system into an environment of its own, or gives the reason why it cannot."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rpc import Launch
from systems import HERE, System

INSTALL_S: Final = 900.0
MODEL: Final = HERE.parent / "src" / "fleet_memory" / "similarity" / "model"
CACHED_MODEL: Final = Path(".cache") / "mcp_memory" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"


class Installed(NamedTuple):
    """A system that can be started; `folder` is its environment."""

    system: System
    folder: Path
    version: str

    def launch(self, memory: Path) -> Launch:
        """Return how to start it with its memory in this folder."""
        if self.system.model:
            cache = memory / CACHED_MODEL
            cache.mkdir(parents=True, exist_ok=True)
            for name in ("model.onnx", "tokenizer.json"):
                if not (cache / name).exists():
                    (cache / name).symlink_to(self.folder / "model" / name)
        return Launch(self.system.command(self.folder), self.system.variables(memory), memory)


class Unavailable(NamedTuple):
    """A system that cannot be had here, and why."""

    system: System
    reason: str


def install(system: System, folder: Path, interpreters: Sequence[str]) -> Installed | Unavailable:
    """Return the system, installed in `folder` unless it is there already."""
    try:
        match system.registry:
            case "npm":
                return _from_npm(system, folder)
            case "pypi":
                return _from_pypi(system, folder, interpreters)
            case _:
                return Installed(system, folder, "this one")
    except (OSError, subprocess.SubprocessError) as error:
        return Unavailable(system, _reason(error))


def _from_npm(system: System, folder: Path) -> Installed:
    (requirement,) = system.tries[0]
    if not (folder / "node_modules").exists():
        folder.mkdir(parents=True, exist_ok=True)
        _run(
            [
                "npm",
                "install",
                "--prefix",
                str(folder),
                "--no-audit",
                "--no-fund",
                "--silent",
                requirement,
            ]
        )
    package = json.loads(
        (folder / "node_modules" / requirement / "package.json").read_text(encoding="utf-8")
    )
    return Installed(system, folder, str(package["version"]))


def _from_pypi(
    system: System, folder: Path, interpreters: Sequence[str]
) -> Installed | Unavailable:
    interpreter = next((each for each in interpreters if _survives(each, system.probe)), None)
    if interpreter is None:
        return Unavailable(
            system, f"no Python here survives `{system.probe}`; name one with --python"
        )
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        _fill_environment(system, folder, interpreter)
        ready.touch()
    name = system.tries[0][0].partition("[")[0]
    ask = f"import importlib.metadata; print(importlib.metadata.version({name!r}))"
    return Installed(system, folder, _run([str(python), "-c", ask]).strip())


def _fill_environment(system: System, folder: Path, interpreter: str) -> None:
    """Make a virtual environment with the first requirements that install; our own pip fills it."""
    _run([interpreter, "-m", "venv", "--clear", "--without-pip", str(folder)])
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    *first, last = system.tries
    for requirements in first:
        try:
            _run([*pip, *requirements])
            break
        except subprocess.CalledProcessError:
            continue
    else:
        _run([*pip, *last])
    if system.model:
        (folder / "model").mkdir()
        target = folder / "model" / "model.onnx"
        _run(
            [
                python,
                str(HERE / "wrap_model.py"),
                str(MODEL / "minilm-int8.onnx"),
                str(target),
            ]
        )
        shutil.copy(MODEL / "tokenizer.json", target.parent)


def interpreters_of(named: Sequence[str]) -> list[str]:
    """Return the Pythons to try: those that the command line names, this one, the system's, the
    newer ones.
    """
    found = (shutil.which(name) for name in ("python3.14", "python3.13", "python3.12"))
    return [*named, sys.executable, "/usr/bin/python3", *(path for path in found if path)]


def _survives(interpreter: str, statement: str) -> bool:
    try:
        return (
            subprocess.run(
                [interpreter, "-c", statement], capture_output=True, timeout=60, check=False
            ).returncode
            == 0
        )
    except (OSError, subprocess.SubprocessError):
        return False


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=True)
    return done.stdout


def _reason(error: OSError | subprocess.SubprocessError) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        lines = [line.strip() for line in str(error.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        return (errors or lines or ["no reason given"])[-1][:160]
    return str(error)[:160]
