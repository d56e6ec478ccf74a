"""A program's document: how the fields of a document become a program, and which fields a change of
one writes.
"""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeVar, cast

from fleet_memory.rules.lifecycle.stamping import in_order
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Note, Program
from fleet_memory.schemas.value import Value, codec
from fleet_memory.stores import ABSENT, Document, Json

_V = TypeVar("_V", bound=Value)


class VersionedProgram(NamedTuple):
    """A program as it was read, and the revision that a commit must expect (`ABSENT` when there is
    no document).

    `fields` are those of its document but the lessons and the notes.
    """

    program: Program
    revision: str
    fields: Mapping[str, Json] = {}


def versioned_program(document: Document, known: Program | None = None) -> VersionedProgram:
    """Return the program in a document. Lessons and notes of `known` in the same stored text are
    the same objects.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    fields = document.fields
    patterns = _decoded(Pattern, fields["patterns"], known.patterns if known else {})
    notes = _decoded(Note, fields.get("notes", {}), known.notes if known else {})
    patterns.sort(key=lambda pattern: (pattern.stored_s, pattern.id))
    notes.sort(key=lambda note: (note.at, len(note.id), note.id))
    lessons = {pattern.id: pattern for pattern in patterns}
    plain = {name: fields[name] for name in _PLAIN_FIELDS if fields.get(name) is not None}
    texts = {
        name: json.loads(text) for name in _TEXT_FIELDS if isinstance(text := fields.get(name), str)
    }
    decay = DecayConfig.from_fields(cast("dict[str, Json]", fields.get("decayConfig", {})))
    program = Program.from_fields(
        {
            **plain,
            **texts,
            "patterns": lessons,
            "notes": {note.id: note for note in notes},
            "pending": in_order({*_waiting(fields).values()}, lessons),
            "decay": decay,
        }
    )
    others = {name: value for name, value in fields.items() if name not in _ITEM_FIELDS}
    return VersionedProgram(program, document.revision, others)


def _decoded(kind: type[_V], stored: Json, known: Mapping[str, _V]) -> list[_V]:
    texts = cast("Mapping[str, str]", stored).values()
    if not known:
        return [kind.from_json(text) for text in texts]
    by_text = {value.stored_text: value for value in known.values()}
    return [by_text.get(text) or kind.from_stored(text) for text in texts]


def _waiting(fields: Mapping[str, Json]) -> Mapping[str, str]:
    return cast("Mapping[str, str]", fields.get("waiting", {}))


def absent_program(program_id: str) -> VersionedProgram:
    """Return the empty program of an id that has no document."""
    return VersionedProgram(Program(program_id=program_id), ABSENT)


_PLAIN_FIELDS: Final = (
    "programId",
    "run",
    "readVersion",
    "readFirst",
    "readLast",
    "shownDroppedAt",
    "changes",
    "lastUpdate",
    "requestIds",
    "judgedAt",
    "stateVersion",
    "summaries",
    "notesMade",
    "sessions",
)
_ITEM_FIELDS: Final = ("patterns", "notes")
_TEXT_FIELDS: Final = (
    "contextSummary",
    "config",
    "baselines",
    "shown",
    "asked",
    "against",
    "missing",
)


def pattern_key(pattern_id: str) -> str:
    """Return the key of a lesson in the maps of a document."""
    return "k" + digest(pattern_id)  # safe in a field path, for any id


def changed_fields(before: VersionedProgram, after: Program) -> dict[str, Json]:
    """Return the fields that the document has not or otherwise, and the items of its maps; None
    removes one.
    """
    known, new = before.program, {**_state(after), **_derived(after)}
    fields: dict[str, Json] = {
        name: value for name, value in new.items() if before.fields.get(name) != value
    }
    waiting = {f"waiting.{key}": id_ for key, id_ in _waiting(before.fields).items()}
    pending = {f"waiting.{pattern_key(id_)}": id_ for id_ in after.pending}
    fields |= _changed_items(waiting, pending)
    for name, key, old, items in (
        ("patterns", pattern_key, known.patterns, after.patterns),
        ("notes", str, known.notes, after.notes),
    ):
        changed = {f"{name}.{key(id_)}": None for id_ in old.keys() - items.keys()}
        fields |= changed | {
            f"{name}.{key(id_)}": item.stored_text
            for id_, item in items.items()
            if old.get(id_) is not item
        }
    return _with_whole_maps(fields) if before.revision == ABSENT else fields


def _changed_items(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Json]:
    gone: dict[str, Json] = dict.fromkeys(before.keys() - after.keys())
    return gone | {key: value for key, value in after.items() if before.get(key) != value}


def _with_whole_maps(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a document that is not there yet: no item can be set in a map that is
    not.
    """
    maps: dict[str, dict[str, Json]] = {"patterns": {}, "notes": {}, "waiting": {}}
    for name, value in fields.items():
        place, _, key = name.rpartition(".")
        if place:
            maps[place][key] = value
    return {name: value for name, value in fields.items() if "." not in name} | cast(
        "dict[str, Json]", maps
    )


def document_size(program: Program) -> int:
    """Return the bytes that a program takes as a document, names of fields aside."""
    items = (*program.patterns.values(), *program.notes.values())
    state = _json((_state(program), program.pending))
    return len(state.encode()) + sum(item.stored_bytes for item in items)


def _state(program: Program) -> Mapping[str, Json]:
    """Return every field of the document but its maps and those that are derived.

    Maps of any names and lists of objects are stored as text: engines have words and indexes of
    their own.
    """
    wire = cast(
        "dict[str, Json]",
        codec(Program).dump_python(program, mode="json", by_alias=True, include=_WIRE),
    )
    texts: dict[str, Json] = {name: _json(wire[name]) for name in _TEXT_FIELDS}
    return (
        {name: wire[name] for name in _PLAIN_FIELDS} | texts | {"decayConfig": program.decay.wire()}
    )


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _derived(program: Program) -> dict[str, Json]:
    """Return the fields that are there for queries: `pending` counts the pending lessons that are
    still here.
    """
    return {
        "pending": program.waiting,
        "dirty": bool(program.pending),
        "stored": program.exists,
    }


_WIRE: Final = {
    "program_id",
    "run",
    "read_version",
    "read_first",
    "read_last",
    "shown_dropped_at",
    "changes",
    "last_update",
    "request_ids",
    "state_version",
    "summaries",
    "notes_made",
    "sessions",
    "context_summary",
    "config",
    "baselines",
    "shown",
    "asked",
    "judged_at",
    "against",
    "missing",
}
