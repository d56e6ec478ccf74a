"""Reads for people: a bounded part of a large fleet, the newest first, and how much is left out."""

from datetime import UTC, datetime, timedelta

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.looking import latest_lines, latest_programs
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.stores import Document, Query
from tests.fleets import at, on
from tests.shared import learnt
from tests.wrapped import ForwardingStore

pytestmark = pytest.mark.anyio

START = datetime(2026, 3, 1, tzinfo=UTC)


class Found(ForwardingStore):
    """A store that counts the documents that its queries return."""

    documents = 0

    async def find(self, query: Query) -> list[Document]:
        documents = await super().find(query)
        self.documents += len(documents)
        return documents


async def test_the_programs_that_changed_last_are_read_and_no_others(fleet: Fleet) -> None:
    for number in range(7):
        await learnt(at(fleet, START + timedelta(days=number)), f"p{number}", "Check the status")
    store = Found(fleet.knowledge.store)
    latest = await latest_programs(on(fleet, store), 3)
    assert ([one.program_id for one in latest.programs], latest.omitted) == (["p6", "p5", "p4"], 4)
    assert store.documents == 3


async def test_the_newest_lines_come_first_also_within_a_second(fleet: Fleet) -> None:
    times = [START + timedelta(milliseconds=part) for part in (0, 500, 1000)]
    lines = [
        LedgerLine(event="confirmed", key="pattern/a/b", at=moment, by="basher") for moment in times
    ]
    ledger = fleet.knowledge.ledger
    await ledger.store.commit(
        *(ledger.write(line, f"line-{number}") for number, line in enumerate(lines))
    )
    store = Found(fleet.knowledge.store)
    assert await latest_lines(on(fleet, store), None, 5) == (lines[::-1], 0)
    assert await latest_lines(on(fleet, store), times[1], 5) == (lines[:0:-1], 0)
    cut = await latest_lines(on(fleet, store), None, 1)
    assert (cut.lines, cut.omitted, store.documents) == ([lines[2]], 2, 7)
