"""The promises of `Store.find` and `Store.total`, on every engine."""

import pytest
from indexes import OWN

from fleet_memory.stores import Json, Query, Ref, Scalar, Store, Write

pytestmark = pytest.mark.anyio

HOME = f"fleets/f1/{OWN}"
LONG = "x" * 200

# id -> fields; ids are not in the order of any field
ENTRIES: dict[str, dict[str, Json]] = {
    "d": {"tier": "one", "age": 3, "active": True, "weight": 10},
    "a": {"tier": "two", "age": 1, "active": False, "weight": -2},
    "c": {"tier": "one", "age": 2.5, "active": True},
    "e": {"tier": "two", "age": 3, "active": True, "weight": 5, "long": LONG},
    "b": {"tier": "été", "active": False, "weight": "12 kg", "long": LONG + "y"},
    "f": {"map": {"tier": "one"}, "age": 0, "weight": 0, "tags": ["one"]},
}


@pytest.fixture
async def entries(store: Store) -> Store:
    await store.commit(*(Write(Ref(HOME, name), fields) for name, fields in ENTRIES.items()))
    near = Ref(f"fleets/f2/{OWN}", "z"), Ref(f"{HOME}x", "y")
    await store.commit(*(Write(ref, ENTRIES["d"]) for ref in near))
    return store


async def found(store: Store, query: Query) -> str:
    documents = await store.find(query)
    for document in documents:
        assert document.ref.collection == query.collection
        assert document.fields == ENTRIES[document.ref.id]
    return "".join(document.ref.id for document in documents)


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ({}, "abcdef"),
        ({"tier": "one"}, "cd"),
        ({"tier": "été"}, "b"),
        ({"tier": "one", "age": 3}, "d"),
        ({"age": 3.0}, "de"),
        ({"active": True}, "cde"),
        ({"active": False, "tier": "two"}, "a"),
        ({"long": LONG}, "e"),
        ({"tier": "three"}, ""),
        ({"none": 1}, ""),
        ({"tags": "one"}, ""),
        ({"tier": "' or 1=1 --"}, ""),
    ],
)
async def test_find_returns_the_documents_that_equal_everywhere_by_id(
    entries: Store, where: dict[str, Scalar], ids: str
) -> None:
    assert await found(entries, Query(HOME, where)) == ids


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        (Query(HOME, order="age"), "facde"),
        (Query(HOME, order="-age"), "edcaf"),
        (Query(HOME, order="tier"), "cdaeb"),
        (Query(HOME, order="-tier"), "beadc"),
        (Query(HOME, order="long"), "eb"),
        (Query(HOME, order="none"), ""),
        (Query(HOME, {"active": True}, "-age"), "edc"),
        (Query(HOME, {"active": True}, "-age", 2), "ed"),
        (Query(HOME, order="age", limit=3), "fac"),
        (Query(HOME, limit=2), "ab"),
        (Query(HOME, limit=100), "abcdef"),
        (Query(HOME, after="b"), "cdef"),
        (Query(HOME, after="bb", limit=2), "cd"),
        (Query(HOME, after="B"), "abcdef"),
        (Query(HOME, after="f"), ""),
        (Query(HOME, after=""), "abcdef"),
        (Query(HOME, {"active": True}, after="c"), "de"),
        (Query(HOME, {"active": True, "tier": "one"}, after="c"), "d"),
        (Query(HOME, {"active": True}, after="c", limit=1), "d"),
    ],
)
async def test_find_orders_with_ties_by_id_leaves_out_documents_without_the_field_and_reads_on_after_an_id(
    entries: Store, query: Query, ids: str
) -> None:
    assert await found(entries, query) == ids


async def test_blocks_that_follow_each_other_are_the_collection(entries: Store) -> None:
    read, last = "", ""
    while block := await found(entries, Query(HOME, limit=4, after=last)):
        read, last = read + block, block[-1]
    assert read == "abcdef"


async def test_ids_and_texts_are_ordered_by_their_bytes_in_any_order_of_writes(
    store: Store,
) -> None:
    ids = ["-", "0", "10", "9", "A", "Z", "_5f_", "a", "a-", "a0", "aa"]
    for name in reversed(ids):
        await store.commit(Write(Ref(HOME, name), {"n": 1, "text": name}))
    assert [document.ref.id for document in await store.find(Query(HOME, order="text"))] == ids
    for n, name in enumerate(ids):
        documents = await store.find(Query(HOME, {"n": 1}, after=name))
        assert [document.ref.id for document in documents] == ids[n + 1 :]


async def test_a_limit_gives_the_first_of_many_documents_that_equal(store: Store) -> None:
    names = [f"d{number:04}" for number in range(1_200)]
    for start in range(0, len(names), 200):
        some = enumerate(names[start : start + 200], start)
        await store.commit(*(Write(Ref(HOME, name), {"n": 1, "odd": n % 2}) for n, name in some))

    async def first(where: dict[str, Scalar], after: str) -> list[str]:
        documents = await store.find(Query(HOME, where, limit=3, after=after))
        return [document.ref.id for document in documents]

    assert await first({"n": 1}, "") == ["d0000", "d0001", "d0002"]
    assert await first({"n": 1, "odd": 1}, "d0600") == ["d0601", "d0603", "d0605"]
    assert await first({"n": 1, "odd": 2}, "") == []


async def test_find_reads_the_same_revision_as_get(entries: Store) -> None:
    documents = await entries.find(Query(HOME))
    assert documents == await entries.get(*(document.ref for document in documents))


async def test_find_forgets_old_values_and_deleted_documents(entries: Store) -> None:
    await entries.commit(Write(Ref(HOME, "d"), {"tier": "two"}), Write(Ref(HOME, "c"), None))
    await entries.commit(Write(Ref(HOME, "e"), {"tier": None}))
    assert [document.ref.id for document in await entries.find(Query(HOME, {"tier": "one"}))] == []
    assert [document.ref.id for document in await entries.find(Query(HOME, order="tier"))] == [
        "a",
        "d",
        "b",
    ]


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        (Query(HOME), None, 6),
        (Query(HOME, {"tier": "one"}), None, 2),
        (Query(HOME, {"tier": "three"}), None, 0),
        (Query(HOME), "weight", 13),
        (Query(HOME, {"active": True}), "weight", 15),
        (Query(HOME, {"tier": "one", "active": True}), "weight", 10),
        (Query(HOME, {"tier": "three"}), "weight", 0),
        (Query(HOME), "none", 0),
        (Query(HOME), "active", 0),
        (Query(HOME, order="weight", limit=1), "weight", 13),
        (Query(HOME, order="weight", limit=1), None, 5),
        (Query(HOME, {"tier": "one"}, order="-weight"), None, 1),
        (Query(HOME, order="age"), "weight", 13),
        (Query(HOME, order="none"), None, 0),
        (Query(HOME, {"active": True}, limit=1, after="d"), None, 3),
        (Query(f"fleets/f3/{OWN}"), "weight", 0),
    ],
)
async def test_total_counts_or_sums_all_matches_with_the_field_of_their_order_regardless_of_limit_and_after(
    entries: Store, query: Query, field: str | None, expected: int
) -> None:
    total = await entries.total(query, field)
    assert (total, type(total)) == (expected, int)
