"""Any sequence of commits leaves the same documents in a store as in a dict."""

import copy
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet_memory.errors import ConflictError
from fleet_memory.stores import ABSENT, Json, Query, Ref, Store, Write
from tests.bounds import examples

pytestmark = pytest.mark.anyio

KEYS = st.sampled_from(["k1", "k2", "0"])
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.sampled_from(["long " * 120, "é" * 300])  # SQLite has rows of their own for these
)
MAPS = st.dictionaries(KEYS, SCALARS | st.lists(SCALARS, max_size=2), max_size=3)
FIELDS = st.dictionaries(
    st.sampled_from(["a", "b"]), st.none() | SCALARS | st.lists(SCALARS, max_size=2), max_size=2
)
WHOLE_MAP = st.dictionaries(st.just("map"), st.none() | MAPS, max_size=1)
MAP_ENTRIES = st.dictionaries(KEYS.map("map.{}".format), st.none() | SCALARS | MAPS, max_size=2)
CHANGES = st.one_of(
    st.tuples(
        st.sampled_from(["create", "merge"]), st.builds(lambda a, b: {**a, **b}, FIELDS, WHOLE_MAP)
    ),
    st.tuples(
        st.sampled_from(["update", "stale"]),
        st.builds(lambda a, b: {**a, **b}, FIELDS, MAP_ENTRIES),
    ),
    st.tuples(st.sampled_from(["remove", "delete"]), st.none()),
)
COMMITS = st.lists(
    st.dictionaries(st.sampled_from(["x", "y", "z"]), CHANGES, min_size=1, max_size=3), max_size=12
)

Change = tuple[str, dict[str, Json] | None]
Documents = dict[str, dict[str, Json]]
numbers = itertools.count()


def holds(kind: str, *, exists: bool) -> bool:
    return {"create": not exists, "update": exists, "remove": exists, "stale": False}.get(
        kind, True
    )


def changed(documents: Documents, name: str, fields: dict[str, Json] | None) -> Documents:
    """The plain meaning of a write, spelt out once more."""
    rest = copy.deepcopy(documents)
    if fields is None:
        rest.pop(name, None)
        return rest
    document = rest.setdefault(name, {})
    for path, value in fields.items():
        *outer, last = path.split(".")
        place = document
        for step in outer:
            if value is not None and not isinstance(place.get(step), dict):
                place[step] = {}
            place = place.get(step, {})  # type: ignore[assignment]  # a dict, as the line before made sure
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return rest


async def stale_revision(store: Store, ref: Ref) -> str:
    await store.commit(Write(ref, {"n": 1}, ABSENT))
    (document,) = await store.get(ref)
    assert document is not None
    await store.commit(Write(ref, {"n": 2}, document.revision))
    return document.revision


async def written(
    store: Store, ref: Ref, kind: str, fields: dict[str, Json] | None, stale: str
) -> Write:
    (document,) = await store.get(ref)
    revision = document.revision if document else stale
    return Write(
        ref,
        fields,
        {"create": ABSENT, "update": revision, "remove": revision, "stale": stale}.get(kind),
    )


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    database=None,
)
@given(commits=COMMITS)
async def test_a_store_ends_where_a_dict_would(
    store: Store, commits: list[dict[str, Change]]
) -> None:
    number = next(numbers)
    home = f"fleets/f{number}/programs"
    stale = await stale_revision(store, Ref("fleets/stale/programs", str(number)))
    model: Documents = {}
    for n, commit in enumerate(commits):
        after, writes = model, []
        for name, (kind, fields) in commit.items():
            new = None if fields is None else {**fields, "n": n}  # every write changes something
            writes.append(await written(store, Ref(home, name), kind, new, stale))
            after = changed(after, name, new)
        if all(holds(kind, exists=name in model) for name, (kind, _) in commit.items()):
            await store.commit(*writes)
            model = after
        else:
            with pytest.raises(ConflictError):
                await store.commit(*writes)
    assert {document.ref.id: document.fields for document in await store.find(Query(home))} == model
    blocks = {
        name: [document.ref.id for document in await store.find(Query(home, after=name))]
        for name in "wxyz"
    }
    assert blocks == {name: sorted(each for each in model if each > name) for name in "wxyz"}
