"""The program of a coding client's session: one project is one program, whichever of its folders
the client is in.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Final

from fleet_memory.clients.hook_state import HookState, folded_name, short_hash
from fleet_memory.settings import Settings, is_name

PROJECT_VARIABLE: Final = (
    "CLAUDE_PROJECT_DIR"  # where Claude Code was started, not where it went since
)
NAMELESS: Final = (
    "agent"  # in front of the hash of a folder whose name has no letter that a program's may have
)
_MAX_KIND_CHARS: Final = 60  # chosen: the most of a name that a subagent's type may be
_MAX_CHARS: Final = (
    100  # of a program's name; Source: schemas.fields.Name, which loads too slowly here
)
_HASH_CHARS: Final = 6  # 16 million; a person has some hundred projects
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_:/-]+")


def program_of(
    settings: Settings,
    given: Mapping[str, object],
    environment: Mapping[str, str],
    state: HookState,
) -> str:
    """Return the program of a hook's session: the configured one, the one that it had before, else
    the project's.

    A session keeps its program, e.g. over a compaction in another folder. `given` is the hook's
    input.
    """
    remembered = str(state.read("sessions", str(given.get("session_id") or "")).get("program", ""))
    if settings.program or is_name(remembered):
        return settings.program or remembered
    return project_name(project_root(client_folder(given, environment)), state)


def client_folder(given: Mapping[str, object], environment: Mapping[str, str]) -> Path:
    """Return the folder that the client was started in, as far as it says so; else the one that it
    is in now.
    """
    return Path(environment.get(PROJECT_VARIABLE) or str(given.get("cwd") or "") or Path.cwd())


def agent_of(settings: Settings, program: str, given: Mapping[str, object]) -> str:
    """Return the name of the agent that a hook is about: the program, with the type of a subagent
    (`proj/reviewer`).

    The main agent of a session may have a type too, but no id. Where a program is configured it is
    everyone's: the server refuses every other.
    """
    kind = (
        _kind(str(given.get("agent_type") or ""))
        if given.get("agent_id") and not settings.program
        else ""
    )
    return f"{program[: _MAX_CHARS - len(kind) - 1]}/{kind}" if kind else program


def _kind(agent_type: str) -> str:
    """Return the type of an agent as names have it; one that is a credential is hashed."""
    kind = _sanitised(agent_type).replace("/", "-").strip("-")[:_MAX_KIND_CHARS]
    return kind if kind or not agent_type else f"{NAMELESS}-{short_hash(agent_type, _HASH_CHARS)}"


def project_root(start: Path) -> Path:
    """Return the folder of the project of a folder: git's top level, else the folder itself.

    A worktree is of the project of its main repository. No git is run: a folder of a project has
    `.git`, and that of a worktree is a file which names the folder of git's own.
    """
    start = Path(os.path.realpath(start))
    for folder in (start, *start.parents):
        if (folder / ".git" / "HEAD").exists():
            return folder
        if (folder / ".git").is_file():
            return _main_folder(folder)
    return start


def is_container_root(root: Path) -> bool:
    """Whether a project's folder names no project, as containers have every project there, e.g.
    `/app`.
    """
    return root.anchor == "/" and (
        root.parent == root.parent.parent or root == Path("/usr/src/app")
    )


def _main_folder(top: Path) -> Path:
    """Return the main repository's folder of a worktree; `top` itself for a submodule, which has a
    life of its own.
    """
    with suppress(OSError, ValueError):
        own = top / (top / ".git").read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        common = Path(
            os.path.realpath(own / (own / "commondir").read_text(encoding="utf-8").strip())
        )
        return (
            common.parent if common.name.startswith(".") else common
        )  # else a bare repository, e.g. proj.git
    return top


def project_name(root: Path, state: HookState) -> str:
    """Return the program of a project: its folder's name, with a short hash where that is empty or
    another's here.

    A name belongs to the first folder of this machine that has it. When that folder is gone it is
    free for one that has no name yet: a folder that has one keeps it.
    """
    name = _sanitised(root.name.removesuffix(".git"))
    if not name:
        return f"{NAMELESS}-{_root_hash(root)}"
    longer = f"{name[: _MAX_CHARS - _HASH_CHARS - 1]}-{_root_hash(root)}"
    if state.read("longer", longer):
        return longer
    own = {"root": str(root), "name": name}
    holder = state.claim(
        "programs", folded_name(name), own, lambda fact: _is_gone(Path(str(fact.get("root", ""))))
    )
    if _is_same(Path(str(holder.get("root", ""))), root) and is_name(str(holder.get("name"))):
        return str(
            holder["name"]
        )  # as its folder was written first: `Proj` is `proj` where case does not count
    state.write("longer", longer, {"root": str(root)})
    return longer


def _sanitised(name: str) -> str:
    """Return a name without the letters that a program's has not; "" for one that is a
    credential.
    """
    from fleet_memory.rules.text.credentials import credential_in  # noqa: PLC0415 hooks without a name go without

    return "" if credential_in(name) else _FOREIGN.sub("-", name).strip("-")[:_MAX_CHARS]


def _is_gone(folder: Path) -> bool:
    """Whether there is no such folder; one that cannot be looked at is there."""
    try:
        return not S_ISDIR(folder.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return True
    except OSError:
        return False


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one == other or one.samefile(other)
    return False


def _root_hash(root: Path) -> str:
    """Return the hash of a folder's path, one for all spellings of it that this machine takes for
    the same.
    """
    text = unicodedata.normalize("NFC", str(root))
    return short_hash(text.casefold() if sys.platform in ("win32", "darwin") else text, _HASH_CHARS)
