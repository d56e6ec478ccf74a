"""Puts a file's documents into a fleet, for `fleet-memory import`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, cast

from anyio import to_thread

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import CountProgress
from fleet_memory.jobs.transfer.file import Fields, Line, read_lines
from fleet_memory.repositories.batching import batches
from fleet_memory.repositories.last_run import LastRuns
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.stores import ABSENT, Document, Ref, Store, Write, document_id

# The field that is greater in a newer version, by collection; the others are written once and never change.
NEWER_BY: Final = {
    "programs": "lastUpdate",
    "gsp": "version",
    "snapshots": "version",
    "history": "number",
    "receipts": "number",
}
DOCUMENTS_PER_READ: Final = 50  # documents looked up at once


class Imported(NamedTuple):
    """The outcome for a file's documents; `skipped` names those that the store has newer or otherwise."""

    fleet: str
    written: int
    unchanged: int
    skipped: list[str]


async def import_fleet(store: Store, fleet_id: str, file: Path, *, overwrite: bool, step: CountProgress) -> Imported:
    """Put a file's documents into the fleet; nothing is written unless every line is right.

    Running it again, or after it was killed, writes only missing documents. A document that the store has
    in a newer or another version is skipped and named, unless `overwrite`. A program and its pages are written at once.
    Raises InvalidArgumentError for a bad line.
    """
    lines = await to_thread.run_sync(read_lines, file)
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
    pages = paths.pages_of(str(first.fields["programId"])) if first.collection == "programs" else []
    return [Ref(paths.collection(first.collection), first.id), *pages]


def _commits(changes: Sequence[Sequence[Write]]) -> list[Sequence[Write]]:
    """Return writes in few commits; the several writes of one program are never split."""
    alone = batches(writes[0] for writes in changes if len(writes) == 1)
    return [*alone, *(writes for writes in changes if len(writes) > 1)]


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
