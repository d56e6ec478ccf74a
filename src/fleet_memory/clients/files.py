"""Configuration files of other programs: changes are planned and shown, then all written or none.

JSON is read with comments and trailing commas, but only plain JSON is written, laid out anew in the
file's own indentation. A text that cannot be changed without a loss is refused, and the refusal
says what to add by hand. TOML is Codex's, whose own command changes it.
"""

import json
import re
import shlex
import shutil
import stat
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.whole_files import draft_beside

Config: TypeAlias = dict[str, object]
Change: TypeAlias = Callable[[Config], None]  # in place; raises InvalidArgumentError

MAX_COMMAND_S: Final = 60.0  # of a client's own command; chosen
_BOM: Final = b"\xef\xbb\xbf"
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"'
_COMMENT: Final = re.compile(rf"{_STRING}|(//[^\r\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING_COMMA: Final = re.compile(rf"{_STRING}|(,)(?=\s*[}}\]])")
_COMMAND: Final = frozenset({"type", "command", "args", "timeout"})


class Edit(NamedTuple):
    """One file before and after, None where it does not exist, and the lines that show the
    change, e.g. "  + hooks.Stop.hooks: fleet-memory hook Stop". `words` are the client's own
    command that makes it, if there is one.
    """

    file: Path
    before: bytes | None
    after: bytes | None
    lines: Sequence[str]
    words: Sequence[str] = ()


class ChangedMeanwhileError(Exception):
    """A file is no longer as it was when its change was planned; nothing was written."""


def read_config(file: Path) -> Config:
    """Return the object that a file holds, {} without one. Raises InvalidArgumentError, which
    names the file.
    """
    return _parsed(file, _text(file, _content(file)))


def planned(file: Path, change: Change) -> Edit | None:
    """Return the edit after which the file holds its object as `change` leaves it; None for no
    difference. A file that would hold nothing goes. Raises InvalidArgumentError.
    """
    before = _content(file)
    text = _text(file, before)
    old, new = _parsed(file, text), _parsed(file, text)
    try:
        change(new)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{file}: {error}") from error
    if new == old:
        return None
    if before is not None and not stat.S_IMODE(file.stat().st_mode) & 0o222:
        raise InvalidArgumentError(f"{file}: read-only; nothing was changed")
    if file.suffix == ".toml":
        words = _codex_words(value_at(new, "mcp_servers", "fleet-memory"))
        lines = [str(file), *_lines(old, new), f"  by: {shlex.join(words)}"]
        return Edit(file, before, before, lines, words)
    changed = _json(text, new)
    if changed is None:
        raise InvalidArgumentError(
            f"{file}: more than our entry would change, e.g. comments; nothing was changed. By "
            f"hand, take out all of fleet-memory{_to_add(old, new)}"
        )
    bom = _BOM if (before or b"").startswith(_BOM) else b""
    after = bom + changed.encode() if changed.strip() and new else None
    made = " (new)" if before is None else " (deleted)" if after is None else ""
    return Edit(file, before, after, [f"{file}{made}", *_lines(old, new)])


def _codex_words(entry: object) -> list[str]:
    """Return Codex's command that makes the entry, or takes out ours. Source:
    developers.openai.com/codex/mcp.
    """
    if not isinstance(entry, dict):
        return ["codex", "mcp", "remove", "fleet-memory"]
    add, variable = ["codex", "mcp", "add", "fleet-memory"], entry.get("bearer_token_env_var")
    if "url" in entry:
        token = ["--bearer-token-env-var", str(variable)] if variable else []
        return [*add, "--url", str(entry["url"]), *token]
    variables = entry.get("env")
    env = [f"{name}={value}" for name, value in (variables or {}).items()]
    words = [str(entry["command"]), *map(str, entry["args"])]
    return [*add, *(word for pair in env for word in ("--env", pair)), "--", *words]


def make_changes(edits: Sequence[Edit]) -> None:
    """Write all files, or restore those that were written. Raises ChangedMeanwhileError, and
    InvalidArgumentError when a file cannot be written.
    """
    written = list[Edit]()
    try:
        for edit in edits:
            written.append(edit)
            _write(edit)
    except (ChangedMeanwhileError, InvalidArgumentError):
        for edit in written:
            with suppress(ChangedMeanwhileError, InvalidArgumentError):  # the first one is told
                _write(edit._replace(before=edit.after, after=edit.before))
        raise


def value_at(value: object, *path: str) -> object:
    """Return the value at a path of keys, None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def inner_object(document: Config, key: str) -> Config:
    """Return the object at a key, a new one where there is none. Raises InvalidArgumentError for
    another kind of value.
    """
    inner = document.setdefault(key, {})
    if not isinstance(inner, dict):
        raise InvalidArgumentError(f"{key!r} is no object; nothing was changed")
    return inner


def _content(file: Path) -> bytes | None:
    try:
        if file.exists() and not file.is_file():  # e.g. a pipe, which would be waited for
            raise InvalidArgumentError(f"{file}: no regular file; nothing was changed")
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgumentError(
            f"{file}: cannot be read: {error.strerror}; nothing was changed"
        ) from error


def _text(file: Path, content: bytes | None) -> str:
    try:
        return (content or b"").removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"{file}: not UTF-8; nothing was changed") from error


def _parsed(file: Path, text: str) -> Config:
    try:
        if file.suffix == ".toml":
            return tomllib.loads(text)
        try:
            document = json.loads(text or "{}")
        except ValueError:  # perhaps only for its comments
            document = json.loads(_plain(text))
    except (ValueError, RecursionError) as error:
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise InvalidArgumentError(f"{file}: not {kind}: {error}; nothing was changed") from error
    if not isinstance(document, dict):
        raise InvalidArgumentError(f"{file}: not a JSON object; nothing was changed")
    return document


def _plain(text: str) -> str:
    """Return JSON with spaces for comments and trailing commas, at equal positions."""

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[1] is None else re.sub(r"[^\r\n]", " ", match[0])

    return _TRAILING_COMMA.sub(blank, _COMMENT.sub(blank, text)) if text.strip() else "{}"


def _json(text: str, new: Config) -> str | None:
    """Return the object in the manner of the text; None where the text is no plain JSON."""
    inner = re.search(r"^[ \t]+(?=\S)", text, re.MULTILINE)
    indent = inner[0] if inner else None if text.strip() else "  "
    try:
        if text.strip():
            json.loads(text, object_pairs_hook=_without_doubles)
        written = json.dumps(new, ensure_ascii=False, indent=indent, allow_nan=False)
    except ValueError:
        return None
    written = re.sub(r"[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", written)
    if "\r\n" in text:
        written = written.replace("\n", "\r\n")
    return written + (text[len(text.rstrip()) :] if text.strip() else "\n")


def _without_doubles(pairs: Sequence[tuple[str, object]]) -> Config:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice, of which one would go")
    return dict(pairs)


def _to_add(old: Config, new: Config) -> str:
    """Return what a person has to write into a file, "" for nothing."""
    changed = {
        key: {name: each for name, each in value.items() if value_at(old, key, name) != each}
        for key, value in new.items()
        if isinstance(value, dict) and value != old.get(key)
    }
    return f" and add:\n{json.dumps(changed, indent=2)}" if any(changed.values()) else ""


def _lines(old: Config, new: Config) -> list[str]:
    """Return a line for each value that goes, then for each that comes."""
    keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    gone, come = (
        [line for key in keys for line in _leaves(key, side.get(key))] for side in (old, new)
    )
    return [f"  - {line}" for line in gone if line not in come] + [
        f"  + {line}" for line in come if line not in gone
    ]


def _leaves(path: str, value: object) -> Iterator[str]:
    """Yield e.g. "a.b: 1" of {"a": {"b": 1}}; a command alone is its words."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _leaves(path, item)
    elif isinstance(value, dict) and "command" in value and value.keys() <= _COMMAND:
        parts = (value["command"], value.get("args", []))
        words = [
            str(word) for part in parts for word in (part if isinstance(part, list) else [part])
        ]
        yield f"{path}: {words[0] if len(words) == 1 else shlex.join(words)}"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif value not in (None, []):
        yield f"{path}: {json.dumps(value, ensure_ascii=False, default=str)}"  # TOML has dates


def _write(edit: Edit) -> None:
    """Replace a file, or a link's target, in one step; an existing file keeps its mode. Raises
    ChangedMeanwhileError, InvalidArgumentError.
    """
    target = edit.file.resolve()
    if edit.words:
        _require_unchanged(edit)
        _run(edit.words)
        return
    try:
        if edit.after is None:
            _require_unchanged(edit)
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
        with draft_beside(target, edit.after, mode=mode) as draft:
            _require_unchanged(edit)
            draft.replace(target)
    except OSError as error:
        raise InvalidArgumentError(
            f"{edit.file}: cannot be written: {error.strerror}; no file was changed"
        ) from error


def _run(words: Sequence[str]) -> None:
    command = shlex.join(words)
    try:
        program = shutil.which(words[0]) or words[0]  # on Windows a script of npm's
        done = subprocess.run(  # noqa: S603 the client's own command, which was shown
            [program, *words[1:]], capture_output=True, timeout=MAX_COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidArgumentError(f"{command}: {error}; run it where codex is") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-200:]
        raise InvalidArgumentError(f"{command}: failed: {said}")


def _require_unchanged(edit: Edit) -> None:
    if _content(edit.file) != edit.before:
        raise ChangedMeanwhileError(edit.file)
