"""Programs are read from documents without keeping both in memory."""

import weakref

from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.program_codec import iter_versioned_programs
from fleet_memory.stores import Document, Json


class Fields(dict[str, Json]):
    """Fields that can be watched, each for itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none, and a set of weak references needs one


def documents(names: list[str], alive: "weakref.WeakSet[Fields]") -> list[Document]:
    made = [(name, Fields(programId=name, patterns={}, changes=0)) for name in names]
    alive.update(fields for _, fields in made)
    return [Document(FleetPaths("f1").program(name), fields, "1") for name, fields in made]


def test_a_document_is_let_go_once_its_program_was_read() -> None:
    alive: weakref.WeakSet[Fields] = weakref.WeakSet()
    programs = iter_versioned_programs(documents(["a", "b", "c"], alive))
    seen = [(versioned.program.program_id, len(alive)) for versioned in programs]
    assert seen == [("a", 3), ("b", 2), ("c", 1)]


def test_the_list_that_was_given_stays_as_it_was() -> None:
    given = documents(["a", "b"], weakref.WeakSet())
    before = list(given)
    assert len(list(iter_versioned_programs(given))) == 2
    assert given == before
