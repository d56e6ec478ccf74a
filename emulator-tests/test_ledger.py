"""The ledger on every engine: what an operator reads of it stays bounded, however many reads are
noted.
"""

from datetime import timedelta

import pytest
from billing import Bill, Billed
from fleets import NOW, fleet_on

from fleet_memory.jobs.looking import latest_lines
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.stores import Store

pytestmark = pytest.mark.anyio

READS = 10_000
BLOCK = 500  # writes of a commit


async def test_ten_thousand_reads_between_two_changes_hide_none_of_them(store: Store) -> None:
    first = LedgerLine(event="promoted", key="pattern/a/b", at=NOW, by="basher")
    second = LedgerLine(
        event="retired", key="pattern/a/b", at=NOW + timedelta(seconds=READS + 1), by="(person)"
    )
    reads = [
        LedgerLine(
            event="read",
            key="basher",
            at=NOW + timedelta(seconds=number),
            by="cicero",
            why="recall_memory",
        )
        for number in range(1, READS + 1)
    ]
    ledger = fleet_on(store).knowledge.ledger
    writes = [
        ledger.write(line, f"line-{number}") for number, line in enumerate((first, *reads, second))
    ]
    for start in range(0, len(writes), BLOCK):
        await store.commit(*writes[start : start + BLOCK])

    billed = Billed(store)
    changes = await latest_lines(fleet_on(billed), None, 25)
    assert (changes.lines, changes.omitted) == ([second, first], 0)
    assert billed.bill == Bill(reads=2, sums=1)
    seen = await latest_lines(fleet_on(billed), None, 25, reads=True)
    assert (seen.lines, seen.omitted) == (reads[:-26:-1], READS - 25)
    assert billed.bill == Bill(reads=2 + 25, sums=2)
