"""The file that a memory moves in: its lines, how it is written whole, and how it is read and checked.

One JSON value a line: a header, the documents, a footer with their count and hash, so that a file that was cut off is
noticed.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from pydantic import ValidationError

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.repositories.entry_codec import versioned_entry
from fleet_memory.repositories.pages import page_of
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.program_codec import versioned_program
from fleet_memory.stores import Document, Json, Ref, document_id

Fields: TypeAlias = dict[str, Json]
FORMAT: Final = "fleet-memory/1"
# in the order of a file; a program is followed by its pages
COLLECTIONS: Final = ("programs", "pages", "gsp", "pairs", "snapshots", "ledger", "archive", "history", "receipts")


class Line(NamedTuple):
    """One document of a file."""

    collection: str
    id: str
    fields: Fields

    def text(self) -> str:
        """Return it as a line without its end."""
        return json.dumps(self._asdict(), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def require_room(file: Path, *, force: bool) -> None:
    """Raise InvalidArgumentError for a file that exists, unless it may be replaced."""
    if file.exists() and not force:
        raise InvalidArgumentError(f"FILE: {file.name} exists; give another name, or --force to replace it")


def write_whole(file: Path, lines: Sequence[str]) -> None:
    """Write the lines to the file, all or none. Raises InvalidArgumentError."""
    draft = file.with_name(f"{file.name}.part")
    try:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(draft, file)  # noqa: PTH105 - the same, by a clearer name
    except OSError as error:
        raise InvalidArgumentError(f"FILE: cannot be written: {error.strerror}") from error


def hash_of_lines(texts: Iterable[str]) -> str:
    """Return the hash of the documents' lines, as the footer has it."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def read_lines(file: Path) -> list[Line]:
    """Return the documents of a file, each checked. Raises InvalidArgumentError, which names the line."""
    try:
        texts = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")  # not at U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read as UTF-8 text") from error
    header = _object(texts[0], 1) if texts else {}
    if header.get("format") != FORMAT:
        raise InvalidArgumentError(f"line 1: not a file of `fleet-memory export` (format {FORMAT})")
    footer = _object(texts[-1], len(texts))
    if footer.get("documents") != len(texts) - 2 or footer.get("sha256") != hash_of_lines(texts[1:-1]):
        raise InvalidArgumentError("the last line does not match the others: the file is cut off or was changed")
    return [_line(text, number) for number, text in enumerate(texts[1:-1], 2)]


def _object(text: str, number: int) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidArgumentError(f"line {number}: not JSON") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"line {number}: not a JSON object")
    return value


def _line(text: str, number: int) -> Line:
    value = _object(text, number)
    collection, id_, fields = value.get("collection"), value.get("id"), value.get("fields")
    if collection not in COLLECTIONS or not isinstance(id_, str) or not isinstance(fields, dict):
        raise InvalidArgumentError(
            f"line {number}: must have a collection ({', '.join(COLLECTIONS)}), an id and fields"
        )
    line = Line(str(collection), id_, cast("Fields", fields))
    try:
        _require_sound(line)
    except (ValidationError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise InvalidArgumentError(f"line {number}: the {collection} document {id_} is not sound") from error
    return line


def _require_sound(line: Line) -> None:
    if line.collection == "pages":
        page = page_of(Document(Ref("", line.id), line.fields, ""))
        expected = document_id(f"{page.program_id}~{page.number}")
    elif line.collection == "programs":
        versioned_program(Document(Ref("", line.id), line.fields, ""))
        expected = document_id(str(line.fields["programId"]))
    elif line.collection == "pairs":
        expected = versioned_pair(Document(Ref("", line.id), line.fields, "")).pair_id
    elif line.collection == "gsp":
        expected = document_id(str(line.fields["key"]))
        versioned_entry(Document(Ref("", line.id), line.fields, ""))
    else:
        expected = line.id
    if line.id != expected:
        raise ValueError(f"{line.id} is not {expected}")
