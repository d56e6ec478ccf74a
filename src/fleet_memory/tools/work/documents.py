"""The documents of work: one board of claims, a record for each hand-over, its output beside it.

A record, its output, the flags that it sets and what it does to the board are one commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.errors import CapacityExceededError
from fleet_memory.fleet import Fleet, Writer
from fleet_memory.repositories.retrying import commit_settled
from fleet_memory.schemas.value import Value
from fleet_memory.stores import ABSENT, Json, Query, Ref, Scalar, Write, document_bytes, document_id
from fleet_memory.tools.work.rules import (
    KEEP_EXPIRED,
    MAX_BOARD_BYTES,
    MAX_CLAIMS,
    Board,
    Claim,
    Flag,
    Record,
)

BOARD, RECORDS, OUTPUTS, ARCHIVE = "work", "workRecords", "workOutputs", "workArchive"
BOARD_NAME: Final = "the claims of work"
MAX_ARCHIVED_AT_ONCE: Final = 100  # records of one run of maintenance; chosen


class StoredBoard(NamedTuple):
    """The board as it was read, with its revision; `ABSENT` before the first claim."""

    board: Board
    revision: str


class StoredRecord(NamedTuple):
    """A record as it was read, with where it is and its revision."""

    record: Record
    ref: Ref
    revision: str


@dataclass(frozen=True)
class WorkStore:
    """The documents of work of one fleet."""

    fleet: Fleet

    def ref(self, collection: str, id_: str) -> Ref:
        """Return where a document is."""
        return Ref(self.fleet.paths.collection(collection), id_)

    @property
    def board_ref(self) -> Ref:
        """The reference of the board."""
        return self.ref(BOARD, "board")

    async def board(self) -> StoredBoard:
        """Return the claims. Billed 1 read."""
        (document,) = await self.fleet.store.get(self.board_ref)
        if document is None:
            return StoredBoard(Board(), ABSENT)
        claims = document.fields.get("claims")
        stored = claims.items() if isinstance(claims, dict) else ()
        known = {key: Claim.from_fields(it) for key, it in stored if isinstance(it, dict)}
        return StoredBoard(Board(known, str(document.fields.get("newest", ""))), document.revision)

    async def find(self, where: Mapping[str, Scalar], limit: int) -> list[Record]:
        """Return the newest records with these fields, the newest first. Billed 1 read each, at
        least 1.
        """
        query = Query(self.fleet.paths.collection(RECORDS), where, limit=limit)
        return [Record.from_fields(it.fields) for it in await self.fleet.store.find(query)]

    async def records(self, ids: Sequence[str]) -> dict[str, StoredRecord]:
        """Return records by their ids, archived ones too. Billed 1 read each, 2 if archived or
        unknown.
        """
        found = dict[str, StoredRecord]()
        for collection in (RECORDS, ARCHIVE):
            refs = [
                self.ref(collection, document_id(id_))
                for id_ in dict.fromkeys(ids)
                if id_ not in found
            ]
            for document in await self.fleet.store.get(*refs) if refs else ():
                if document is not None:
                    record = Record.from_fields(document.fields)
                    stored = StoredRecord(record, document.ref, document.revision)
                    found[record.record_id] = stored
        return found

    async def output(self, record: Record) -> str | None:
        """Return a record's stored output, else None. Billed 1 read."""
        if record.bytes is None:
            return None
        (document,) = await self.fleet.store.get(self.ref(OUTPUTS, record.record_id))
        return str(document.fields["text"]) if document else None

    def board_writes(self, stored: StoredBoard, after: Board) -> list[Write]:
        """Return the write of the board after a call; none if it did not change."""
        before, was = stored.board, stored.board.claims
        fields: dict[str, Json] = {"newest": after.newest} if after.newest != before.newest else {}
        if stored.revision == ABSENT:
            fields["claims"] = {key: stored_fields(it) for key, it in after.claims.items()}
        else:
            for key in was.keys() | after.claims.keys():
                if (claim := after.claims.get(key)) != was.get(key):
                    fields[f"claims.{key}"] = stored_fields(claim) if claim else None
        return [Write(self.board_ref, fields, stored.revision)] if fields else []

    def record_writes(self, record: Record, output: str | None) -> list[Write]:
        """Return the writes of a new record and its output."""
        ref = self.ref(RECORDS, record.record_id)
        writes = [Write(ref, stored_fields(record), ABSENT)]
        if output:
            kept: dict[str, Json] = {"programId": record.by, "text": output}
            writes.append(Write(self.ref(OUTPUTS, record.record_id), kept, ABSENT))
        return writes

    def mark(
        self, stored: StoredRecord, flags: Mapping[str, Flag], *, withdraw: bool, taken_up: bool
    ) -> Write:
        """Return the write that flags or withdraws a record, or ends its waiting."""
        fields: dict[str, Json] = {"withdrawn": True} if withdraw else {}
        wires: dict[str, Json] = {id_: stored_fields(flag) for id_, flag in flags.items()}
        if stored.record.flags:
            fields |= {f"flags.{id_}": wire for id_, wire in wires.items()}
        elif wires:
            fields["flags"] = wires
        if taken_up:
            fields["waitsFor"] = None
        return Write(stored.ref, fields, stored.revision)

    async def commit(self, writes: Sequence[Write]) -> None:
        """Commit all or none; a lost answer is settled by the documents."""
        if writes:
            await commit_settled(self.fleet.store, *writes)


def stored_fields(value: Value) -> dict[str, Json]:
    """Return a value's stored fields, with a `programId` beside each `by`, which a purge finds."""
    return _with_programs(value.wire())


def _with_programs(value: Mapping[str, Json]) -> dict[str, Json]:
    def named(item: Json) -> Json:
        if isinstance(item, list):
            return [named(each) for each in item]
        if not isinstance(item, dict):
            return item
        return _with_programs(item)

    fields = {name: named(it) for name, it in value.items()}
    return fields | ({"programId": value["by"]} if "by" in value else {})


def board_with_room(board: Board, now: datetime) -> Board:
    """Drop the longest expired claims until the board fits one document. Raises
    CapacityExceededError when the live ones do not fit.
    """
    claims = dict(board.claims)
    expired = sorted((it.until, key) for key, it in claims.items() if it.until <= now)
    for _, key in [*expired, (now, "")]:
        wires = {name: stored_fields(claim) for name, claim in claims.items()}
        if len(claims) <= MAX_CLAIMS and document_bytes(wires) <= MAX_BOARD_BYTES:
            return board._replace(claims=claims)
        claims.pop(key, None)
    raise CapacityExceededError(
        f"The fleet's live claims, at most {MAX_CLAIMS}, have no room for another; nothing was "
        "claimed. Release what nobody works on (claim_work with release), or claim fewer paths."
    )


async def keep_in_order(fleet: Fleet, writer: Writer, keep_days: int) -> int:
    """Forget claims that expired long ago, and archive records of more than `keep_days` ago; return
    how many.
    """
    work, now = WorkStore(fleet), fleet.now()
    stored = await work.board()
    old = [key for key, it in stored.board.claims.items() if it.until + KEEP_EXPIRED <= now]
    fields: dict[str, Json] = {f"claims.{key}": None for key in old}
    changed = 0
    if old and await writer.try_commit(Write(work.board_ref, fields, stored.revision)):
        changed += len(old)
    oldest = Query(fleet.paths.collection(RECORDS), order="at", limit=MAX_ARCHIVED_AT_ONCE)
    for document in await fleet.store.find(oldest):
        if datetime.fromisoformat(str(document.fields["at"])) > now - timedelta(days=keep_days):
            break
        kept = Write(work.ref(ARCHIVE, document.ref.id), document.fields)
        gone = Write(document.ref, None, document.revision)
        changed += await writer.try_commit(gone, kept)
    return changed
