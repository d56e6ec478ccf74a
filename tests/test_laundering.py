"""One origin never looks like two: each way that benchmarks/laundering.py knows, and its honest
twin.
"""

from pathlib import Path

import pytest
from laundering import DEFENDED, NOT_DEFENDED, SCENARIOS, as_json, outcome, played
from laundering_scenario import Scenario

pytestmark = pytest.mark.anyio


def named(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", DEFENDED, ids=named)
async def test_an_origin_that_looks_like_two_publishes_nothing(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=False) == scenario.laundered


@pytest.mark.parametrize("scenario", SCENARIOS, ids=named)
async def test_the_same_by_independent_agents_is_published(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=True) == scenario.honest


@pytest.mark.parametrize("scenario", NOT_DEFENDED, ids=named)
async def test_a_way_that_is_called_not_defended_is_still_open(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=False) == scenario.laundered


def test_the_page_has_every_way_and_how_it_ends() -> None:
    page = (Path(__file__).parent.parent / "docs" / "origins.md").read_text(encoding="utf-8")
    rows = [
        *(("", each.laundered, each) for each in DEFENDED),
        *((f"{each.laundered} | {each.not_defended}", "", each) for each in NOT_DEFENDED),
    ]
    assert [
        each.name
        for end, start, each in rows
        if not any(
            line.startswith(f"| {start}") and line.endswith(f"{end} |") and each.name in names(line)
            for line in page.splitlines()
        )
    ] == []


def names(row: str) -> set[str]:
    """Return the ways that a row of the page tells of, e.g. "| a; b | fresh |" -> {"a", "b", ...}."""
    return {name for cell in row.strip("| ").split(" | ") for name in cell.split("; ")}


async def test_a_story_that_ends_otherwise_is_called_laundered_or_lost() -> None:
    result = await played(DEFENDED[0])
    assert result.result == "as expected"
    assert result._replace(laundered="fresh").result == "LAUNDERED"
    assert result._replace(honest="nothing").result == "LOST"
    assert as_json(result) == {
        "scenario": "own summary stored again",
        "expected": "nothing",
        "found": "nothing",
        "honestExpected": "fresh, discovered by basher, iso",
        "honestFound": "fresh, discovered by basher, iso",
        "result": "as expected",
    }
