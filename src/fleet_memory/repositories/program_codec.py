"""A program's document: how the fields of a document become a program, and which fields a change of one writes."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, cast

from fleet_memory.rules.lifecycle.pruning import sweep_after
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Note, Program
from fleet_memory.schemas.value import Value, codec
from fleet_memory.stores import ABSENT, Document, Json


class VersionedProgram(NamedTuple):
    """A program as it was read, and the revision that a commit must expect (`ABSENT` when there is no document)."""

    program: Program
    revision: str


def versioned_program(program_id: str, document: Document | None, known: Program | None = None) -> VersionedProgram:
    """Return the program that a document holds; an empty one for None; `known` if no agent changed that since."""
    if document is None:
        return VersionedProgram(Program(program_id=program_id), ABSENT)
    fields = document.fields
    if known is not None and fields["changes"] == known.changes:
        return VersionedProgram(known, document.revision)
    state = {name: _object(fields.get(name)) for name in ("contextSummary", "config", "baselines")}
    patterns = [Pattern.from_json(str(text)) for text in cast("dict[str, Json]", fields["patterns"]).values()]
    notes = [Note.from_json(str(text)) for text in cast("dict[str, Json]", fields.get("notes", {})).values()]
    return VersionedProgram(
        Program.from_fields(
            {name: value for name, value in fields.items() if name in _PLAIN_FIELDS and value is not None}
            | state
            | {
                "patterns": {pattern.id: pattern for pattern in sorted(patterns, key=lambda p: (p.stored_at, p.id))},
                "notes": {note.id: note for note in sorted(notes, key=lambda n: (n.at, len(n.id), n.id))},
                "pending": fields.get("pendingIds", ()),
                "touched": fields.get("touched", ()),
                "retired": fields.get("retired", ()),
                "decay": DecayConfig.from_fields(cast("dict[str, Json]", fields.get("decayConfig", {}))),
            }
        ),
        document.revision,
    )


def _object(text: Json) -> Json:
    return cast("Json", json.loads(text)) if isinstance(text, str) else {}  # a map there was empty, see `_state`


_PLAIN_FIELDS: Final = frozenset(
    {
        "programId",
        "knowledgeSeen",
        "changes",
        "lastUpdate",
        "requestIds",
        "stateVersion",
        "summaries",
        "notesMade",
        "sessions",
    }
)


def iter_versioned_programs(documents: Iterable[Document]) -> Iterator[VersionedProgram]:
    """Yield the programs of these documents, and let go of each document before the next: both take much memory."""
    left = deque(documents)
    del documents
    while left:
        document = left.popleft()
        yield versioned_program(str(document.fields["programId"]), document)


def _pattern_key(pattern_id: str) -> str:
    return "k" + digest(pattern_id)  # safe in a field path, whatever the id


def changed_fields(before: VersionedProgram, after: Program) -> dict[str, Json]:
    """Return the top-level fields, and the entries of the maps `patterns` and `notes`, that differ."""
    if before.revision == ABSENT:
        patterns = {_pattern_key(id_): pattern.compact() for id_, pattern in after.patterns.items()}
        notes = {id_: note.compact() for id_, note in after.notes.items()}
        return {**_state(after), "patterns": cast("Json", patterns), "notes": cast("Json", notes)}
    old, new = _state(before.program), _state(after)
    fields = {name: value for name, value in new.items() if old[name] != value}
    fields |= _changed_entries("patterns", _pattern_key, before.program.patterns, after.patterns)
    return fields | _changed_entries("notes", str, before.program.notes, after.notes)


def document_size(program: Program) -> int:
    """Return the bytes that a program takes as a document, names of fields aside."""
    entries = (*program.patterns.values(), *program.notes.values())
    return size(_state(program)) + sum(len(entry.compact().encode()) for entry in entries)


def _changed_entries(
    name: str, key: Callable[[str], str], before: Mapping[str, Value], after: Mapping[str, Value]
) -> dict[str, Json]:
    fields: dict[str, Json] = dict.fromkeys(f"{name}.{key(id_)}" for id_ in before.keys() - after.keys())
    changed = {id_: entry for id_, entry in after.items() if before.get(id_) is not entry}
    return fields | {f"{name}.{key(id_)}": entry.compact() for id_, entry in changed.items()}


def _state(program: Program) -> dict[str, Json]:
    """Return every field of the document but the maps.

    `dirty`, `stored` and `sweepAfter` (seconds since 1970) are there to be asked for. What agents shape themselves is
    kept as text: engines refuse a list in a list and have words of their own.
    """
    wire = cast("dict[str, Json]", codec(Program).dump_python(program, mode="json", by_alias=True, include=_STATE))
    return wire | {
        "pending": len(program.pending),
        "pendingIds": list(program.pending),
        "touched": list(program.touched),
        "retired": list(program.retired),
        "sweepAfter": sweep_after(program),
        "dirty": bool(program.pending or program.touched),
        "stored": program.exists,
        "contextSummary": _text(program.context_summary),
        "config": _text(program.config),
        "baselines": _text(program.baselines),
        "decayConfig": program.decay.wire(),
    }


def _text(value: Mapping[str, object]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_STATE: Final = {
    "program_id",
    "knowledge_seen",
    "changes",
    "last_update",
    "request_ids",
    "state_version",
    "summaries",
    "notes_made",
    "sessions",
}
