"""docs/comparison.md has the figures of benchmarks/results/, with every peer that is ahead."""

import re
from pathlib import Path

from comparing import comparison_line, comparisons
from page import RESULTS, read_peers

PAGE = Path(__file__).parent.parent / "docs" / "comparison.md"


def lines_of(page: str) -> list[str]:
    """Return the rows of the table of figures as lines of the benchmarks, e.g. "a store: 3 MB; another 2"."""
    (section,) = re.findall(r"^## Measured$(.*?)^## ", page, re.DOTALL | re.MULTILINE)
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ?([^|]*?) ?\|$", section, re.MULTILINE)[2:]
    return [f"{name}: {ours}; {ahead}".removesuffix("; ") for name, ours, ahead in rows]


def test_each_figure_is_measured_and_each_peer_that_is_ahead_is_named() -> None:
    measured = [comparison_line(comparison) for comparison in comparisons(read_peers(RESULTS))]
    shown = lines_of(PAGE.read_text(encoding="utf-8"))
    assert len(shown) >= 8
    assert [line for line in shown if line not in measured] == []
