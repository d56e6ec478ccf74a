"""Moves a fleet between any two stores, for `fleet-memory export` and `import`.

A file has one JSON value a line: a header, the documents, a footer with their count and hash, so that a file that was
cut off is noticed. Leases, the note of the last run and its sums stay behind, and the next run reads everything again.
Snapshots move along: programs refer to the version that they read. A collection is read whole: a fleet of
1,000 full programs takes some 300 MB.
"""

import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast

from anyio import to_thread
from pydantic import ValidationError

from fleet_memory import __version__
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import CountProgress
from fleet_memory.repositories.batching import batches
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.entry_codec import versioned_entry
from fleet_memory.repositories.last_run import LastRuns
from fleet_memory.repositories.pages import page_of
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import versioned_program
from fleet_memory.schemas.programs import MAX_PAGES
from fleet_memory.stores import ABSENT, Document, Json, Query, Ref, Store, Write, document_id

Fields: TypeAlias = dict[str, Json]
FORMAT: Final = "fleet-memory/1"
# The field that is greater in a newer version, by collection; the others are written once and never change.
NEWER_BY: Final = {
    "programs": "lastUpdate",
    "gsp": "version",
    "snapshots": "version",
    "history": "number",
    "receipts": "number",
}
# in the order of a file; a program is followed by its pages
COLLECTIONS: Final = ("programs", "pages", "gsp", "pairs", "snapshots", "ledger", "archive", "history", "receipts")
DOCUMENTS_PER_READ: Final = 50  # documents looked up at once


class Line(NamedTuple):
    """One document of a file."""

    collection: str
    id: str
    fields: Fields

    def text(self) -> str:
        """Return it as a line without its end."""
        return json.dumps(self._asdict(), separators=(",", ":"), ensure_ascii=False, sort_keys=True)


class Imported(NamedTuple):
    """The outcome for a file's documents; `skipped` names those that the store has newer or otherwise."""

    fleet: str
    written: int
    unchanged: int
    skipped: list[str]


async def export_fleet(
    store: Store, fleet_id: str, file: Path, now: datetime, *, force: bool, step: CountProgress
) -> int:
    """Write the fleet to `file`, whole or not at all, and return how many documents. Raises InvalidArgumentError."""
    await to_thread.run_sync(partial(_require_room, file, force=force))
    texts = [line.text() async for line in _lines(store, fleet_id, step)]
    header = {"format": FORMAT, "fleet": fleet_id, "version": __version__, "exportedAt": now.isoformat()}
    footer = {"documents": len(texts), "sha256": _hash(texts)}
    await to_thread.run_sync(_write_whole, file, [json.dumps(header), *texts, json.dumps(footer)])
    return len(texts)


async def import_fleet(store: Store, fleet_id: str, file: Path, *, overwrite: bool, step: CountProgress) -> Imported:
    """Put a file's documents into the fleet; nothing is written unless every line is right.

    Running it again, or after it was killed, writes only missing documents. A document that the store has
    in a newer or another version is skipped and named, unless `overwrite`. Raises InvalidArgumentError for a bad line.
    """
    lines = await to_thread.run_sync(_checked, file)
    paths = FleetPaths(fleet_id)
    programs = {line.id: line for line in lines if line.collection == "programs"}
    written, skipped = 0, list[str]()
    for start in range(0, len(lines), DOCUMENTS_PER_READ):
        batch = lines[start : start + DOCUMENTS_PER_READ]
        writes, kept = await _sorted_out(store, paths, batch, programs, overwrite=overwrite)
        if writes and written == 0:
            await _forget_runs(store, paths)
        for together in batches(writes):
            await store.commit(*together)
        written += len(writes)
        skipped += kept
        step(min(start + DOCUMENTS_PER_READ, len(lines)), len(lines))
    return Imported(fleet_id, written, len(lines) - written - len(skipped), skipped)


def _require_room(file: Path, *, force: bool) -> None:
    if file.exists() and not force:
        raise InvalidArgumentError(f"FILE: {file.name} exists; give another name, or --force to replace it")


def _write_whole(file: Path, lines: Sequence[str]) -> None:
    draft = file.with_name(f"{file.name}.part")
    try:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
        os.replace(draft, file)  # noqa: PTH105 - the same, by a clearer name
    except OSError as error:
        raise InvalidArgumentError(f"FILE: cannot be written: {error.strerror}") from error


async def _sorted_out(
    store: Store, paths: FleetPaths, batch: Sequence[Line], programs: Mapping[str, Line], *, overwrite: bool
) -> tuple[list[Write], list[str]]:
    """Return the writes of a batch, and the names of documents that the store has newer or otherwise.

    A page goes with its program, which is among `programs`, those of the file by id.
    """
    deciding = [programs.get(_program_id(line), line) for line in batch]
    known = await store.get(*(Ref(paths.collection(line.collection), line.id) for line in (*batch, *deciding)))
    writes, kept = list[Write](), list[str]()
    for line, old, decider, theirs in zip(batch, known, deciding, known[len(batch) :], strict=False):
        if old is not None and old.fields == line.fields:
            continue
        if theirs is None or overwrite or theirs.fields == decider.fields or _is_newer(decider, theirs):
            writes.append(_write(paths, line, old))
        else:
            kept.append(f"{line.collection}/{line.id}")
    return writes, kept


def _program_id(line: Line) -> str:
    """Return the id of the program's document that a page belongs to, "" for any other document."""
    return document_id(str(line.fields["programId"])) if line.collection == "pages" else ""


async def _lines(store: Store, fleet: str, step: CountProgress) -> AsyncIterator[Line]:
    paths = FleetPaths(fleet)
    for done, collection in enumerate(COLLECTIONS, 1):
        documents = _programs(store, paths) if collection == "programs" else _others(store, paths, collection)
        async for document in documents:
            yield Line(document.ref.collection.rpartition("/")[2], document.ref.id, document.fields)
        step(done, len(COLLECTIONS))


async def _others(store: Store, paths: FleetPaths, collection: str) -> AsyncIterator[Document]:
    if collection != "pages":  # they come with their programs
        for document in sorted(await store.find(Query(paths.collection(collection))), key=lambda one: one.ref.id):
            yield document


async def _programs(store: Store, paths: FleetPaths) -> AsyncIterator[Document]:
    async for heads in document_blocks(store, Query(paths.programs)):
        async for document in _with_pages(store, paths, heads):
            yield document


async def _with_pages(store: Store, paths: FleetPaths, heads: list[Document]) -> AsyncIterator[Document]:
    """Yield the document of each program, and its pages, as they were at one moment.

    One that changes meanwhile is read again: a lesson that moves is in one of them. Billed 1 read each, and each page.
    """
    while heads:
        refs = {head.ref: _page_refs(paths, head.fields) if head.fields.get("paged") else [] for head in heads}
        pages = {page.ref: page for page in await store.get(*chain(*refs.values())) if page is not None}
        moved = list[Document]()
        for head, now in zip(heads, await store.get(*refs), strict=True):
            if now is not None and now.revision == head.revision:
                for document in (head, *(pages[ref] for ref in refs[head.ref] if ref in pages)):
                    yield document
            elif now is not None:
                moved.append(now)
        heads = moved


def _page_refs(paths: FleetPaths, fields: Mapping[str, Json]) -> list[Ref]:
    return [paths.page(str(fields["programId"]), number) for number in range(1, MAX_PAGES + 1)]


def _hash(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _checked(file: Path) -> list[Line]:
    try:
        texts = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")  # not at U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read as UTF-8 text") from error
    header = _object(texts[0], 1) if texts else {}
    if header.get("format") != FORMAT:
        raise InvalidArgumentError(f"line 1: not a file of `fleet-memory export` (format {FORMAT})")
    footer = _object(texts[-1], len(texts))
    if footer.get("documents") != len(texts) - 2 or footer.get("sha256") != _hash(texts[1:-1]):
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


def _is_newer(line: Line, old: Document) -> bool:
    name = NEWER_BY.get(line.collection)
    if name is None or name not in line.fields:
        return False
    mine, theirs = line.fields[name], old.fields.get(name)
    return theirs is None or (type(mine) is type(theirs) and cast("str", mine) > cast("str", theirs))


def _write(paths: FleetPaths, line: Line, old: Document | None) -> Write:
    """Return the write that leaves exactly the line's fields."""
    gone: Fields = {name: None for name in old.fields if name not in line.fields} if old else {}
    return Write(Ref(paths.collection(line.collection), line.id), line.fields | gone, old.revision if old else ABSENT)


async def _forget_runs(store: Store, paths: FleetPaths) -> None:
    """Make every maintainer read the whole fleet again, and look for documents of the version before among the new."""
    runs = LastRuns(store, paths)
    before = await runs.read()
    (policy,) = await store.get(paths.policy)
    noted = [Write(paths.policy, {"schema": None})] if policy and "schema" in policy.fields else []
    await store.commit(runs.write(before, replace(before.last, epoch=before.last.epoch + 1)), *noted)
