"""A program's document: how the fields of a document become a program, and which fields a change of one writes."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, cast

from fleet_memory.repositories.unreadable import UnreadableDocument, iter_readable
from fleet_memory.repositories.version_before import is_program_before, verdicts_text
from fleet_memory.rules.knowledge.freshness import count_waiting
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.rules.lifecycle.pruning import sweep_after
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Note, PagedLesson, Program
from fleet_memory.schemas.value import Value, codec
from fleet_memory.stores import ABSENT, Document, Json


class VersionedProgram(NamedTuple):
    """A program as it was read, and the revision that a commit must expect (`ABSENT` when there is no document).

    `verdicts_before`: the verdicts that the version before stored on its patterns, "" for none; they survive changes.
    `pages` are the revisions of its pages that were read, by number.
    """

    program: Program
    revision: str
    verdicts_before: str = ""
    pages: Mapping[int, str] = {}


def versioned_program(document: Document) -> VersionedProgram:
    """Return the program in a document.

    Documents of the version before are read too: they have `knowledgeSeen` for `readVersion`, fields that are ignored
    here, and patterns without a source. Raises ValueError, KeyError, TypeError or AttributeError for any other shape.
    """
    fields = document.fields
    patterns = [Pattern.from_json(str(text)) for text in cast("dict[str, Json]", fields["patterns"]).values()]
    notes = [Note.from_json(str(text)) for text in cast("dict[str, Json]", fields.get("notes", {})).values()]
    paged = [PagedLesson.from_json(str(text)) for text in cast("dict[str, Json]", fields.get("paged", {})).values()]
    return VersionedProgram(
        Program.from_fields(
            {"readVersion": fields.get("knowledgeSeen", 0)}
            | {name: fields[name] for name in _PLAIN_FIELDS if fields.get(name) is not None}
            | {name: json.loads(text) for name in _TEXT_FIELDS if isinstance(text := fields.get(name), str)}
            | {
                "patterns": {pattern.id: pattern for pattern in sorted(patterns, key=lambda p: (p.stored_at, p.id))},
                "notes": {note.id: note for note in sorted(notes, key=lambda n: (n.at, len(n.id), n.id))},
                "paged": {lesson.id: lesson for lesson in paged},
                "pending": fields.get("pendingIds", ()),
                "decay": DecayConfig.from_fields(cast("dict[str, Json]", fields.get("decayConfig", {}))),
            }
        ),
        document.revision,
        verdicts_text(fields) if is_program_before(fields) else "",
    )


def absent_program(program_id: str) -> VersionedProgram:
    """Return the empty program of an id that has no document."""
    return VersionedProgram(Program(program_id=program_id), ABSENT)


_PLAIN_FIELDS: Final = (
    "programId",
    "run",
    "readVersion",
    "commits",
    "changes",
    "lastUpdate",
    "requestIds",
    "judgedAt",
    "stateVersion",
    "summaries",
    "notesMade",
    "sessions",
)
_TEXT_FIELDS: Final = ("contextSummary", "config", "baselines", "shown", "asked", "against", "missing")
_DERIVED_FIELDS: Final = ("pending", "dirty", "stored", "sweepAfter")


def iter_versioned_programs(
    documents: Iterable[Document], unreadable: list[UnreadableDocument] | None = None
) -> Iterator[VersionedProgram]:
    """Yield the programs of these documents, each document let go before the next; see `iter_readable`."""
    return iter_readable(documents, versioned_program, unreadable)


def pattern_key(pattern_id: str) -> str:
    """Return the key of a lesson in the maps of documents, safe in a field path for any id."""
    return "k" + digest(pattern_id)


def changed_fields(before: VersionedProgram, after: Program) -> dict[str, Json]:
    """Return the top-level fields, and the entries of the maps `patterns` and `notes`, that differ."""
    if before.revision == ABSENT:
        patterns = {pattern_key(id_): pattern.stored_text for id_, pattern in after.active.items()}
        paged = {pattern_key(id_): lesson.stored_text for id_, lesson in after.paged.items()}
        notes = {id_: note.stored_text for id_, note in after.notes.items()}
        return {
            **_state(after),
            "patterns": cast("Json", patterns),
            "notes": cast("Json", notes),
            "paged": cast("Json", paged),
        }
    old, new = _state(before.program), _state(after)
    fields = {name: value for name, value in new.items() if old[name] != value}
    fields |= _changed_entries("patterns", pattern_key, before.program.active, after.active)
    fields |= _changed_entries("paged", pattern_key, before.program.paged, _paged(before.program, after))
    fields |= _changed_entries("notes", str, before.program.notes, after.notes)
    # Another version may have derived them otherwise, so the document's own are not those of `before`.
    kept: dict[str, Json] = {"verdictsBefore": before.verdicts_before} if before.verdicts_before else {}
    return fields | {name: new[name] for name in _DERIVED_FIELDS} | kept if fields else {}


def _paged(before: Program, after: Program) -> dict[str, PagedLesson]:
    """Return the lessons on pages as they are known now: a lesson may have changed on its page."""
    return {
        id_: paged_lesson(one, lesson.page)
        if (one := after.patterns.get(id_)) and one is not before.patterns.get(id_)
        else lesson
        for id_, lesson in after.paged.items()
    }


def document_size(program: Program) -> int:
    """Return the bytes that a program takes as a document, names of fields aside."""
    entries = (*program.active.values(), *program.paged.values(), *program.notes.values())
    return size(_state(program)) + sum(entry.stored_bytes for entry in entries)


def _changed_entries(
    name: str, key: Callable[[str], str], before: Mapping[str, Value], after: Mapping[str, Value]
) -> dict[str, Json]:
    fields: dict[str, Json] = dict.fromkeys(f"{name}.{key(id_)}" for id_ in before.keys() - after.keys())
    changed = {id_: entry for id_, entry in after.items() if before.get(id_) is not entry}
    return fields | {f"{name}.{key(id_)}": entry.stored_text for id_, entry in changed.items()}


def _state(program: Program) -> dict[str, Json]:
    """Return every field of the document but the maps.

    `pending` counts the pending lessons that are still here. It, `dirty`, `stored` and `sweepAfter` (seconds since
    1970) are there for queries. Maps of any names and lists of objects are stored as text: engines have words and
    indexes of their own.
    """
    wire = cast("dict[str, Json]", codec(Program).dump_python(program, mode="json", by_alias=True, include=_WIRE))
    return (
        {name: wire[name] for name in _PLAIN_FIELDS}
        | {name: _text(wire[name]) for name in _TEXT_FIELDS}
        | {
            "pending": count_waiting(program),
            "pendingIds": list(program.pending),
            "dirty": bool(program.pending),
            "stored": program.exists,
            "sweepAfter": sweep_after(program),
            "decayConfig": program.decay.wire(),
        }
    )


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_WIRE: Final = {
    "program_id",
    "run",
    "read_version",
    "commits",
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
