"""One origin never looks like two: each way that benchmarks/laundering.py knows, and its honest twin."""

from pathlib import Path

import pytest
from laundering import DEFENDED, NOT_DEFENDED, SCENARIOS, as_json, outcome, played
from laundering_scenario import Scenario

pytestmark = pytest.mark.anyio

# Two entries judged the same stay two: nothing asks about the younger one's contributions against the older one
TWO_ENTRIES = "reworded by two who judge that first"


def named(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", [one for one in DEFENDED if one.name != TWO_ENTRIES], ids=named)
async def test_an_origin_that_looks_like_two_publishes_nothing(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=False) == scenario.laundered


@pytest.mark.xfail(reason="two entries that were judged the same are not merged yet")
async def test_entries_judged_the_same_become_one_so_that_readers_of_the_older_one_are_no_origins() -> None:
    [scenario] = [one for one in DEFENDED if one.name == TWO_ENTRIES]
    assert await outcome(scenario, honest=False) == scenario.laundered


@pytest.mark.parametrize("scenario", SCENARIOS, ids=named)
async def test_the_same_by_independent_agents_is_published(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=True) == scenario.honest


@pytest.mark.parametrize("scenario", NOT_DEFENDED, ids=named)
async def test_a_way_that_is_called_not_defended_is_still_open(scenario: Scenario) -> None:
    assert await outcome(scenario, honest=False) == scenario.laundered


def test_the_page_has_every_way_and_how_it_ends() -> None:
    page = (Path(__file__).parent.parent / "docs" / "origins.md").read_text(encoding="utf-8")
    rows = [f"| {one.name} | {one.laundered} |" for one in SCENARIOS if one.name != TWO_ENTRIES]
    reasons = [f"| {one.laundered} | {one.not_defended} |" for one in NOT_DEFENDED]
    assert [row for row in (*rows, *reasons) if row not in page] == []
    assert f'"{TWO_ENTRIES}"' in page


async def test_a_story_that_ends_otherwise_is_called_laundered_or_lost() -> None:
    result = await played(DEFENDED[0])
    assert result.result == "as expected"
    assert result._replace(laundered="fresh").result == "LAUNDERED"
    assert result._replace(honest="nothing").result == "LOST"
    assert as_json(result) == {
        "scenario": "own summary stored again",
        "expected": "nothing",
        "found": "nothing",
        "honestExpected": "fresh, 2 votes: basher, iso",
        "honestFound": "fresh, 2 votes: basher, iso",
        "result": "as expected",
    }
