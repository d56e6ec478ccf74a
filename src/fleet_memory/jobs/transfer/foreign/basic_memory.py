"""The notes of basic-memory: a folder of Markdown files with observations (`- [lesson] Text #tag
(context)`).
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.rules.text.front_matter import MarkdownFile, markdown_file
from fleet_memory.rules.text.markdown_blocks import TextBlock, text_blocks
from fleet_memory.schemas.foreign import ForeignMemory, ForeignText, LeftOut

# As basic-memory reads them. Source: its package, markdown/plugins.py
_OBSERVATION: Final = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_TIMECODE: Final = re.compile(r"\d{1,3}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?(?:\s+-\s+.*)?")
_TASK: Final = re.compile(r"\[(?:[^\w\[\]]|[xX])\]\s")
_RELATION: Final = re.compile(
    r"""(?:\S+|"[^"]+"|'[^']+')\s+\[\[[^\]]+\]\](?:\s+\(.*\))?|\[\[[^\]]+\]\]"""
)
_CONTEXT: Final = re.compile(r"(.+)\s\(([^()]+)\)")
_TAG: Final = re.compile(r"(?<!\S)#([^\s#]+)")
_LAST_TAGS: Final = re.compile(r"(?:\s+#[^\s#]+)+$")


class _Note(NamedTuple):
    """A note: its path in the folder, its title, its times, and its file."""

    place: str
    title: str
    created: datetime
    changed: datetime
    file: MarkdownFile


class _Found(NamedTuple):
    texts: Sequence[ForeignText]
    left_out: Sequence[LeftOut]


def read_basic_memory(folder: Path) -> ForeignMemory:
    """Return the observations of all notes; of a note that has none, its list items and paragraphs.

    Files that `fleet-memory export --memory-dir` wrote are left out. Hidden folders and links are
    not followed. Raises InvalidArgumentError for a folder that is not there or has no Markdown
    file.
    """
    if not folder.is_dir():
        raise InvalidArgumentError(f"FILE: {folder.name} is not there, or is no folder of notes")
    files = [
        file for file in sorted(folder.rglob("*.md")) if _is_note(file.relative_to(folder), file)
    ]
    if not files:
        raise InvalidArgumentError(f"FILE: {folder.name} has no Markdown file")
    texts, left_out = list[ForeignText](), list[LeftOut]()
    for file in files:
        note = _read_note(file, file.relative_to(folder).as_posix())
        texts += note.texts
        left_out += note.left_out
    return ForeignMemory("basic-memory", texts, left_out)


def _is_note(place: Path, file: Path) -> bool:
    return (
        not any(part.startswith(".") for part in place.parts)
        and file.is_file()
        and not file.is_symlink()
    )


def _read_note(file: Path, place: str) -> _Found:
    try:
        text, stat = file.read_bytes().decode("utf-8"), file.stat()
    except UnicodeDecodeError:
        return _Found((), [LeftOut("damaged", place, "not UTF-8")])
    except OSError as error:
        return _Found((), [LeftOut("damaged", place, f"cannot be read: {error.strerror}")])
    note = markdown_file(text)
    if note.is_own:
        return _Found(
            (),
            [
                LeftOut(
                    "own file", place, "written by fleet-memory, which is no evidence for itself"
                )
            ],
        )
    written = datetime.fromtimestamp(stat.st_mtime, UTC)
    changed = _instant(note.first("modified")) or written
    created = _instant(note.first("created")) or changed
    return _stated(
        _Note(place, note.first("title") or file.stem, created, max(created, changed), note)
    )


def _stated(note: _Note) -> _Found:
    """Return the texts of a note that state something, and its relations, tasks and other texts as
    left out.
    """
    blocks, left_out = list[TextBlock](), list[LeftOut]()
    for block in text_blocks(note.file.body):
        if block.kind == "item" and _RELATION.fullmatch(block.text):
            left_out.append(LeftOut("relation", note.place, block.text))
        elif _TASK.match(block.text):
            left_out.append(LeftOut("no statement", note.place, "a task"))
        else:
            blocks.append(block)
    observations = [
        foreign_text for block in blocks if (foreign_text := _observation(note, block.text))
    ]
    others = [block.text for block in blocks if not _observation(note, block.text)]
    if observations and others:
        left_out.append(
            LeftOut(
                "no statement", note.place, f"other texts than its observations ({len(others)})"
            )
        )
    if not blocks:
        left_out.append(LeftOut("no statement", note.place, "neither list item nor paragraph"))
    texts = observations or [_text(note, other) for other in others]
    return _Found(
        [text._replace(place=f"{note.place}, {number}") for number, text in enumerate(texts, 1)],
        left_out,
    )


def _observation(note: _Note, text: str) -> ForeignText | None:
    match = _OBSERVATION.fullmatch(text)
    category = match[1].strip() if match and not _TIMECODE.fullmatch(match[1].strip()) else ""
    statement = match[2].strip() if match and category else text
    if not category and not _TAG.search(text):
        return None
    with_context = _CONTEXT.fullmatch(statement)
    context = with_context[2].strip() if with_context else ""
    statement = with_context[1].strip() if with_context else statement
    bare = _LAST_TAGS.sub("", statement).strip() or statement
    return _text(note, bare, category, context, _TAG.findall(statement))


def _text(
    note: _Note, text: str, category: str = "", context: str = "", tags: Sequence[str] = ()
) -> ForeignText:
    where = f'{category or "text"} in the note "{note.title}"'
    own_tags = [
        tag.strip().removeprefix("#")
        for value in note.file.fields.get("tags", ())
        for tag in value.split(",")
    ]
    return ForeignText(
        note.place,
        text,
        context=f"{where}: {context}" if context else where,
        topics=(note.title, *own_tags, category),
        tags=(*tags, *own_tags, category),
        project=note.file.first("project"),
        created=note.created,
        changed=note.changed,
    )


def _instant(text: str) -> datetime | None:
    """Return a time of front matter; one without a zone is local there, so here too."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, OverflowError):
        return None
