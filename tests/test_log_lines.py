"""The log records every change of what agents read, at INFO: one line each, with names and counts,
never a text. Each call is a line of the log of requests.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.jobs.judging import Judge, judge
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.pairs import NewVerdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.settings import load
from fleet_memory.tools.core.lessons import reinforce_memory, store_memory
from fleet_memory.tools.session import SessionReport, commit_session
from tests.fleets import NOW, at, show
from tests.shared import CHECK, KEY, LOOK, Lesson, opened_pair, shared_entry

pytestmark = pytest.mark.anyio

PRIVATE = "hunter2"


@pytest.fixture
def fleet(fleet: Fleet) -> Fleet:
    """A fleet at a fixed moment, whose callers are known by name."""
    return at(replace(fleet, caller=Caller()), NOW)


@pytest.fixture
async def sharing(fleet: Fleet) -> Fleet:
    """The fleet with an entry that basher and iso learnt; a test's records begin after it."""
    await shared_entry(fleet, "basher", "iso")
    return fleet


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO, "fleet_memory"):
        yield


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines logged since the last call."""
    assert all(record.levelno == logging.INFO for record in caplog.records)
    found = [record.getMessage() for record in caplog.records]
    assert not any(text in line for line in found for text in (PRIVATE, LOOK, CHECK))
    caplog.clear()
    return found


async def store(fleet: Fleet, program: str, text: str, id_: str) -> None:
    lesson = {
        "pattern": text,
        "domain": "files",
        "confidence": 0.8,
        "evidence": f"{program} has seen that {PRIVATE}",
        "id": id_,
    }
    await store_memory(fleet, program, NewPattern.model_validate(lesson))


async def test_each_entry_that_a_session_changes_is_one_line(
    sharing: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    lesson = {
        "pattern": f"Close {PRIVATE} files",
        "domain": "files",
        "confidence": 0.8,
        "evidence": PRIVATE,
    }
    word = {"patternId": KEY, "outcome": "contradicted", "evidence": PRIVATE}
    patterns, reports = (NewPattern.model_validate(lesson),), (SessionReport.model_validate(word),)
    await commit_session(sharing, "wren", patterns, reports, handoff=PRIVATE)
    assert lines(caplog) == [
        "knowledge: entry now contested by wren; votes 2",
    ]


async def test_the_promotion_that_a_verdict_makes_is_one_line(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    pair = await opened_pair(fleet, Lesson("wren", LOOK), Lesson("atlas", CHECK))
    await show(fleet, "wren", pair)
    await show(fleet, "atlas", pair)
    lines(caplog)
    said = NewVerdict.model_validate({"pairId": pair.pair_id, "verdict": "same", "reason": PRIVATE})
    await judge(fleet, Judge("atlas"), [said])
    await judge(fleet, Judge("wren"), [said, said.model_copy(update={"pair_id": "none"})])
    assert lines(caplog) == [
        "knowledge: entry promoted (fresh) by wren; votes 2",
    ]


async def test_equal_words_that_maintenance_promotes_are_one_line_and_the_run_is_one(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    for program in ("wren", "atlas"):
        await store(fleet, program, "Sort imports", "sort")
    lines(caplog)
    await maintain_fleet(fleet, no_progress)
    assert lines(caplog) == [
        "knowledge: entry promoted (fresh) by maintainer; votes 2",
        "maintenance: promoted 1, updated 0, opened 0, waiting 0, skipped 0",
    ]


async def test_an_entry_that_programs_or_people_retire_is_one_line(
    sharing: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    for program in ("wren", "atlas"):
        await reinforce_memory(sharing, program, KEY, outcome="contradicted", evidence=PRIVATE)
    assert lines(caplog) == [
        "knowledge: entry now contested by wren; votes 2",
        "knowledge: entry retired by atlas; votes 2",
    ]


async def test_an_entry_that_a_person_retires_is_one_line(
    sharing: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    await retire_entry(sharing, KEY, PRIVATE)
    assert lines(caplog) == ["knowledge: entry retired by operator; votes 2"]


def test_the_lines_are_not_written_unless_they_are_asked_for() -> None:
    assert load({}, {}).log_level == "WARNING"
