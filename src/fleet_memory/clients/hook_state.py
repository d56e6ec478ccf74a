"""Facts about hooks on this machine, which are no memory: one small file each, written whole and
private.

A missing or damaged file is as if the fact were not known, and a folder that cannot be written
keeps none: a hook then does as at its first run. No file has a text of a lesson or a prompt, only
names, folders, times and hashes.
"""

import hashlib
import json
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

import platformdirs

from fleet_memory.whole_files import draft_beside

Fact: TypeAlias = Mapping[str, object]

_MAX_ATTEMPTS: Final = 100  # at a claim that others take at the same moment


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
    try:
        folder = platformdirs.user_state_path("fleet-memory", appauthor=False) / "hooks"
    except (OSError, RuntimeError):
        return HookState(None)
    return HookState(folder if folder.is_absolute() else None, is_read_only=is_read_only)


class HookState:
    """The facts in a folder, none for None. A fact has a kind, a folder of its own, and a name of
    any letters.

    One that is read only answers as if it had written.
    """

    def __init__(self, folder: Path | None, *, is_read_only: bool = False) -> None:
        self._folder = folder
        self._is_read_only = is_read_only

    def read(self, kind: str, name: str) -> Fact:
        """Return a fact, empty for none."""
        return (
            {} if self._folder is None else _content(self._folder / kind / f"{_hashed(name)}.json")
        )

    def write(self, kind: str, name: str, fact: Fact) -> None:
        """Write a fact in place of an earlier one."""
        if self._folder is not None and not self._is_read_only:
            with suppress(OSError):
                file = self._folder / kind / f"{_hashed(name)}.json"
                with _draft(file, fact) as draft:
                    draft.replace(file)

    def take(self, kind: str, name: str) -> bool:
        """Whether there was a fact, which is gone now; of several callers one is answered yes."""
        if self._folder is None:
            return False
        try:
            (self._folder / kind / f"{_hashed(name)}.json").unlink()
        except OSError:
            return False
        return True

    def claim(self, kind: str, name: str, fact: Fact, is_free: Callable[[Fact], bool]) -> Fact:
        """Return the fact of the name's holder: `fact` where there is none, or where the holder's
        `is_free`.

        Of several processes that claim a free name one becomes its holder: each claim is a new
        file, numbered, which is never written over, and the last one counts.
        """
        if self._folder is not None:
            with suppress(OSError):
                for _ in range(_MAX_ATTEMPTS):
                    claims = sorted(
                        (self._folder / kind).glob(f"{_hashed(name)}.*.json"), key=_number
                    )
                    holder = _content(claims[-1]) if claims else {}
                    if holder and not is_free(holder):
                        return holder
                    if self._is_read_only:
                        return fact
                    number = _number(claims[-1]) + 1 if claims else 1
                    if _created(self._folder / kind / f"{_hashed(name)}.{number}.json", fact):
                        for earlier in claims:
                            earlier.unlink(missing_ok=True)
                        return fact
        return fact

    def forget_program(self, name: str) -> None:
        """Remove the facts that name a program: which folder has it, and its sessions."""
        if self._folder is not None and not self._is_read_only:
            with suppress(OSError):
                for kind, field in (("programs", "name"), ("sessions", "program")):
                    for file in (self._folder / kind).glob("*.json"):
                        if folded_name(str(_content(file).get(field, ""))) == folded_name(name):
                            file.unlink(missing_ok=True)

    def forget_older(self, kind: str, than: datetime) -> None:
        """Remove the facts of a kind that were last written before an instant."""
        if self._folder is not None:
            with suppress(OSError):
                for file in (self._folder / kind).iterdir():
                    if file.stat().st_mtime < than.timestamp():
                        file.unlink(missing_ok=True)


def _hashed(name: str) -> str:
    return short_hash(name, 32)


def _number(claim: Path) -> int:
    digits = claim.name.split(".")[1]
    return int(digits) if digits.isdecimal() else 0


def _content(file: Path) -> Fact:
    try:
        fact = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fact if isinstance(fact, dict) else {}


@contextmanager
def _draft(file: Path, fact: Fact) -> Iterator[Path]:
    """Yield a new file with a fact next to `file`, in a folder of the user alone."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with draft_beside(file, json.dumps(fact).encode()) as draft:
        yield draft


def _created(file: Path, fact: Fact) -> bool:
    """Whether a file was created with a fact, whole; False where it is there already."""
    with _draft(file, fact) as draft:
        try:
            os.link(draft, file)  # unlike a rename never over another file
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            return _created_in_place(file, fact)
    return True


def _created_in_place(file: Path, fact: Fact) -> bool:
    try:
        with file.open("x", encoding="utf-8") as stream:
            json.dump(fact, stream)
    except FileExistsError:
        return False
    return True
