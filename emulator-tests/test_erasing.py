"""A purged text is in no document of either engine, nor in an export, and a second process does not
answer with it.
"""

import json

import pytest
from agents import agent
from fleets import consolidate, fleet_on, learn
from invariants import broken

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.erasing import Wanted, erase
from fleet_memory.jobs.transfer.files import export_text
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from fleet_memory.stores import Query, Store

pytestmark = pytest.mark.anyio

WORD = "nightjar"
NOW = "2026-03-07T12:00:00Z"
GROUPS = (
    "programs",
    "pages",
    "gsp",
    "pairs",
    "snapshots",
    "ledger",
    "archive",
    "history",
    "maintenance",
)


async def everything(fleet: Fleet) -> str:
    """Return all documents and their ids, and an export, as one text."""
    paths = fleet.knowledge.paths
    found = [
        one
        for name in GROUPS
        for one in await fleet.knowledge.store.find(Query(paths.collection(name)))
    ]
    exported, _ = await export_text(fleet)
    return json.dumps([(one.ref, one.fields) for one in found]).lower() + exported.lower()


async def test_an_entry_and_its_lessons_are_erased_with_their_text(store: Store) -> None:
    fleet = fleet_on(store)
    for program in ("basher", "sark"):
        await learn(fleet, program, WORD)
        await learn(fleet, program, "stays")
    await consolidate(fleet)
    assert WORD in await everything(fleet)
    erased = await erase(fleet, Wanted(text=WORD.upper()))
    assert (erased.left, erased.is_scrubbed) == ((), True)
    text = await everything(fleet)
    assert WORD not in text
    assert "stays" in text


@pytest.mark.parametrize(
    "programs", [("basher", "sark", "iso"), ("basher", "sark"), ("sark", "basher")], ids=len
)
async def test_after_a_program_is_erased_the_other_documents_agree(
    store: Store, programs: tuple[str, ...]
) -> None:
    fleet = fleet_on(store)
    for program in programs:
        await learn(fleet, program, WORD)
    await consolidate(fleet)
    await erase(fleet, Wanted(program="basher"))
    assert await broken(fleet) == []


async def test_a_process_that_knew_the_text_answers_without_it(store_address: str) -> None:
    settings = load({"store": store_address, "embedder": "lexical", "now": NOW}, {})
    async with agent(store_address, now=NOW, embedder="lexical") as other:
        lesson = {
            "pattern": f"The {WORD} build needs two cores",
            "domain": "ci",
            "confidence": 0.8,
            "evidence": "",
        }
        await other.call("store_memory", programId="basher", pattern=lesson)
        assert WORD in json.dumps(await other.call("recall_memory", programId="basher")).lower()
        await with_fleet(settings, lambda fleet: erase(fleet, Wanted(text=WORD)))
        assert WORD not in json.dumps(await other.call("recall_memory", programId="basher")).lower()
        boot = await other.call("gsp_bootstrap", agentId="basher", depth="full")
        assert WORD not in json.dumps(boot).lower()
