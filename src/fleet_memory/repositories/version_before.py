"""Documents of the version before, as values of this one. It merged lessons by numbers and counted
lessons as votes.

It stored an entry's state in `status` and `contradictions`, and a verdict about two lessons on each
of them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple, cast

from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.rules.consensus.merged import with_bases
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, LedgerLine, Word
from fleet_memory.schemas.value import Value
from fleet_memory.stores import Document, Json, Ref, Store

MAX_LINES: Final = 20  # ids of ledger lines in an entry
ENTRY_FIELDS_BEFORE: Final = ("status", "contradictions", "requestIds")
_ROW_FIELDS_BEFORE: Final = (
    '"status":',
    '"contradictedBy":',
)  # in a text of a row its quotes would be escaped
PROGRAM_FIELDS_BEFORE: Final = (
    "knowledgeSeen",
    "touched",
    "retired",
    "verdictsBefore",
    "pendingIds",
)


class StoredVerdict(Value):
    """A judgement of two lessons as the version before stored it on each."""

    same: bool
    judge: str
    at: datetime
    reason: str = ""
    contributed: bool = False


class VerdictOnTexts(NamedTuple):
    """A stored verdict with the hashes of both texts."""

    words: str
    other_words: str
    verdict: StoredVerdict


def is_entry_before(fields: Mapping[str, Json]) -> bool:
    """Whether an entry's document is of the version before."""
    return "state" not in fields


def is_program_before(fields: Mapping[str, Json]) -> bool:
    """Whether a program's document is of the version before."""
    return "knowledgeSeen" in fields


def lines_to_read(paths: FleetPaths, fields: Mapping[str, Json]) -> list[Ref]:
    """Return the ledger lines that the conversion of an entry needs: its first, and its newest if
    it is retired.
    """
    version = fields.get("version", 1)
    newest = version if isinstance(version, int) else 1
    versions = {1, newest} if fields.get("status") == "retired" else {1}
    return [paths.ledger_line(_line_id(fields.get("key"), version)) for version in sorted(versions)]


def _line_id(key: Json, version: int) -> str:
    return f"{key}#{version}"


async def lines_of_documents(
    store: Store, paths: FleetPaths, documents: Iterable[Document | None]
) -> Mapping[Ref, Sequence[Document | None]]:
    """Return, by entry, the ledger lines that converting these documents needs. Billed at most 2
    reads an entry.
    """
    refs = {
        document.ref: lines_to_read(paths, document.fields)
        for document in documents
        if document and is_entry_before(document.fields)
    }
    every = [ref for lines in refs.values() for ref in lines]
    read = dict(zip(every, await store.get(*every), strict=True)) if every else {}
    return {ref: [read[line] for line in lines] for ref, lines in refs.items()}


def converted_entry(fields: Mapping[str, Json], lines: Sequence[Document | None] = ()) -> Entry:
    """Return the entry of a document without `state`; `lines` are the documents of `lines_to_read`.

    It was published at the time of its first ledger line, or at its last promotion where that line
    is missing. Each contradiction is its program's word. A contribution of other words than the
    entry's text is without a verdict. Raises ValueError, KeyError, TypeError or AttributeError for
    fields of any other shape.
    """
    ledger = [LedgerLine.from_fields(line.fields) if line else None for line in lines]
    against = cast("list[dict[str, Json]]", fields.get("contradictions", []))
    words = [Word.from_fields({**word, "outcome": "contradicted"}) for word in against]
    entry = Entry.from_fields({**fields, "unpublished": True})
    first = ledger[0] if ledger else None
    return with_bases(
        replace(
            entry,
            words=tuple(sorted(words, key=lambda word: (word.at, word.program_id))),
            published_at=first.at if first else entry.value.last_promoted,
            retired_at=_retired_at(entry, ledger, words)
            if fields.get("status") == "retired"
            else None,
            ledger=tuple(
                _line_id(entry.key, number)
                for number in range(max(1, entry.version - MAX_LINES + 1), entry.version + 1)
            ),
        )
    )


def _retired_at(
    entry: Entry, ledger: Sequence[LedgerLine | None], words: Sequence[Word]
) -> datetime:
    retirements = [line.at for line in ledger if line and line.event == "retired"]
    return max(retirements or [word.at for word in words] or [entry.last_confirmed])


def stored_verdicts(fields: Mapping[str, Json]) -> list[VerdictOnTexts]:
    """Return the verdicts in a program's document: on its patterns, and those saved when a pattern
    changed since.
    """
    patterns = cast("dict[str, Json]", fields["patterns"]).values()
    return [
        *_kept_verdicts(fields),
        *(verdict for text in patterns for verdict in _verdicts_on(json.loads(str(text)))),
    ]


def _kept_verdicts(fields: Mapping[str, Json]) -> list[VerdictOnTexts]:
    verdicts = cast("list[dict[str, Json]]", json.loads(str(fields.get("verdictsBefore") or "[]")))
    return [
        VerdictOnTexts(
            str(verdict["words"]), str(verdict["otherWords"]), StoredVerdict.from_fields(verdict)
        )
        for verdict in verdicts
    ]


def _verdicts_on(pattern: Mapping[str, Json]) -> list[VerdictOnTexts]:
    verdicts = cast("dict[str, dict[str, Json]]", pattern.get("verdicts") or {})
    words = text_hash(str(pattern["pattern"]))
    return [
        VerdictOnTexts(words, other, StoredVerdict.from_fields(verdict))
        for other, verdict in verdicts.items()
    ]


def verdicts_text(fields: Mapping[str, Json]) -> str:
    """Return the verdicts of an old program as one text, "" for none, stored until the
    migration.
    """
    rows = [
        {"words": a, "otherWords": b, **verdict.wire()} for a, b, verdict in stored_verdicts(fields)
    ]
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False) if rows else ""


def stored_row(line: str) -> KnowledgeRow:
    """Return the row of a snapshot's line. Raises ValueError for a line of any other shape."""
    if not any(mark in line for mark in _ROW_FIELDS_BEFORE):
        return KnowledgeRow.from_stored(line)
    fields: dict[str, Json] = json.loads(line)
    if fields.get("status") == "retired":
        return KnowledgeRow.from_fields(fields | {"state": "retired"})
    return KnowledgeRow.from_fields(
        fields | ({"state": "contested"} if fields.get("contradictedBy") else {})
    )
