"""Memories in text files: server-memory's lines of JSON, basic-memory's folders of Markdown."""

import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.importing.texts import ForeignPart, ForeignText, LeftOut
from fleet_memory.rules.text.markdown import MarkdownFile, markdown_file, text_blocks

# As basic-memory reads them. Source: its package, markdown/plugins.py
_OBSERVATION: Final = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_TIMECODE: Final = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+.*)?")
_TASK: Final = re.compile(r"\[(?:[^\w\[\]]|[xX])\]\s")
_RELATION: Final = re.compile(
    r"""(?:\S+|"[^"]+"|'[^']+')\s+\[\[[^\]]+\]\](?:\s+\(.*\))?|\[\[[^\]]+\]\]"""
)
_CONTEXT: Final = re.compile(r"(.+)\s\(([^()]+)\)")
_TAG: Final = re.compile(r"(?<!\S)#([^\s#]+)")


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
            yield ForeignText(place, text, context, (name, kind), (kind,), "", "", *times)
        else:
            yield LeftOut("damaged", place, "not a text")
    if not observations:
        yield LeftOut("no statement", name, "has no observation")


class _Note(NamedTuple):
    place: str
    title: str
    written: datetime
    file: MarkdownFile


def read_basic_memory(folder: Path) -> Iterator[ForeignPart]:
    """Yield the observations of all notes; of a note that has none, its list items and paragraphs.

    Raises InvalidArgumentError for a folder that is not there or has no Markdown file.
    """
    for note in _notes(folder):
        if isinstance(note, LeftOut):
            yield note
        else:
            file = note.file
            values = (tag for value in file.fields.get("tags", ()) for tag in value.split(","))
            tags = [tag.strip().removeprefix("#") for tag in values]
            title = file.first("title") or note.title
            changed = _instant(file.first("modified")) or note.written
            created = _instant(file.first("created")) or changed
            labels = ForeignText(
                note.place, "", f'in the note "{title}"', (title, *tags), tags
            )._replace(
                project=file.first("project"), created=created, changed=max(created, changed)
            )
            yield from _statements(file.body, labels)


def _notes(folder: Path) -> Iterator[_Note | LeftOut]:
    """Yield the Markdown files below a folder; hidden folders and links are not followed.

    Files that cannot be read, or vanish while others are read, are left out.
    """
    if not folder.is_dir():
        raise InvalidArgumentError(f"FILE: {folder.name} is not there, or is no folder of notes")
    vanished, files = list[OSError](), list[Path]()
    for inside, folders, names in os.walk(folder, onerror=vanished.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [Path(inside, name) for name in names if name.endswith(".md") and name[0] != "."]
    if not files and not vanished:
        raise InvalidArgumentError(f"FILE: {folder.name} has no Markdown file")
    for file in sorted(file for file in files if not file.is_symlink()):
        place = file.relative_to(folder).as_posix()
        try:
            text, written = file.read_bytes().decode("utf-8"), file.stat().st_mtime
        except UnicodeDecodeError:
            yield LeftOut("damaged", place, "not UTF-8")
        except OSError as error:
            yield _unread(place, error)
        else:
            yield _Note(place, file.stem, datetime.fromtimestamp(written, UTC), markdown_file(text))
    yield from (_unread(os.path.relpath(str(error.filename), folder), error) for error in vanished)


def _unread(place: str, error: OSError) -> LeftOut:
    why = f"cannot be read: {error.strerror}"
    return LeftOut("gone there" if isinstance(error, FileNotFoundError) else "damaged", place, why)


def _statements(body: str, note: ForeignText) -> Iterator[ForeignPart]:
    """Yield the texts of a note that state something; relations, tasks and others are left out."""
    observations, others = list[ForeignText](), list[ForeignText]()
    for block in text_blocks(body):
        if block.kind == "item" and _RELATION.fullmatch(block.text):
            yield LeftOut("relation", note.place, block.text)
        elif _TASK.match(block.text):
            yield LeftOut("no statement", note.place, "a task")
        elif observation := _observation(note, block.text):
            observations.append(observation)
        else:
            others.append(note._replace(text=block.text, context=f"text {note.context}"))
    if observations and others:
        why = f"other texts than its observations ({len(others)})"
        yield LeftOut("no statement", note.place, why)
    if not (observations or others):
        yield LeftOut("no statement", note.place, "neither list item nor paragraph")
    for number, text in enumerate(observations or others, 1):
        yield text._replace(place=f"{note.place}, {number}")


def _observation(note: ForeignText, text: str) -> ForeignText | None:
    """Return e.g. `[lesson] Use WAL #db (of 2025)` as its text, category, tag and context."""
    match = _OBSERVATION.fullmatch(text)
    category = match[1].strip() if match and not _TIMECODE.fullmatch(match[1].strip()) else ""
    statement = match[2].strip() if match and category else text
    if not category and not _TAG.search(text):
        return None
    context = f"{category or 'text'} {note.context}"
    if with_context := _CONTEXT.fullmatch(statement):
        statement, context = with_context[1].strip(), f"{context}: {with_context[2].strip()}"
    return note._replace(
        text=_without_last_tags(statement) or statement,
        context=context,
        topics=(*note.topics, category),
        tags=(*_TAG.findall(statement), *note.tags, category),
    )


def _without_last_tags(text: str) -> str:
    words = text.split(" ")
    while words and (not words[-1] or _TAG.fullmatch(words[-1])):
        words.pop()
    return " ".join(words)


def _instant(text: str) -> datetime | None:
    """Return a time of front matter; one without a zone is local there, so here too."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None
