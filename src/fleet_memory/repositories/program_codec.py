"""A program's document: how the fields of a document become a program, and which fields a change of
one writes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias, TypeVar, cast

from fleet_memory.repositories.unreadable import UnreadableDocument, iter_readable
from fleet_memory.rules.curating import count_waiting
from fleet_memory.rules.lifecycle.paging import moved_out, outgoing, paged_lesson
from fleet_memory.rules.lifecycle.pruning import sweep_after
from fleet_memory.rules.lifecycle.stamping import in_order
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.rules.text.keys import digest
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Note, PagedLesson, Program
from fleet_memory.schemas.value import Value, codec
from fleet_memory.stores import ABSENT, Document, Json

_Texts: TypeAlias = Mapping[str, str]
_V = TypeVar("_V", bound=Value)


class VersionedProgram(NamedTuple):
    """A program as it was read, and the revision that a commit must expect (`ABSENT` when there is
    no document).

    `fields` are those of its document but the maps of `Entries`. `pages` are
    the revisions of its pages that were read, by number; `lost` are the lessons that its document
    names and no page has, by id: the next change forgets them. `outgoing` are the lessons on pages
    that still lie in its document, by id: a later change moves them.
    """

    program: Program
    revision: str
    fields: Mapping[str, Json] = {}
    pages: Mapping[int, str] = {}
    lost: Mapping[str, PagedLesson] = {}
    outgoing: Mapping[str, Pattern] = {}


class Entries(NamedTuple):
    """The lessons and the notes of a document by their keys in its maps, the oldest first; `paged`
    by their ids.
    """

    patterns: Mapping[str, Pattern] = {}
    notes: Mapping[str, Note] = {}
    paged: Mapping[str, PagedLesson] = {}


def versioned_program(document: Document) -> VersionedProgram:
    """Return the program in a document.

    Raises ValueError, KeyError, TypeError or AttributeError for fields of any other shape.
    """
    return program_in(document, decoded_entries(document))


def decoded_entries(document: Document, known: Entries | None = None) -> Entries:
    """Return the entries of a document; in place of each one that is stored as a `known` one, that
    one itself.

    Those that are not in `known` keep their stored texts. Raises the errors of `versioned_program`.
    """
    fields = document.fields
    patterns, notes = cast("_Texts", fields["patterns"]), cast("_Texts", fields.get("notes", {}))
    paged = cast("_Texts", fields.get("paged", {}))
    if known is None:
        return _in_order(
            {key: Pattern.from_json(text) for key, text in patterns.items()},
            {key: Note.from_json(text) for key, text in notes.items()},
            {key: PagedLesson.from_json(text) for key, text in paged.items()},
        )
    return _in_order(
        _decoded(Pattern, patterns, known.patterns),
        _decoded(Note, notes, known.notes),
        _decoded(PagedLesson, paged, known.paged),
    )


def _decoded(kind: type[_V], texts: Mapping[str, str], known: Mapping[str, _V]) -> dict[str, _V]:
    return {
        key: entry
        if (entry := known.get(key)) is not None and entry.stored_text == text
        else kind.from_stored(text)
        for key, text in texts.items()
    }


def _in_order(
    patterns: Mapping[str, Pattern], notes: Mapping[str, Note], paged: Mapping[str, PagedLesson]
) -> Entries:
    return Entries(
        {
            key: patterns[key]
            for *_, key in sorted([(each.stored_s, each.id, key) for key, each in patterns.items()])
        },
        dict(sorted(notes.items(), key=lambda entry: (entry[1].at, len(entry[1].id), entry[1].id))),
        dict(sorted(paged.items(), key=lambda entry: entry[1].id)),
    )


def program_in(document: Document, entries: Entries) -> VersionedProgram:
    """Return the program of a document with these entries. Raises the errors of
    `versioned_program`.
    """
    fields = document.fields
    patterns = {pattern.id: pattern for pattern in entries.patterns.values()}
    paged = {lesson.id: lesson for lesson in entries.paged.values()}
    leaving: dict[str, Pattern] = {}
    for key, page in _outgoing_pages(fields).items():
        if (pattern := entries.patterns.get(key)) and pattern.id not in paged:
            leaving[pattern.id] = patterns.pop(pattern.id)
            paged[pattern.id] = paged_lesson(pattern, page)
    if leaving:
        paged = dict(sorted(paged.items()))
    return VersionedProgram(
        Program.from_fields(
            {name: fields[name] for name in _PLAIN_FIELDS if fields.get(name) is not None}
            | {
                name: json.loads(text)
                for name in _TEXT_FIELDS
                if isinstance(text := fields.get(name), str)
            }
            | {
                "patterns": patterns,
                "paged": paged,
                "notes": {note.id: note for note in entries.notes.values()},
                "pending": in_order({*_waiting(fields).values()}, {**patterns, **paged}),
                "decay": DecayConfig.from_fields(
                    cast("dict[str, Json]", fields.get("decayConfig", {}))
                ),
            }
        ),
        document.revision,
        {name: value for name, value in fields.items() if name not in _ENTRY_FIELDS},
        outgoing=leaving,
    )


def _waiting(fields: Mapping[str, Json]) -> Mapping[str, str]:
    return cast("Mapping[str, str]", fields.get("waiting", {}))


def _outgoing_pages(fields: Mapping[str, Json]) -> Mapping[str, int]:
    """Return the pages of the lessons that still lie in the document, by their keys in its map."""
    return cast("Mapping[str, int]", fields.get("outgoing", {}))


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
_ENTRY_FIELDS: Final = ("patterns", "notes", "paged")
_MAP_FIELDS: Final = (*_ENTRY_FIELDS, "waiting")
_TEXT_FIELDS: Final = (
    "contextSummary",
    "config",
    "baselines",
    "shown",
    "asked",
    "against",
    "missing",
)


def iter_versioned_programs(
    documents: Iterable[Document], unreadable: list[UnreadableDocument] | None = None
) -> Iterator[VersionedProgram]:
    """Yield the programs of these documents, each document let go before the next; see
    `iter_readable`.
    """
    return iter_readable(documents, versioned_program, unreadable)


def pattern_key(pattern_id: str) -> str:
    """Return the key of a lesson in the maps of a document."""
    return "k" + digest(pattern_id)  # safe in a field path, for any id


def changed_fields(before: VersionedProgram, after: Program) -> dict[str, Json]:
    """Return the fields that the document has not or otherwise, and the entries of its maps; None
    removes one.
    """
    state = {**_state(after), **_derived(after)}
    fields = {name: value for name, value in state.items() if before.fields.get(name) != value}
    leaving = outgoing_lessons(before, after)
    fields |= _outgoing_fields(
        _outgoing_pages(before.fields), {pattern_key(id_): after.paged[id_].page for id_ in leaving}
    )
    fields |= _waiting_fields(_waiting(before.fields), frozenset(after.pending))
    fields |= _entry_fields(
        "patterns",
        pattern_key,
        {**before.program.active, **before.outgoing},
        {**after.active, **leaving},
    )
    paged = {**moved_out(before.program.paged, before.outgoing), **before.lost}
    fields |= _entry_fields(
        "paged", pattern_key, paged, moved_out(_paged(before.program, after), leaving)
    )
    fields |= _entry_fields("notes", str, before.program.notes, after.notes)
    return _with_whole_maps(fields) if before.revision == ABSENT else fields


def outgoing_lessons(before: VersionedProgram, after: Program) -> Mapping[str, Pattern]:
    """Return the lessons on pages that a change leaves in the program's document, by id."""
    return outgoing({**before.program.active, **before.outgoing}, after) if after.paged else {}


def _waiting_fields(before: Mapping[str, str], after: frozenset[str]) -> dict[str, Json]:
    gone: dict[str, Json] = dict.fromkeys(
        f"waiting.{key}" for key, id_ in before.items() if id_ not in after
    )
    return gone | {f"waiting.{pattern_key(id_)}": id_ for id_ in after.difference(before.values())}


def _outgoing_fields(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, Json]:
    gone: dict[str, Json] = dict.fromkeys(f"outgoing.{key}" for key in before.keys() - after.keys())
    return gone | {
        f"outgoing.{key}": page for key, page in after.items() if before.get(key) != page
    }


def _entry_fields(
    name: str, key: Callable[[str], str], before: Mapping[str, Value], after: Mapping[str, Value]
) -> dict[str, Json]:
    gone: dict[str, Json] = dict.fromkeys(
        f"{name}.{key(id_)}" for id_ in before.keys() - after.keys()
    )
    return gone | {
        f"{name}.{key(id_)}": entry.stored_text
        for id_, entry in changed_entries(before, after).items()
    }


def changed_entries(before: Mapping[str, _V], after: Mapping[str, _V]) -> dict[str, _V]:
    """Return the entries, lessons or notes, that are new or replaced."""
    return {id_: entry for id_, entry in after.items() if before.get(id_) is not entry}


def _with_whole_maps(fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a document that is not there yet: no entry can be set in a map that is
    not.
    """
    maps: dict[str, dict[str, Json]] = {name: {} for name in _MAP_FIELDS}
    for name, value in fields.items():
        place, _, key = name.rpartition(".")
        if place:
            maps[place][key] = value
    return {name: value for name, value in fields.items() if "." not in name} | cast(
        "dict[str, Json]", maps
    )


def _paged(before: Program, after: Program) -> dict[str, PagedLesson]:
    """Return the lessons on pages as they are known now: a lesson may have changed on its page."""
    changed = changed_entries(before.patterns, after.patterns)
    return {
        id_: paged_lesson(changed[id_], lesson.page) if id_ in changed else lesson
        for id_, lesson in after.paged.items()
    }


def document_size(program: Program) -> int:
    """Return the bytes that a program takes as a document, names of fields and search vectors
    aside.
    """
    lessons = sum([pattern.bytes_without_search for pattern in program.active.values()])
    others = sum(
        [entry.stored_bytes for entry in (*program.paged.values(), *program.notes.values())]
    )
    return size((_state(program), program.pending)) + lessons + others


def _state(program: Program) -> Mapping[str, Json]:
    """Return every field of the document but its maps and those that are derived; made once of a
    program.

    Maps of any names and lists of objects are stored as text: engines have words and indexes of
    their own.
    """
    if _STATE not in program.__dict__:
        program.__dict__[_STATE] = _made_state(program)  # as `cached_property` keeps it
    return cast("Mapping[str, Json]", program.__dict__[_STATE])


def _made_state(program: Program) -> Mapping[str, Json]:
    wire = cast(
        "dict[str, Json]",
        codec(Program).dump_python(program, mode="json", by_alias=True, include=_WIRE),
    )
    texts: dict[str, Json] = {
        name: json.dumps(wire[name], separators=(",", ":"), ensure_ascii=False)
        for name in _TEXT_FIELDS
    }
    return (
        {name: wire[name] for name in _PLAIN_FIELDS} | texts | {"decayConfig": program.decay.wire()}
    )


def _derived(program: Program) -> dict[str, Json]:
    """Return the fields that are there for queries: `pending` counts the pending lessons that are
    still here.

    `sweepAfter` is in seconds since 1970.
    """
    return {
        "pending": count_waiting(program),
        "dirty": bool(program.pending),
        "stored": program.exists,
        "sweepAfter": sweep_after(program),
    }


_STATE: Final = "stored_state"
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
