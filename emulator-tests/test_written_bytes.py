"""A store writes to the disk, counted on a real server, the news alone, however much its program
knows already.
"""

import sys
from pathlib import Path

import pytest
from made_fleet import MAX_LESSONS, MEASURED, FleetSize, lesson, made_fleet, made_text
from measuring import Meter

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the bytes are those of /proc/self/io"
)

# of a store, the median: some also copy the log of the database to its file. Source: chosen
MAX_KB = 16.0
MAX_GROWTH = 1.5  # times, from 10 lessons in the program to 500. Source: chosen
STORES = 31
MANY = MAX_LESSONS - STORES - 1  # a made fleet has one more, which its calls reinforce


def written_kb(size: FleetSize, folder: Path) -> float:
    """Return the median of the kB that a store writes into a program of a fleet, which has room for
    more.
    """
    with made_fleet(size, folder) as servers:
        meter = Meter(servers.measured)
        for number in range(STORES):
            sent = lesson(made_text(10_000_000 + number), "seen twice last week")
            meter.call("store", "store_memory", {"programId": MEASURED, "pattern": sent})
        return meter.figures("store").written_kb


def test_a_store_writes_a_few_kb_however_many_lessons_the_program_has(tmp_path: Path) -> None:
    few, many = (
        written_kb(FleetSize(known, known, 0), tmp_path / str(known)) for known in (10, MANY)
    )
    assert many <= MAX_KB
    assert many <= few * MAX_GROWTH
