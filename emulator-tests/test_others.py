"""Lessons of others on both engines: a shelf of several shards, read once by each server."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, fleet_on

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.snapshots import MAX_SNAPSHOT_SHARD_BYTES
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.retrieval.others import MAX_OTHERS
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Query, Store
from fleet_memory.tools.core.recall import recall_memory

pytestmark = pytest.mark.anyio

LESSONS = 220  # of a program; those of three fill more than one shard


def sharing(store: Store, hours: int = 0) -> Fleet:
    return replace(fleet_on(store, NOW + timedelta(hours=hours)), default_sharing="lessons")


def lesson(program: str, number: int) -> Pattern:
    text = f"{program} knows that valve {number} closes before tank {number} opens" + " again" * 150
    return Pattern(
        id=f"l{number}",
        domain="tanks",
        pattern=text,
        confidence=0.8,
        discovered_at=NOW,
        last_reinforced=NOW,
        stored_at=NOW,
        words=text_hash(text),
    )


async def fill(fleet: Fleet, program: str) -> None:
    lessons = [lesson(program, number) for number in range(LESSONS)]

    def filled(before: Program) -> ProgramChange:
        return ProgramChange(replace(before, patterns={each.id: each for each in lessons}))

    await fleet.programs.update(program, filled, fleet.now())


async def test_a_shelf_is_read_once_by_each_server_and_lessons_are_found_in_all_its_shards(
    open_store: Callable[[], Store],
) -> None:
    for program in ("ann", "bob", "cid"):
        await fill(sharing(open_store()), program)
    await maintain_fleet(sharing(open_store(), 1), no_progress)
    place = sharing(open_store()).knowledge.paths.snapshot.collection
    shards = [each for each in await open_store().find(Query(place)) if each.ref.id != "head"]
    assert len(shards) > 1
    texts = [str(each.fields["text"]) for each in shards]
    assert max(len(text.encode()) for text in texts) <= MAX_SNAPSHOT_SHARD_BYTES
    billed = Billed(open_store())
    server, bills = sharing(billed, 2), list[Bill]()
    for program in ("ann", "bob", "cid"):
        reader = {"ann": "bob", "bob": "cid", "cid": "ann"}[program]
        billed.bill = Bill()
        answer = await recall_memory(server, reader, query=f"what does {program} know of valve 77?")
        bills.append(billed.bill)
        assert len(answer.others or ()) == MAX_OTHERS
        assert f"{program} knows that valve 77 " in (answer.others or ())[0].pattern
    # program, snapshot, and a query that finds no changed program; the policy and the shelf once
    assert bills == [Bill(3 + 1 + len(shards), 1, 1), Bill(3, 1, 1), Bill(3, 1, 1)]
