"""The file that a memory moves in: its lines, reading it, writing it whole, and a fleet's export.

One JSON value a line: a header, the documents, a footer with their count and hash, so that a file
that was cut off is noticed. Snapshots, leases, the note of the last run stay behind:
the import makes them again. A collection is read whole: a fleet of 1,000 full programs takes some
300 MB.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from fleet_memory import __version__
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.documents import document_blocks
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.programs import versioned_program
from fleet_memory.repositories.records import archive_record, ledger_line, past_summary
from fleet_memory.repositories.snapshots import versioned_entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Document, Json, Query
from fleet_memory.whole_files import draft_beside

Fields: TypeAlias = dict[str, Json]
FORMAT: Final = "fleet-memory/2"
READABLE: Final = (FORMAT, "fleet-memory/1")  # the second is of version 0.2
# the value of a document by its collection, in the order of a file, before the policy
COLLECTIONS: Final[Mapping[str, Callable[[Document], Value | None]]] = {
    "programs": lambda document: versioned_program(document).program,
    "gsp": lambda document: versioned_entry(document).entry,
    "pairs": lambda document: versioned_pair(document).pair,
    "ledger": ledger_line,
    "archive": archive_record,
    "history": past_summary,
}


class Line(NamedTuple):
    """One document of a file."""

    collection: str
    id: str
    fields: Fields

    def text(self) -> str:
        """Return it as a line without its end."""
        return json.dumps(self._asdict(), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


class ParsedFile(NamedTuple):
    """A file with a header and a footer that fit: the name of its fleet, and the lines between by
    their numbers, from 2.
    """

    fleet: str
    lines: Mapping[int, Mapping[str, object]]


def file_text(fleet: str, version: str, exported_at: str, lines: Iterable[Line]) -> tuple[str, int]:
    """Return the text of a file with these documents, and how many they are."""
    texts = [line.text() for line in lines]
    header = {"format": FORMAT, "fleet": fleet, "version": version, "exportedAt": exported_at}
    footer = {"documents": len(texts), "sha256": _hash(texts)}
    return "\n".join([json.dumps(header), *texts, json.dumps(footer)]) + "\n", len(texts)


def require_room(file: Path, *, force: bool) -> None:
    """Raise InvalidArgumentError for a file that exists, unless it may be replaced."""
    if os.path.exists(file) and not force:  # noqa: PTH110 no error where a user may not look
        raise InvalidArgumentError(
            f"FILE: {file.name} exists; give another name, or --force to replace it"
        )


def write_whole(file: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all.

    A link stays a link: the file that it names is replaced. Raises InvalidArgumentError.
    """
    target = Path(os.path.realpath(file))
    try:
        with draft_beside(target, text.encode()) as draft:
            draft.replace(target)
    except OSError as error:
        raise InvalidArgumentError(
            f"FILE: {file.name} cannot be written: {error.strerror}"
        ) from error


def read_bytes(file: Path) -> bytes:
    """Return the content of a file. Raises InvalidArgumentError."""
    try:
        return file.read_bytes()
    except OSError as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read: {error.strerror}") from error


def parsed_file(content: bytes) -> ParsedFile:
    """Return the lines of a file, each a JSON object; a byte order mark is left out. Raises
    InvalidArgumentError.
    """
    try:
        texts = (
            content.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
        )  # not at U+2028
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"FILE: not UTF-8 text, from byte {error.start} on") from error
    header = _object(texts[0], 1)
    if header.get("format") not in READABLE:
        raise InvalidArgumentError(f"line 1: not a file of `fleet-memory export` (format {FORMAT})")
    footer = _object(texts[-1], len(texts))
    if footer.get("documents") != len(texts) - 2 or footer.get("sha256") != _hash(texts[1:-1]):
        raise InvalidArgumentError(
            "the last line does not match the others: the file is cut off or was changed"
        )
    lines = {number: _object(text, number) for number, text in enumerate(texts[1:-1], 2)}
    return ParsedFile(str(header.get("fleet") or ""), lines)


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _object(text: str, number: int) -> Mapping[str, object]:
    try:
        value = json.loads(text)
        # no store takes NaN and half characters
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (RecursionError, ValueError) as error:
        raise InvalidArgumentError(f"line {number}: not JSON") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"line {number}: not a JSON object")
    return value


async def fleet_documents(fleet: Fleet) -> dict[str, list[Document]]:
    """Return the documents of a fleet that a file has, by collection. Billed 1 read each."""
    found = dict[str, list[Document]]()
    for name in (*COLLECTIONS, *fleet.collections):
        blocks = document_blocks(fleet.store, Query(fleet.paths.collection(name)))
        found[name] = [document async for block in blocks for document in block]
    return found


async def export_text(fleet: Fleet) -> tuple[str, int]:
    """Return the file of a fleet, and how many documents it has. Raises ForbiddenError unless the
    caller may curate.
    """
    fleet.caller.require_curation()
    found = await fleet_documents(fleet)
    lines = [Line(name, it.ref.id, it.fields) for name, some in found.items() for it in some]
    policy = (await fleet.policies.read_versioned()).value
    if policy != Policy():
        lines.append(Line("policy", "policy", policy.wire()))
    return file_text(fleet.paths.fleet_id, __version__, fleet.now().isoformat(), lines)
