from datetime import datetime

from service import dispatches, movements

ROWS = [
    {"depot": "FAO", "kind": "out", "at": datetime(2026, 3, 2, 9, 10)},
    {"depot": "FAO", "kind": "in", "at": datetime(2026, 3, 2, 9, 40)},
    {"depot": "BGO", "kind": "out", "at": datetime(2026, 3, 2, 11, 5)},
]


def test_dispatches():
    assert len(movements.dispatches(ROWS)) == 2


def test_by_depot():
    assert sorted(movements.by_depot(ROWS)) == ["BGO", "FAO"]


def test_totals():
    assert dispatches.totals(ROWS) == {"BGO": 1, "FAO": 1}
