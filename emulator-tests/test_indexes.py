"""Needs of production that the emulator never checks: declared indexes, and none on large
fields.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from fleets import NOW, consolidate, fleet_on, learn, lesson, open_pair
from indexes import Declared, Index, Watched, declared, index_needed, problems

from fleet_memory.fleet import Fleet, Progress, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.server.composition import installed_toolsets
from fleet_memory.server.registration import registered, validated
from fleet_memory.stores import Json, Query, Store
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.core.recall import recall_memory
from fleet_memory.tools.health import fleet_health, memory_health
from fleet_memory.tools.session import commit_session
from fleet_memory.tools.state import (
    ContextSummary,
    DecayPatch,
    forget_memory,
    get_program_state,
    update_program_state,
    write_note,
)
from tests.matrix import arguments_of

PROGRAMS = "fleets/f1/programs"
MAX_INDEXED_BYTES = (
    1_500  # bytes; Source: cloud.google.com/firestore/quotas, an indexed value is cut there
)
KNOWLEDGE_GROUPS = ("gsp", "pairs", "snapshots", "ledger", "leases", "maintenance")
ALSO: Mapping[str, Mapping[str, str]] = {"hand_over": {"output": "x" * 2000}}
GROUPS = ("programs", "archive", "history", *KNOWLEDGE_GROUPS)


@pytest.mark.parametrize(
    ("query", "summed", "needed"),
    [
        (Query(PROGRAMS), None, None),
        (Query(PROGRAMS), "pending", None),
        (Query(PROGRAMS, {"a": 1, "b": 2}), None, None),
        (Query(PROGRAMS, order="-a"), None, None),
        (Query(PROGRAMS, limit=100, after="basher"), None, None),
        (Query(PROGRAMS, {"a": 1, "b": 2}, limit=100, after="basher"), None, None),
        (Query(PROGRAMS, {"a": 1}, order="a"), None, None),
        (Query(PROGRAMS, {"a": 1}, order="b"), None, Index("programs", ("a", "b"))),
        (Query(PROGRAMS, {"b": 1, "a": 1}, order="-c"), None, Index("programs", ("a", "b", "-c"))),
        (Query(PROGRAMS, {"a": 1}), "pending", Index("programs", ("a", "pending"))),
    ],
)
def test_a_query_needs_its_composite_index(
    query: Query, summed: str | None, needed: Index | None
) -> None:
    assert index_needed(query, summed) == needed
    assert (problems(query, summed, Declared(frozenset(), frozenset())) == []) == (needed is None)
    if needed is not None:
        assert problems(query, summed, Declared(frozenset({needed}), frozenset())) == []


@pytest.mark.parametrize("query", [Query(PROGRAMS, {"large": 1}), Query(PROGRAMS, order="-large")])
def test_a_question_about_a_field_without_an_index_is_seen(query: Query) -> None:
    exempt = Declared(frozenset(), frozenset({("programs", "large")}))
    assert problems(query, None, exempt) == ["programs.large has no index"]


@pytest.mark.anyio
async def test_a_test_that_asks_too_much_fails(store: Store) -> None:
    for query in (
        Query(PROGRAMS, {"dirty": True}, order="lastUpdate"),
        Query(PROGRAMS, {"patterns": "x"}),
    ):
        with pytest.raises(AssertionError):
            await store.find(query)
    with pytest.raises(AssertionError):
        await store.total(Query(PROGRAMS, {"dirty": True}), "pending")


@pytest.fixture
async def used(open_store: Callable[[], Store]) -> Store:
    """A store on which every tool has done all it does."""
    store = open_store()
    fleet = fleet_on(store)
    for name in map(str, range(101)):
        await store_memory(fleet, "basher", long_lesson(name))
    await learn(fleet, "sark", "shared", "apart")
    await learn(fleet, "iso", "shared")
    await consolidate(fleet, dry_run=True)
    await consolidate(fleet)
    await reinforce_memory(fleet, "sark", "apart", evidence="x" * 2000, request_id="r" * 100)
    await reinforce_memory(
        fleet,
        "sark",
        "pattern/domain-shared/lesson-shared",
        outcome="contradicted",
        evidence="x" * 2000,
    )
    pair = await open_pair(fleet, "clu", "gem")
    verdict = NewVerdict.model_validate({"pairId": pair, "verdict": "same", "reason": "x" * 200})
    await pattern_consolidate(fleet, no_progress, program_id="gem", verdicts=(verdict,))
    corrected = long_lesson("claims").model_copy(update={"change": "corrected"})
    await store_memory(fleet, "gem", corrected)
    await consolidate(fleet_on(store))  # another server
    await recall_memory(fleet, "iso", query="lesson")
    await recall_memory(fleet, "oso")
    await memory_health(fleet, "iso")
    await update_program_state(fleet, "sark", long_summary(), {"k": "x" * 9000}, {"k": "x" * 9000})
    await get_program_state(fleet, "sark")
    await write_note(fleet, "sark", "é" * 500)
    await write_note(fleet, "sark", "kept")
    await write_note(fleet, "sark", note_id="n1", remove=True)
    await forget_memory(fleet, "basher", "100", "x" * 1000)
    await fleet.programs.archive.of_program("sark")
    await commit_session(
        fleet,
        "sark",
        tuple(map(long_lesson, "abcdefghij")),
        context_summary=long_summary(),
        missing=tuple(f"{number} {'x' * 290}" for number in range(10)),
        request_id="s" * 100,
    )
    await get_program_state(fleet, "sark", history=50)
    await update_program_state(
        fleet, "tron", decay_config=DecayPatch.model_validate({"maxUnpromotedPatterns": 1})
    )
    lessons = (long_lesson("own"), long_lesson("second"))
    await commit_session(fleet, "tron", lessons)
    await gsp_bootstrap(fleet, "tron")  # it has no pairs, and may be shown those of others
    await gsp_bootstrap(fleet, "sark", task="lesson")
    await consolidate(fleet)
    await maintain_fleet(fleet, no_progress)
    await fleet_health(fleet)
    for now in (NOW, NOW + timedelta(days=400)):  # what is old by then is archived
        await use_examples(replace(fleet_on(store, now), toolsets=installed_toolsets()))
    return store


async def use_examples(fleet: Fleet) -> None:
    """Call each tool of each toolset that owns documents by its example, with all that it may
    write, and maintain them.
    """
    for toolset in fleet.toolsets:
        for tool in toolset.tools if toolset.collections else ():
            registered_tool = registered(tool)
            sent = {**arguments_of(tool.name, "sark"), **ALSO.get(tool.name, {})}
            given = validated(registered_tool, sent)
            kinds = {Fleet: fleet, Progress: no_progress}
            injected = {name: kinds[kind] for name, kind in registered_tool.injected.items()}
            await tool.function(**given, **injected)
    await maintain_fleet(fleet, no_progress)


def long_summary() -> ContextSummary:
    return ContextSummary.model_validate(
        {"handoffNotes": "x" * 4000, "openQuestions": ["x" * 300] * 20}
    )


def long_lesson(name: str) -> NewPattern:
    return lesson(name).model_copy(
        update={"evidence": "x" * 2000, "tags": tuple(map(str, range(10)))}
    )


@pytest.mark.anyio
async def test_the_tools_send_only_queries_that_the_declared_indexes_serve(used: Store) -> None:
    assert isinstance(used, Watched)  # so that each of their questions was looked at
    asked = {(group, *where, summed) for group, where, _, summed in Watched.asked}
    assert asked >= {
        ("programs", "dirty", None),
        ("programs", "stored", None),
        ("programs", "pending"),
    }
    assert asked >= {
        ("programs", "run", None),
        ("gsp", "unpublished", None),
        ("gsp", "state", None),
    }
    assert asked >= {
        ("pairs", "askA", None),
        ("pairs", "askB", None),
        ("pairs", "waits", None),
        ("pairs", "state", None),
    }
    assert asked >= {("archive", "programId", None)}
    assert ("pairs", (), "waits", None) in Watched.asked


@pytest.mark.anyio
async def test_large_and_nested_fields_have_no_index(used: Store) -> None:
    exempt, seen = declared().exempt, set[str]()
    owned = [each.name for it in installed_toolsets() for each in it.collections]
    for group in (*GROUPS, *owned):
        for document in await used.find(Query(f"fleets/default/{group}")):
            seen.add(group)
            indexed = {name for name, value in document.fields.items() if is_large(value)}
            assert {name for name in indexed if (group, name) not in exempt} == set(), document.ref
    assert seen == {*GROUPS, *owned}


def is_large(value: Json) -> bool:
    return isinstance(value, list | dict) or (
        isinstance(value, str) and len(value.encode()) > MAX_INDEXED_BYTES
    )


def test_nothing_is_declared_that_is_not_needed() -> None:
    assert declared().indexes == frozenset()
    owned = {each.name for it in installed_toolsets() for each in it.collections}
    assert {group for group, _ in declared().exempt} <= {*GROUPS, *owned}
