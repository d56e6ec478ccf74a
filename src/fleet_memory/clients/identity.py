"""Who a coding client's session is, and what this machine remembers of sessions.

One project is one program, whichever of its folders the client is in and whichever machine it is
on. The facts are no memory: names, folders, times and hashes, never a text of a lesson or a prompt.
"""

import hashlib
import json
import math
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from fleet_memory.moment import state_folder
from fleet_memory.settings import Settings, is_name
from fleet_memory.whole_files import draft_beside

Fact: TypeAlias = Mapping[str, object]

NAMELESS: Final = (
    "agent"  # in front of the hash of a folder whose name has no letter that a program's may have
)
_MAX_KIND_CHARS: Final = 60  # chosen: the most of a name that a subagent's type may be
_MAX_CHARS: Final = (
    100  # of a program's name; Source: schemas.fields.Name, which loads too slowly here
)
_HASH_CHARS: Final = 6  # 16 million; a person has some hundred projects
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_:/-]+")
_PLACE: Final = re.compile(  # host and path of an address on another machine, or as scp has it
    r"(?:(?!file:)[\w+]+://(?:[^@/]*@)?([^:/]+)(?::\d+)?/|(?:[^@/:]*@)?([^:/]{2,}):(?!//))(.+)"
)


def short_hash(text: str, length: int) -> str:
    """Return the first hexadecimal digits of a text's SHA-256, e.g. `short_hash("", 6) ==
    "e3b0c4"`.
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def folded_name(name: str) -> str:
    """Return a name as votes compare it: two that differ in their case alone are one origin."""
    return unicodedata.normalize("NFKC", name).casefold()


def user_state(*, is_read_only: bool = False) -> "HookState":
    """Return the facts of this user; of none without a home."""
    return HookState(state_folder(), is_read_only=is_read_only)


class HookState:
    """Facts about hooks, each a JSON file in a folder of its kind; none for a folder None. A name
    may have any letters.

    A missing or damaged file is no fact, and where none can be written a hook does as at its first
    run. A state that is read only answers as if it had written.
    """

    def __init__(self, folder: Path | None, *, is_read_only: bool = False) -> None:
        self.folder: Final = folder
        self._is_read_only = is_read_only

    def read(self, kind: str, name: str) -> Fact:
        """Return a fact, empty for none."""
        return _fact(self._file(kind, name)) if self.folder else {}

    def age_s(self, kind: str, name: str) -> float:
        """Return the seconds since a fact was written, infinite for none."""
        with suppress(OSError):
            if self.folder:
                return time.time() - self._file(kind, name).stat().st_mtime
        return math.inf

    def write(self, kind: str, name: str, fact: Fact) -> None:
        """Write a fact in place of an earlier one."""
        self._put(os.replace, kind, name, fact)

    def claim(self, kind: str, name: str, fact: Fact) -> Fact:
        """Return the fact of a name; `fact` where there is none. Of several processes that claim a
        free name one becomes its holder.
        """
        self._put(os.link, kind, name, fact)  # which leaves a file that is there
        return self.read(kind, name) or fact

    def forget_program(self, name: str) -> None:
        """Remove the facts that name a program: which folder has it, and its sessions."""
        for kind, field in (("programs", "name"), ("sessions", "program")):
            for file in (self.folder / kind).glob("*") if self.folder else ():
                if folded_name(str(_fact(file).get(field))) == folded_name(name):
                    file.unlink(missing_ok=True)

    def _file(self, kind: str, name: str) -> Path:
        return (self.folder or Path()) / kind / short_hash(name, 32)

    def _put(self, move: Callable[[Path, Path], object], kind: str, name: str, fact: Fact) -> None:
        if self.folder and not self._is_read_only:
            file = self._file(kind, name)
            with suppress(OSError):
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with draft_beside(file, json.dumps(fact).encode()) as draft:
                    move(draft, file)


def _fact(file: Path) -> Fact:
    with suppress(OSError, ValueError):
        fact: Fact = json.loads(file.read_bytes())
        return fact
    return {}


def program_of(settings: Settings, given: Mapping[str, object], state: HookState) -> str:
    """Return the program of a client's session: the configured one, the one that it had before,
    that of git's `origin`, else the project's folder.

    A session keeps its program, e.g. over a compaction in another folder. `given` is a hook's
    input, or as much of it as a server knows: `session_id` and `cwd`.
    """
    remembered = str(state.read("sessions", str(given.get("session_id") or "")).get("program", ""))
    if settings.program or is_name(remembered):
        return settings.program or remembered
    root, git = project_of(client_folder(settings, given))
    return (origin_name(git) if git else "") or project_name(root, state)


def client_folder(settings: Settings, given: Mapping[str, object]) -> Path:
    """Return the folder that the client was started in, as far as it says so; else the one that it
    is in now.
    """
    now = given.get("cwd")
    return settings.folder or Path((isinstance(now, str) and now) or Path.cwd())


def agent_of(settings: Settings, program: str, given: Mapping[str, object]) -> str:
    """Return the name of the agent that a hook is about: the program, with the type of a subagent
    (`proj/reviewer`).

    The main agent of a session may have a type too, but no id. Where a program is configured it is
    everyone's: the server refuses every other.
    """
    kind = str(given.get("agent_type") or "")
    if settings.program or not (kind and given.get("agent_id")):
        return program
    named = _sanitised(kind).replace("/", "-").strip("-")[:_MAX_KIND_CHARS]
    kind = named or f"{NAMELESS}-{short_hash(kind, _HASH_CHARS)}"
    return f"{program[: _MAX_CHARS - len(kind) - 1]}/{kind}"


def project_of(start: Path) -> tuple[Path, Path | None]:
    """Return the folder of the project of a folder, and git's own folder there, None without git:
    the top level, else the folder itself.

    A worktree is of the project of its main repository. No git is run: a folder of a project has
    `.git`, and that of a worktree is a file which names the folder of git's own.
    """
    start = Path(os.path.realpath(start))
    for folder in (start, *start.parents):
        if (folder / ".git" / "HEAD").exists():
            return folder, folder / ".git"
        if (folder / ".git").is_file():
            return _of_file(folder)
        if (folder / ".hg").is_dir() or (folder / ".jj").is_dir():
            return folder, None
    return start, None


def _of_file(top: Path) -> tuple[Path, Path | None]:
    """Return the project of a folder whose `.git` is a file: of a worktree the main repository's,
    of a submodule, which has a life of its own, itself.
    """
    own = None
    with suppress(OSError, ValueError):
        own = top / (top / ".git").read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        common = Path(
            os.path.realpath(own / (own / "commondir").read_text(encoding="utf-8").strip())
        )
        is_inside = common.name.startswith(".")  # else a bare repository, e.g. proj.git
        return common.parent if is_inside else common, common
    return top, own


def origin_name(git: Path) -> str:
    """Return the program that git's `origin` names, e.g. "acme.api" of
    "git@github.com:Acme/api.git", "group.sub.api" of a subgroup's; "" where there is none or it is
    a folder of this machine.
    """
    section = ""
    with suppress(OSError, ValueError):
        for line in (git / "config").read_text(encoding="utf-8").splitlines():
            key, _, url = (part.strip() for part in line.partition("="))
            section = key if key.startswith("[") else section
            place = _PLACE.fullmatch(url.strip('"'))
            if section == '[remote "origin"]' and key == "url" and place:
                path = place[3].lower().strip("/").removesuffix(".git").split("/")
                host = str(place[1] or place[2]).lower()
                parts = [_sanitised(part) for part in ([host, *path] if len(path) == 1 else path)]
                name = ".".join(parts) if all(parts) else ""
                longer = f"{name[: _MAX_CHARS - _HASH_CHARS - 1]}-{short_hash(name, _HASH_CHARS)}"
                return name if len(name) <= _MAX_CHARS else longer
    return ""


def project_name(root: Path, state: HookState) -> str:
    """Return the program of a project: its folder's name, with a short hash where that is empty or
    another's here: a name belongs to the first folder of this machine that has it.
    """
    name, root_hash = _sanitised(root.name.removesuffix(".git")), _root_hash(root)
    if not name:
        return f"{NAMELESS}-{root_hash}"
    own = {"root": root_hash, "name": name}
    holder = state.claim("programs", folded_name(name), own)
    if holder.get("root") == root_hash:
        return str(holder["name"])  # as it was written first: `Proj` is `proj` on macOS
    return f"{name[: _MAX_CHARS - _HASH_CHARS - 1]}-{root_hash}"


def _sanitised(name: str) -> str:
    """Return a name without the letters that a program's has not; "" for one that is a
    credential.
    """
    from fleet_memory.rules.text.credentials import credential_in  # noqa: PLC0415 hooks without a name go without

    return "" if credential_in(name) else _FOREIGN.sub("-", name).strip("-")[:_MAX_CHARS]


def _root_hash(root: Path) -> str:
    """Return the hash of a folder's path, one for all spellings of it that this machine takes for
    the same.
    """
    text = unicodedata.normalize("NFC", str(root))
    return short_hash(text.casefold() if sys.platform in ("win32", "darwin") else text, _HASH_CHARS)
