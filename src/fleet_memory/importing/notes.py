"""Memories in text files: people's notes in Markdown, and server-memory's lines of JSON."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.importing.markdown import TextBlock, markdown_file, text_blocks
from fleet_memory.importing.texts import ForeignPart, ForeignText, LeftOut

# Ends of names: CLAUDE.md, Cursor's rules/api.mdc, .cursorrules, .windsurfrules, .clinerules
NOTE_ENDS: Final = (".md", ".mdc", ".markdown", ".txt", "rules")
MIN_ITEM_WORDS: Final = 3  # of an item that states something; chosen: "npm test" does not
# basic-memory's `[category] text #tag`. Source: its package, markdown/plugins.py
_OBSERVATION: Final = re.compile(r"\[([^\[\]()]{2,})\]\s+(.+)")
_TASK: Final = re.compile(r"\[[^\[\]]\]\s")  # "[ ] buy", "[x] done"
_LINK: Final = re.compile(  # "used_by [[Billing]]", and "[Title](file.md): …" of an index
    r"(?:\S+\s+)?\[\[[^\]]+\]\].*|\[[^\]]+\]\([^)]*\.md\).*"
)
# Below a fact, in memories of Claude Code
_REASON: Final = re.compile(r"\W*(?:why|how to apply)\W*:", re.IGNORECASE)
_TAG: Final = re.compile(r"(?<!\S)#([^\s#]+)")


def is_note(place: Path) -> bool:
    """Whether a path holds people's notes: a folder, or a file named like one, e.g. `CLAUDE.md`."""
    return place.is_dir() or place.name.lower().endswith(NOTE_ENDS)


def read_notes(place: Path) -> Iterator[ForeignPart]:
    """Yield the statements of a Markdown file, or of each in a folder: its observations `[category]
    …`, else its list items, else its paragraphs. Links are not followed.

    Files that cannot be read, or vanish while others are read, are left out. Raises
    InvalidArgumentError for a place that is not there, and a folder without notes.
    """
    if not place.exists():
        raise InvalidArgumentError(f"FILE: {place} is not there")
    vanished, files = list[OSError](), [] if place.is_dir() else [place]
    for inside, folders, names in os.walk(place, onerror=vanished.append) if not files else ():
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        notes = (Path(inside, name) for name in sorted(names) if name.endswith(NOTE_ENDS))
        files += [note for note in notes if not note.is_symlink()]
    if not files and not vanished:
        raise InvalidArgumentError(f"FILE: {place} has no notes: {', '.join(NOTE_ENDS)}")
    for file in files:
        try:
            yield from _statements(file, file.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            yield LeftOut("damaged", str(file), "not UTF-8")
        except OSError as error:
            vanished.append(error)
    for lost in vanished:
        why = f"cannot be read: {lost.strerror}"
        is_gone = isinstance(lost, FileNotFoundError)
        yield LeftOut("gone there" if is_gone else "damaged", str(lost.filename), why)


def _without_last_tags(statement: str) -> str:
    words = statement.split()
    while words and words[-1].startswith("#"):
        words.pop()
    return " ".join(words) or statement


def _statements(file: Path, text: str) -> Iterator[ForeignPart]:
    """Yield the texts of a note with their lines: statements, and texts that state nothing."""
    note = markdown_file(text)
    before = text.count("\n") - note.body.count("\n")  # lines of the front matter
    found, blocks, reasons = text_blocks(note.body), list[TextBlock](), defaultdict[int, str](str)
    for block in found:
        is_item, place = block.is_item, f"{file}:{block.line + before}"
        if blocks and _REASON.match(block.text):
            reasons[blocks[-1].line] += f". {block.text}"
        elif is_item and _LINK.fullmatch(block.text):
            yield LeftOut("relation", place, "a link to another note")
        elif _TASK.match(block.text):
            yield LeftOut("no statement", place, "a task")
        elif is_item and (len(block.text.split()) < MIN_ITEM_WORDS or block.text.endswith(":")):
            yield LeftOut("no statement", place, "a title, or a word or two")
        else:
            blocks.append(block)
    items = [block for block in blocks if block.is_item]
    chosen = [block for block in items if _OBSERVATION.fullmatch(block.text)] or items or blocks
    if len(chosen) < len(blocks):
        why = f"{len(blocks) - len(chosen)} other texts beside its list items"
        yield LeftOut("no statement", str(file), why)
    if not found:
        yield LeftOut("no statement", str(file), "neither list item nor paragraph")
    tags = [tag.removeprefix("#") for tag in note.fields.get("tags", ())]
    for block in chosen:
        match = _OBSERVATION.fullmatch(block.text)
        category, statement = (match[1].strip(), match[2]) if match else ("", block.text)
        title = note.first("title") or file.stem
        heading = "" if category else block.heading  # of basic-memory "Observations"
        yield ForeignText(
            f"{file}:{block.line + before}",
            _without_last_tags(statement),
            context=", ".join(filter(None, (category, file.name, heading))) + reasons[block.line],
            topics=(heading, title, *tags, category),
            tags=(*_TAG.findall(statement), *tags, category),
            project=note.first("project"),
            created=_instant(note.first("created")),
            changed=_instant(note.first("modified")),
        )


def _instant(text: str) -> datetime | None:
    """Return a time of front matter; one without a zone is local there, so here too."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None


def read_server_memory(file: Path) -> Iterator[ForeignPart]:
    """Yield the observations of all entities, as old as the file; relations are left out.

    Raises InvalidArgumentError for a file without any entity.
    """
    try:
        lines = file.read_bytes().decode("utf-8-sig", errors="replace").split("\n")
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read: {error.strerror}") from error
    entities = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        match value:
            case {"type": "entity", "name": str(name), "observations": list(observed)}:
                entities += 1
                yield from _observed(name, str(value.get("entityType") or ""), observed, changed)
            case {"type": "relation", "from": begin, "to": end, "relationType": relation}:
                yield LeftOut("relation", f"line {number}", f"{begin} {relation} {end}")
            case _:
                yield LeftOut("damaged", f"line {number}", "no entity or relation")
    if not entities:
        raise InvalidArgumentError(
            f"FILE: {file.name} has no entity; is it a memory of server-memory?"
        )


def _observed(
    name: str, kind: str, observations: Sequence[object], changed: datetime
) -> Iterator[ForeignPart]:
    context = f"observation of {name} ({kind})" if kind else f"observation of {name}"
    for number, text in enumerate(observations, 1):
        place = f"{name}, observation {number}"
        if isinstance(text, str):
            times = (changed, changed)
            yield ForeignText(place, text, context, (name, kind), (kind,), "", *times)
        else:
            yield LeftOut("damaged", place, "not a text")
    if not observations:
        yield LeftOut("no statement", name, "has no observation")
