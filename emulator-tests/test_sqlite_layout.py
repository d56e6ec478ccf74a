"""How documents lie in rows: any changes leave the parts that the document is read from, and its
size.
"""

import json
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_memory.stores import Document, Json, Ref
from fleet_memory.stores.limits import document_bytes
from fleet_memory.stores.sqlite.layout import (
    MAX_BODY_FIELD_BYTES,
    DocumentChange,
    DocumentRow,
    StoredDocument,
    as_json,
    encoded,
    stored_document,
)

REF = Ref("fleets/f1/programs", "basher")
LONG = (
    "x" * MAX_BODY_FIELD_BYTES
)  # one byte too long for the body: Firestore counts one for each text
SCALARS = st.sampled_from(["", "short", LONG, "é" * 300, 1, 2.5, True, False])
LISTS = st.lists(SCALARS, max_size=3)
MAPS = st.dictionaries(
    st.sampled_from(["k1", "k2", "k.3", ""]), st.none() | SCALARS | LISTS, max_size=4
)
FIELDS = st.sampled_from(["a", "b"])
ENTRIES = st.tuples(FIELDS, st.sampled_from(["k1", "k2", "k3"])).map(".".join)
CHANGES = st.dictionaries(FIELDS, st.none() | SCALARS | LISTS | MAPS, max_size=2) | st.dictionaries(
    ENTRIES, st.none() | SCALARS | LISTS, max_size=3
)


def read_back(change: DocumentChange, parts: Mapping[str, Json]) -> StoredDocument:
    row = DocumentRow(1, 7, change.size, as_json(dict(change.body)))
    return stored_document(
        REF, row, lambda: [(n, name, encoded(part)) for n, (name, part) in enumerate(parts.items())]
    )


@settings(max_examples=150, deadline=None, database=None)
@given(commits=st.lists(CHANGES, max_size=6))
def test_after_any_changes_the_document_is_read_back_from_its_parts(
    commits: list[dict[str, Json]],
) -> None:
    before, parts = StoredDocument(Document(REF, {}, "7"), 1, 0, {}, {}), dict[str, Json]()
    for changes in commits:
        change = DocumentChange(before)
        change.apply(changes)
        parts = {
            name: part for name, part in parts.items() if name not in change.removed
        } | change.parts
        before = read_back(change, parts)
        read, made = (
            json.dumps(fields, sort_keys=True) for fields in (before.document.fields, change.fields)
        )
        assert read == made  # as texts: 1 is neither 1.0 nor true
        assert (before.body, list(before.places)) == (
            change.body,
            list(parts) if None in change.body.values() else [],
        )
        assert change.size == document_bytes(change.fields)


def test_only_the_parts_that_differ_are_written() -> None:
    first = DocumentChange()
    first.apply({"n": 1, "tags": [1] * 80, "text": LONG, "map": {"k1": LONG, "k2": LONG, "k3": 1}})
    assert first.body == {"n": 1, "tags": None, "text": None, "map": None}
    assert first.parts == {
        "tags": [1] * 80,
        "text": LONG,
        "map.k1": LONG,
        "map.k2": LONG,
        "map.k3": 1,
    }
    known = read_back(first, first.parts)
    whole, entry, none = DocumentChange(known), DocumentChange(known), DocumentChange(known)
    whole.apply({"text": LONG, "map": {"k1": LONG, "k2": LONG + "y", "k4": "new"}})
    assert (whole.parts, whole.removed) == ({"map.k2": LONG + "y", "map.k4": "new"}, {"map.k3"})
    entry.apply({"map.k1": None, "map.k5": "new"})
    assert (entry.parts, entry.removed) == ({"map.k5": "new"}, {"map.k1"})
    none.apply({"map": {}, "text": "short", "tags": None})
    assert (none.body, none.parts) == ({"n": 1, "map": {}, "text": "short"}, {})
    assert none.removed == {"tags", "text", "map.k1", "map.k2", "map.k3"}


def test_the_fields_that_a_commit_changes_lie_first_in_the_order_that_they_had() -> None:
    first = DocumentChange()
    first.apply({"name": "basher", "n": 1, "summary": "", "at": "now"})
    before = read_back(first, {})
    orders: list[list[str]] = []
    commits: list[dict[str, Json]] = [
        {"at": "later", "n": 2},
        {"n": 3, "at": "later", "summary": "x"},
        {"at": "then", "n": 4, "new": 1},
    ]
    for changes in commits:
        change = DocumentChange(before)
        change.apply(changes)
        orders.append(list(change.body))
        before = read_back(change, {})
    assert orders == [
        ["n", "at", "name", "summary"],
        ["n", "at", "summary", "name"],
        ["n", "at", "new", "summary", "name"],
    ]


def test_a_map_whose_entries_are_written_by_themselves_grows_outside_the_body() -> None:
    first = DocumentChange()
    first.apply({"n": 1, "waiting": {"k1": "one"}, "none": {}})
    assert first.body == {"n": 1, "waiting": {"k1": "one"}, "none": {}}
    before = read_back(first, first.parts)
    entry = DocumentChange(before)
    entry.apply({"waiting.k2": "two", "none.k1": 1, "new.k1": 2})
    assert entry.body == {"waiting": None, "none": None, "n": 1, "new": None}
    assert entry.parts == {"waiting.k1": "one", "waiting.k2": "two", "none.k1": 1, "new.k1": 2}
    last = DocumentChange(read_back(entry, entry.parts))
    last.apply({"new.k1": None, "waiting.k1": None})
    assert (last.body["new"], last.removed) == ({}, {"new.k1", "waiting.k1"})
    assert read_back(last, {"waiting.k2": "two", "none.k1": 1}).document.fields == last.fields
