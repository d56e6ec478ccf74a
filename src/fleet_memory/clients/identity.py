"""Who a coding client's session is, and what this machine remembers of sessions.

One project is one program, whichever of its folders the client is in and whichever machine it is
on. The facts are no memory: names, folders, times and hashes, never a text of a lesson or a prompt.
"""

import hashlib
import json
import os
import re
import sqlite3
import sys
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from fleet_memory.moment import state_folder
from fleet_memory.settings import Settings, is_name

_T = TypeVar("_T")
Fact: TypeAlias = Mapping[str, object]

NAMELESS: Final = (
    "agent"  # in front of the hash of a folder whose name has no letter that a program's may have
)
_MAX_KIND_CHARS: Final = 60  # chosen: the most of a name that a subagent's type may be
_MAX_CHARS: Final = (
    100  # of a program's name; Source: schemas.fields.Name, which loads too slowly here
)
_HASH_CHARS: Final = 6  # 16 million; a person has some hundred projects
_MAX_WAIT_S: Final = 1.0  # for another hook's write; chosen
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS facts (kind TEXT, name TEXT, fact TEXT, at REAL, "
    "PRIMARY KEY (kind, name))"
)
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
    """Facts about hooks in one SQLite file of a folder, none for None. A fact has a kind and a name
    of any letters.

    A missing or damaged file is as if no fact were known, and where none can be written a hook does
    as at its first run. A state that is read only answers as if it had written.
    """

    def __init__(self, folder: Path | None, *, is_read_only: bool = False) -> None:
        self.folder: Final = folder
        self._file = folder / "hooks.db" if folder else None
        self._is_read_only = is_read_only

    def read(self, kind: str, name: str) -> Fact:
        """Return a fact, empty for none."""
        return self._run(lambda facts: _fact(facts, kind, name), {})

    def write(self, kind: str, name: str, fact: Fact) -> None:
        """Write a fact in place of an earlier one."""
        if not self._is_read_only:
            self._run(lambda facts: _put(facts, kind, name, fact), None)

    def take(self, kind: str, name: str) -> bool:
        """Whether there was a fact, which is gone now; of several callers one is answered yes."""
        delete = "DELETE FROM facts WHERE kind = ? AND name = ?"
        where = (kind, short_hash(name, 32))
        return self._run(lambda facts: facts.execute(delete, where).rowcount > 0, otherwise=False)

    def claim(self, kind: str, name: str, fact: Fact, is_free: Callable[[Fact], bool]) -> Fact:
        """Return the fact of the name's holder: `fact` where there is none, or where the holder's
        `is_free`. Of several processes that claim a free name one becomes its holder.
        """

        def claimed(facts: sqlite3.Connection) -> Fact:
            holder = _fact(facts, kind, name)
            if holder and not is_free(holder):
                return holder
            if not self._is_read_only:
                _put(facts, kind, name, fact)
            return fact

        return self._run(claimed, fact)

    def forget_program(self, name: str) -> None:
        """Remove the facts that name a program: which folder has it, and its sessions."""

        def forget(facts: sqlite3.Connection) -> None:
            for kind, field in (("programs", "name"), ("sessions", "program")):
                rows = facts.execute("SELECT rowid, fact FROM facts WHERE kind = ?", (kind,))
                for row, fact in rows.fetchall():
                    if folded_name(str(json.loads(fact).get(field))) == folded_name(name):
                        facts.execute("DELETE FROM facts WHERE rowid = ?", (row,))

        self._run(forget, None)

    def forget_older(self, kind: str, than: datetime) -> None:
        """Remove the facts of a kind that were last written before an instant."""
        where = (kind, than.timestamp())
        self._run(
            lambda facts: facts.execute("DELETE FROM facts WHERE kind = ? AND at < ?", where), None
        )

    def _run(self, work: Callable[[sqlite3.Connection], _T], otherwise: _T) -> _T:
        """Return the outcome of one transaction, `otherwise` where the file cannot be used."""
        if self._file is None:
            return otherwise
        mode = "ro" if self._is_read_only else "rw"
        try:
            if not self._is_read_only:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.touch(mode=0o600)
            address = f"{self._file.absolute().as_uri()}?mode={mode}"
            with closing(
                sqlite3.connect(address, _MAX_WAIT_S, isolation_level=None, uri=True)
            ) as facts:
                if not self._is_read_only:
                    facts.execute("PRAGMA synchronous = OFF")  # a hook does not wait for the disk
                    facts.execute(_TABLE)
                facts.execute("BEGIN" if self._is_read_only else "BEGIN IMMEDIATE")
                outcome = work(facts)
                facts.execute("COMMIT")
                return outcome
        except (OSError, sqlite3.OperationalError):
            return otherwise
        except (sqlite3.DatabaseError, ValueError):  # damaged
            if not self._is_read_only:
                with suppress(OSError):
                    self._file.unlink()
            return otherwise


def _fact(facts: sqlite3.Connection, kind: str, name: str) -> Fact:
    query = "SELECT fact FROM facts WHERE kind = ? AND name = ?"
    row = facts.execute(query, (kind, short_hash(name, 32))).fetchone()
    fact: Fact = json.loads(row[0]) if row else {}
    return fact


def _put(facts: sqlite3.Connection, kind: str, name: str, fact: Fact) -> None:
    facts.execute(
        "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, strftime('%s', 'now'))",
        (kind, short_hash(name, 32), json.dumps(fact)),
    )


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
    holder = state.claim("programs", folded_name(name), own, lambda _: False)
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
