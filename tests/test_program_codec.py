"""A program's document: nothing of a program is lost in it."""

import json
import weakref
from dataclasses import replace

from fleet_memory.repositories.documents import iter_readable
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import (
    absent_program,
    changed_fields,
    pattern_key,
    versioned_program,
)
from fleet_memory.schemas.patterns import Source
from fleet_memory.schemas.programs import DecayConfig, Missing, Note, Program
from fleet_memory.stores import Document, Json
from tests.lessons import START, days, pattern, program

REF = FleetPaths("f1").program("basher")
FULL = program(
    pattern(
        id="p1",
        source=Source(connection="c1", client="claude-code", model="opus"),
        called_at=START + days(1),
    ),
    pattern("Another", id="p2", knowledge_keys=("pattern/ci/another",), stored_at=START + days(1)),
    pending=("p1", "gone"),
    run=7,
    shown={"9f86d081884c7d65": START},
    against={"pattern/ci/wrong": START},
    read_version=3,
    changes=5,
    decay=DecayConfig(max_age=10),
    context_summary={"a": [[1]]},
    config={"b.c": None},
    notes={"n1": Note(id="n1", text="Port 1", at=START)},
    notes_made=1,
    missing=(Missing(text="Which port does the proxy use?", times=2, at=START),),
    request_ids=("state r1",),
)


class Fields(dict[str, Json]):
    """Fields that can be watched, each for itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none, and a set of weak references needs one


def documents(names: list[str], alive: "weakref.WeakSet[Fields]") -> list[Document]:
    made = [(name, Fields(programId=name, patterns={}, changes=0)) for name in names]
    alive.update(fields for _, fields in made)
    return [Document(FleetPaths("f1").program(name), fields, "1") for name, fields in made]


def document(whole: Program) -> Document:
    return Document(REF, stored({}, changed_fields(absent_program(whole.program_id), whole)), "1")


def stored(before: dict[str, Json], change: dict[str, Json]) -> dict[str, Json]:
    """Return the fields of a document after a write, as an engine leaves them, through JSON."""
    after = json.loads(json.dumps(before))
    for name, value in change.items():
        place, _, key = name.rpartition(".")
        target = after.setdefault(place, {}) if place else after
        target[key] = value
        if value is None:
            del target[key]
    return dict(after)


def test_a_program_comes_back_as_it_was_and_its_counts_can_be_asked_for() -> None:
    assert versioned_program(document(FULL)).program == FULL
    fields = document(FULL).fields
    asked = {
        name: fields[name]
        for name in ("pending", "waiting", "dirty", "run", "readVersion", "stored")
    }
    assert asked == {
        "pending": 1,
        "waiting": {pattern_key("gone"): "gone", pattern_key("p1"): "p1"},
        "dirty": True,
        "run": 7,
        "readVersion": 3,
        "stored": True,
    }


def test_a_change_writes_the_fields_and_the_entries_that_differ() -> None:
    before = versioned_program(document(FULL))
    assert changed_fields(before, replace(before.program)) == {}
    considered = replace(before.program, pending=(), run=8)
    assert changed_fields(before, considered) == {
        "run": 8,
        "pending": 0,
        "dirty": False,
        f"waiting.{pattern_key('gone')}": None,
        f"waiting.{pattern_key('p1')}": None,
    }
    new = pattern("New", id="p3", stored_at=START + days(2))
    patterns = {id_: lesson for id_, lesson in before.program.patterns.items() if id_ != "p2"} | {
        "p3": new
    }
    stored_another = replace(
        before.program, patterns=patterns, pending=(*before.program.pending, "p2", "p3")
    )
    assert changed_fields(before, stored_another) == {
        "pending": 2,
        f"waiting.{pattern_key('p2')}": "p2",
        f"waiting.{pattern_key('p3')}": "p3",
        f"patterns.{pattern_key('p2')}": None,
        f"patterns.{pattern_key('p3')}": new.compact(),
    }


def test_a_document_is_let_go_once_its_program_was_read() -> None:
    alive: weakref.WeakSet[Fields] = weakref.WeakSet()
    programs = iter_readable(documents(["a", "b", "c"], alive), versioned_program)
    seen = [(versioned.program.program_id, len(alive)) for versioned in programs]
    assert seen == [("a", 2), ("b", 1), ("c", 0)]


def test_the_list_that_was_given_stays_as_it_was() -> None:
    given = documents(["a", "b"], weakref.WeakSet())
    before = list(given)
    assert len(list(iter_readable(given, versioned_program))) == 2
    assert given == before


def test_the_program_of_no_document_is_empty() -> None:
    assert absent_program("basher").program == Program(program_id="basher")
