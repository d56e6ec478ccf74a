"""The promises of `Store`, on every engine: documents, conflicts, atomicity and concurrency."""

import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest
from agents import NOWHERE, opened

from fleet_memory.errors import (
    ConflictError,
    DocumentRejectedError,
    StoreRejectedError,
    StoreUnavailableError,
)
from fleet_memory.stores import (
    ABSENT,
    MAX_DOCUMENT_BYTES,
    Document,
    Json,
    Query,
    Ref,
    Store,
    StoreHealth,
    Write,
    document_bytes,
)
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

HOME = "fleets/f1/programs"
BASHER, ISO = Ref(HOME, "basher"), Ref(HOME, "iso")


async def read(store: Store, ref: Ref) -> Document:
    (document,) = await store.get(ref)
    assert document is not None
    return document


async def fields(store: Store, ref: Ref) -> dict[str, Json] | None:
    (document,) = await store.get(ref)
    return document.fields if document else None


async def test_a_created_document_reads_back_whole(store: Store) -> None:
    kinds: dict[str, Json] = {
        "text": "naïve 🚀 \u202eπ\u0000 'quoted' \"twice\" \\ \n",
        "empty": "",
        "integer": 2**63 - 1,
        "number": -0.25,
        "whole": 1.0,
        "large": 1e22,
        "yes": True,
        "no": False,
        "list": [1, "two", {"three": None}],
        "map": {"k1": {"deep": [1.5]}, "键": "値"},
    }
    await store.commit(Write(BASHER, kinds, ABSENT))
    document = await read(store, BASHER)
    assert (document.ref, document.fields) == (BASHER, kinds)
    assert [type(document.fields[name]) for name in kinds] == [
        type(value) for value in kinds.values()
    ]


async def test_get_answers_in_the_order_of_the_refs_with_none_where_absent(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT), Write(ISO, {"n": 2}, ABSENT))
    found = await store.get(ISO, Ref(HOME, "nobody"), BASHER, Ref("fleets/f2/programs", "iso"))
    assert [document and document.fields for document in found] == [{"n": 2}, None, {"n": 1}, None]
    assert await store.get() == []


async def test_a_commit_of_nothing_does_nothing(store: Store) -> None:
    await store.commit()
    assert await store.total(Query(HOME)) == 0


async def test_creating_an_existing_document_conflicts(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    with pytest.raises(ConflictError):
        await store.commit(Write(BASHER, {"n": 2}, ABSENT))
    assert await fields(store, BASHER) == {"n": 1}


async def test_a_revision_is_good_for_one_write(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    first = await read(store, BASHER)
    await store.commit(Write(BASHER, {"n": 2}, first.revision))
    with pytest.raises(ConflictError):
        await store.commit(Write(BASHER, {"n": 3}, first.revision))
    second = await read(store, BASHER)
    assert (second.fields, second.revision != first.revision) == ({"n": 2}, True)


async def test_a_revision_of_a_missing_document_conflicts(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    revision = (await read(store, BASHER)).revision
    for change in ({"n": 2}, None):
        with pytest.raises(ConflictError):
            await store.commit(Write(ISO, change, revision))
    assert await fields(store, ISO) is None


async def test_deleting_needs_the_revision_it_names(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    old = (await read(store, BASHER)).revision
    await store.commit(Write(BASHER, {"n": 2}, old))
    with pytest.raises(ConflictError):
        await store.commit(Write(BASHER, None, old))
    await store.commit(Write(BASHER, None, (await read(store, BASHER)).revision))
    assert await fields(store, BASHER) is None


async def test_deleting_any_content_also_deletes_nothing(store: Store) -> None:
    await store.commit(Write(BASHER, None), Write(ISO, {"n": 1}))
    await store.commit(Write(ISO, None))
    assert await store.get(BASHER, ISO) == [None, None]


async def test_a_document_created_again_has_a_new_revision(store: Store) -> None:
    seen = set()
    for _ in range(5):
        await store.commit(Write(BASHER, {"n": 1}, ABSENT))
        revision = (await read(store, BASHER)).revision
        seen.add(revision)
        await store.commit(Write(BASHER, None, revision))
    await store.commit(Write(BASHER, {"n": 1}, ABSENT))
    for revision in seen:
        with pytest.raises(ConflictError):
            await store.commit(Write(BASHER, {"n": 2}, revision))
    assert len(seen) == 5


async def test_one_failing_expectation_applies_none_of_the_writes(store: Store) -> None:
    other, none = Ref("fleets/f1/ledger", "line"), Ref(HOME, "none")
    await store.commit(Write(BASHER, {"n": 1}, ABSENT), Write(ISO, {"n": 1}, ABSENT))
    old = (await read(store, ISO)).revision
    await store.commit(Write(ISO, {"n": 2}, old))
    before = await store.get(BASHER, ISO)
    revision = (await read(store, BASHER)).revision
    for failing in (
        Write(ISO, {"n": 3}, ABSENT),
        Write(ISO, None, old),
        Write(none, {"n": 3}, old),
    ):
        with pytest.raises(ConflictError):
            await store.commit(
                Write(other, {"why": "x"}, ABSENT), Write(BASHER, {"n": 3}, revision), failing
            )
    assert await store.get(BASHER, ISO, other, none) == [*before, None, None]


async def test_named_fields_are_replaced_whole_and_the_others_stay(store: Store) -> None:
    await store.commit(
        Write(BASHER, {"keep": 1, "map": {"a": 1, "b": 2}, "list": [1, 2], "gone": "x"}, ABSENT)
    )
    await store.commit(Write(BASHER, {"map": {"c": 3}, "list": [], "gone": None}))
    assert await fields(store, BASHER) == {"keep": 1, "map": {"c": 3}, "list": []}


async def test_none_in_a_new_document_is_no_field(store: Store) -> None:
    await store.commit(
        Write(BASHER, {"n": 1, "gone": None}, ABSENT), Write(ISO, {"n": 1, "gone": None})
    )
    assert [await fields(store, ref) for ref in (BASHER, ISO)] == [{"n": 1}, {"n": 1}]


async def test_an_unconditional_write_creates_the_document_and_then_adds_to_it(
    store: Store,
) -> None:
    await store.commit(Write(BASHER, {"a": 1}))
    await store.commit(Write(BASHER, {"b": 2}))
    assert await fields(store, BASHER) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("change", "after"),
    [
        ({"map.k2": "new"}, {"map": {"k1": {"x": 1}, "k2": "new"}}),
        ({"map.k1": {"y": 2}}, {"map": {"k1": {"y": 2}}}),
        ({"map.0_K": [1], "n": 1}, {"map": {"k1": {"x": 1}, "0_K": [1]}, "n": 1}),
        ({"map.k1": None, "map.k2": 2}, {"map": {"k2": 2}}),
        ({"map.k1": None}, {"map": {}}),
        ({"map.none": None, "n": 1}, {"map": {"k1": {"x": 1}}, "n": 1}),
        ({"other.k1": 1}, {"map": {"k1": {"x": 1}}, "other": {"k1": 1}}),
        ({"other.k1": None, "n": 1}, {"map": {"k1": {"x": 1}}, "n": 1}),
    ],
)
async def test_a_dotted_name_touches_one_entry_of_a_map(
    store: Store, change: dict[str, Json], after: dict[str, Json]
) -> None:
    await store.commit(Write(BASHER, {"map": {"k1": {"x": 1}}}, ABSENT))
    await store.commit(Write(BASHER, change, (await read(store, BASHER)).revision))
    assert await fields(store, BASHER) == after


async def test_three_documents_of_900_kb_fit_into_one_commit(store: Store) -> None:
    large: dict[str, Json] = {f"k{n}": '"é' * 150_000 for n in range(2)}
    refs = [Ref(HOME, f"large{n}") for n in range(3)]
    await store.commit(*(Write(ref, {"patterns": large}, ABSENT) for ref in refs))
    assert [document and document.fields for document in await store.get(*refs)] == [
        {"patterns": large}
    ] * 3


async def test_a_document_of_the_largest_size_fits(store: Store) -> None:
    largest: dict[str, Json] = {"text": "x" * (MAX_DOCUMENT_BYTES - document_bytes({"text": ""}))}
    await store.commit(Write(BASHER, largest, ABSENT))
    assert await fields(store, BASHER) == largest


async def test_a_document_over_1_mib_is_refused_and_nothing_is_applied(store: Store) -> None:
    with anyio.fail_after(HANG_S), pytest.raises(DocumentRejectedError):
        await store.commit(Write(ISO, {"n": 1}), Write(BASHER, {"text": "x" * 2**20}))
    assert await store.get(ISO, BASHER) == [None, None]


@pytest.mark.parametrize(
    "within",
    [lambda value: value, lambda value: {"k": [value]}],
    ids=["a field", "a list of a map"],
)
@pytest.mark.parametrize("unfit", ["\ud800", float("nan"), float("inf"), 2**63, -(2**63) - 1])
async def test_a_value_that_no_store_can_keep_is_refused_and_nothing_is_applied(
    store: Store, unfit: str | float, within: Callable[[str | float], Json]
) -> None:
    with pytest.raises(DocumentRejectedError, match="which no store keeps") as caught:
        await store.commit(Write(ISO, {"n": 1}), Write(BASHER, {"n": within(unfit)}))
    assert ("basher" in caught.value.operator_detail, "basher" in str(caught.value)) == (
        True,
        False,
    )
    assert await store.get(ISO, BASHER) == [None, None]


async def test_a_hundred_commits_to_one_document_at_once_all_survive(store: Store) -> None:
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for n in range(100):
                tasks.start_soon(store.commit, Write(BASHER, {f"f{n}": n}))
    assert await fields(store, BASHER) == {f"f{n}": n for n in range(100)}


async def test_twenty_increments_at_once_through_five_stores_are_all_counted(
    open_store: Callable[[], Store],
) -> None:
    stores = [open_store() for _ in range(5)]

    async def increment(store: Store) -> None:
        while True:
            document = await read(store, BASHER)
            try:
                await store.commit(
                    Write(BASHER, {"n": int(str(document.fields["n"])) + 1}, document.revision)
                )
            except ConflictError:
                continue
            return

    await stores[0].commit(Write(BASHER, {"n": 0}, ABSENT))
    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(increment, stores[n % len(stores)])
    assert await fields(stores[0], BASHER) == {"n": 20}


async def test_of_twenty_creators_of_one_document_one_wins(open_store: Callable[[], Store]) -> None:
    results: Counter[str] = Counter()

    async def create(name: str) -> None:
        try:
            await open_store().commit(Write(BASHER, {"by": name}, ABSENT))
        except ConflictError:
            results["lost"] += 1
        else:
            results[name] += 1

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(create, f"creator {n}")
    winner = str((await read(open_store(), BASHER)).fields["by"])
    assert results == {winner: 1, "lost": 19}


async def test_two_hundred_cancelled_commits_leave_nothing_half_applied(store: Store) -> None:
    chance = random.Random(7)  # noqa: S311 - spreads the cancellations
    await store.commit(Write(BASHER, {"n": 0}))  # the first verb opens
    began = time.perf_counter()
    await store.commit(Write(BASHER, {"n": 1}))
    usual_s = time.perf_counter() - began

    cancelled = 0

    async def commit_a_pair(n: int) -> None:
        nonlocal cancelled
        left, right = Ref("left", str(n)), Ref("right", str(n))
        with anyio.move_on_after(chance.uniform(-1, 10) * usual_s) as scope:
            await store.commit(Write(left, {"n": n}, ABSENT), Write(right, {"n": n}, ABSENT))
        cancelled += scope.cancelled_caught

    with anyio.fail_after(HANG_S):
        for tens in range(0, 200, 10):
            async with anyio.create_task_group() as tasks:
                for n in range(tens, tens + 10):
                    tasks.start_soon(commit_a_pair, n)
    left, right = [
        {document.ref.id for document in await store.find(Query(side))}
        for side in ("left", "right")
    ]
    assert left == right
    assert cancelled > 0
    assert len(left) >= 200 - cancelled


async def test_closing_twice_is_fine_and_commits_stay(open_store: Callable[[], Store]) -> None:
    store = open_store()
    await store.commit(Write(BASHER, {"n": 1}))
    await store.close()
    await store.close()
    assert await fields(open_store(), BASHER) == {"n": 1}


async def test_closing_an_unused_store_is_fine(open_store: Callable[[], Store]) -> None:
    store = open_store()
    await store.close()
    assert await fields(store, BASHER) is None  # it opens now


async def test_a_store_that_was_closed_opens_again(store: Store) -> None:
    await store.commit(Write(BASHER, {"n": 1}))
    await store.close()
    assert await fields(store, BASHER) == {"n": 1}


@pytest.mark.parametrize(
    "verb",
    [
        lambda store: store.get(BASHER),
        lambda store: store.find(Query(HOME)),
        lambda store: store.total(Query(HOME)),
        lambda store: store.commit(Write(BASHER, {"n": 1})),
        lambda store: store.check(),
    ],
    ids=["get", "find", "total", "commit", "check"],
)
async def test_a_store_out_of_reach_is_an_error_that_tells_its_place_to_the_operator_alone(
    out_of_reach: str, verb: Callable[[Store], Awaitable[object]]
) -> None:
    async with opened(out_of_reach) as store:
        with (
            anyio.fail_after(HANG_S),
            pytest.raises((StoreUnavailableError, StoreRejectedError)) as caught,
        ):
            await verb(store)
    assert NOWHERE in caught.value.operator_detail
    assert NOWHERE not in str(caught.value)


async def test_check_counts_documents_by_group_and_is_fine_with_none(store_address: str) -> None:
    async with opened(store_address) as store:
        health = await store.check()
        assert health == StoreHealth(health.schema_version, intact=True, documents={})
        await store.commit(*(Write(Ref("fleets/f1/gsp", f"e{n}"), {"n": n}) for n in range(3)))
        await store.commit(
            Write(Ref("fleets/f2/gsp", "e"), {"n": 1}), Write(Ref(HOME, "basher"), {"n": 1})
        )
        assert await store.check() == replace(health, documents={"gsp": 4, "programs": 1})


async def test_scrubbing_changes_no_document(store: Store) -> None:
    await store.commit(
        Write(BASHER, {"text": "stays"}, ABSENT), Write(ISO, {"text": "goes"}, ABSENT)
    )
    await store.commit(Write(ISO, None))
    before = await read(store, BASHER)
    assert await store.scrub()
    assert await store.get(BASHER, ISO) == [before, None]
