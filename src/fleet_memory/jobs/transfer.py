"""Moves a fleet between any two stores, for `fleet-memory export` and `import`.

A file has one JSON value a line: a header, the documents, a footer with their count and hash, so that a file that was
cut off is noticed. Leases, the note of the last run and its sums stay behind, and the next run reads everything again.
Snapshots move along: programs refer to the version that they read. A collection is read whole: a fleet of
1,000 full programs takes some 300 MB.
"""

import hashlib
import json
import os
from collections import defaultdict
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
    in a newer or another version is skipped and named, unless `overwrite`. A program and its pages are written at once.
    Raises InvalidArgumentError for a bad line.
    """
    lines = await to_thread.run_sync(_checked, file)
    paths = FleetPaths(fleet_id)
    groups = _groups(lines)
    written, done, skipped = 0, 0, list[str]()
    for start in range(0, len(groups), DOCUMENTS_PER_READ):
        batch = groups[start : start + DOCUMENTS_PER_READ]
        changes, kept = await _sorted_out(store, paths, batch, overwrite=overwrite)
        if changes and written == 0:
            await _forget_runs(store, paths)
        for writes in _commits(changes):
            await store.commit(*writes)
        written += sum(write.fields is not None for writes in changes for write in writes)
        skipped += kept
        done += sum(map(len, batch))
        step(done, len(lines))
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


def _groups(lines: Sequence[Line]) -> list[list[Line]]:
    """Return the lines that are written together: a program and its pages, each other document by itself."""
    pages = defaultdict[str, list[Line]](list)
    for line in lines:
        if line.collection == "pages":
            pages[document_id(str(line.fields["programId"]))].append(line)
    groups = [
        [line, *(pages.pop(line.id, ()) if line.collection == "programs" else ())]
        for line in lines
        if line.collection != "pages"
    ]
    if pages:
        raise InvalidArgumentError(f"FILE: has pages but not the programs that they belong to: {', '.join(pages)}")
    return groups


async def _sorted_out(
    store: Store, paths: FleetPaths, groups: Sequence[Sequence[Line]], *, overwrite: bool
) -> tuple[list[list[Write]], list[str]]:
    """Return the writes of each group that changes, and the names of documents that the store has newer or otherwise.

    The first line of a group decides. Pages of a program that the file does not have are removed with its write.
    """
    refs = [_refs(paths, group) for group in groups]
    known = {one.ref: one for one in await store.get(*chain(*refs)) if one is not None}
    changes, kept = list[list[Write]](), list[str]()
    for group, places in zip(groups, refs, strict=True):
        lines = {Ref(paths.collection(line.collection), line.id): line for line in group}
        other = {ref: line for ref, line in lines.items() if ref not in known or known[ref].fields != line.fields}
        gone = [Write(ref, None, known[ref].revision) for ref in places if ref in known and ref not in lines]
        theirs, decider = known.get(places[0]), group[0]
        if theirs is None or overwrite or theirs.fields == decider.fields or _is_newer(decider, theirs):
            changes.append([*(_write(ref, line, known.get(ref)) for ref, line in other.items()), *gone])
        else:
            kept += [f"{line.collection}/{line.id}" for line in other.values()]
    return [writes for writes in changes if writes], kept


def _refs(paths: FleetPaths, group: Sequence[Line]) -> list[Ref]:
    """Return where a group's documents are, and all pages that its program may have."""
    first = group[0]
    pages = _page_refs(paths, first.fields) if first.collection == "programs" else []
    return [Ref(paths.collection(first.collection), first.id), *pages]


def _commits(changes: Sequence[Sequence[Write]]) -> list[Sequence[Write]]:
    """Return writes in few commits; the several writes of one program are never split."""
    alone = batches(writes[0] for writes in changes if len(writes) == 1)
    return [*alone, *(writes for writes in changes if len(writes) > 1)]


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


def _write(ref: Ref, line: Line, old: Document | None) -> Write:
    """Return the write that leaves exactly the line's fields."""
    gone: Fields = {name: None for name in old.fields if name not in line.fields} if old else {}
    return Write(ref, line.fields | gone, old.revision if old else ABSENT)


async def _forget_runs(store: Store, paths: FleetPaths) -> None:
    """Make every maintainer read the whole fleet again, and look for documents of the version before among the new."""
    runs = LastRuns(store, paths)
    before = await runs.read()
    (policy,) = await store.get(paths.policy)
    noted = [Write(paths.policy, {"schema": None})] if policy and "schema" in policy.fields else []
    await store.commit(runs.write(before, replace(before.last, epoch=before.last.epoch + 1)), *noted)
