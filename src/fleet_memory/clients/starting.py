"""The words that start this installation of the package, for a client's configuration."""

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from fleet_memory import __version__

COMMAND: Final = "fleet-memory"
PINNED: Final = f"{COMMAND}=={__version__}"
# Folders that `uvx` and `pipx run` build and throw away. Sources: uv's cache buckets, pipx's
# PIPX_VENV_CACHEDIR
_THROWN_AWAY: Final = re.compile(
    r"/(archive|builds|environments)-v\d+/|/\.cache/pipx/|/pipx/(\.cache|Cache)/", re.I
)
_SAFE_WORD: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


class Installation(NamedTuple):
    """Where this package runs from, and how names are found on the path. `script` is the file that
    was called.
    """

    script: PurePath
    python: str
    prefix: PurePath
    is_virtual: bool
    find: Callable[[str], str | None]

    @property
    def is_temporary(self) -> bool:
        """Whether `uvx` or `pipx run` made it for one use."""
        return _THROWN_AWAY.search(f"{self.prefix.as_posix()}/") is not None

    @property
    def kind(self) -> str:
        """How it was installed, e.g. "uv tool"."""
        place = self.prefix.as_posix()
        if self.is_temporary:
            return "uvx or pipx run, for one use"
        named = {"/uv/tools/": "uv tool", "/pipx/venvs/": "pipx"}
        manager = next((name for part, name in named.items() if part in place), None)
        return manager or ("virtual environment" if self.is_virtual else "Python's own packages")

    def words(self, *, shared: bool) -> list[str]:
        """Return the command; one that is `shared` names nothing of this machine."""
        if shared:
            path = None if self.is_temporary else self.find(COMMAND)
            everywhere = path and not (
                self.is_virtual and PurePath(path).is_relative_to(self.prefix)
            )
            return [COMMAND] if everywhere else ["uvx", PINNED]
        if self.is_temporary:
            runners = {"uvx": [PINNED], "pipx": ["run", PINNED]}
            runner = next((name for name in runners if self.find(name)), "uvx")
            return [self.find(runner) or runner, *runners[runner]]
        script = self.find(str(self.script)) if self.script.stem == COMMAND else None
        return [script] if script else [self.python, "-P", "-m", "fleet_memory"]


def this_installation() -> Installation:
    """Return the installation that runs."""
    script = Path(sys.argv[0]).absolute()
    return Installation(
        script, sys.executable, Path(sys.prefix), sys.prefix != sys.base_prefix, shutil.which
    )


def shell_command(words: Sequence[str], *, windows: bool) -> str:
    """Return words as a shell's command line; on Windows for Git Bash, in which a backslash
    quotes.
    """
    if not windows:
        return shlex.join(words)
    return " ".join(_for_git_bash(word.replace("\\", "/")) for word in words)


def _for_git_bash(word: str) -> str:
    return word if _SAFE_WORD.fullmatch(word) else '"' + re.sub(r'([$`"])', r"\\\1", word) + '"'
