"""What an agent's report about knowledge does to the entry, and what the ledger says of it."""

from dataclasses import replace

import pytest

from fleet_memory.rules.knowledge.promotion import Waiting, entry_of
from fleet_memory.rules.lifecycle.reports import OutcomeReport, recorded
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.schemas.patterns import Outcome
from tests.lessons import START, days, pattern

ENTRY = entry_of([Waiting("basher", pattern()), Waiting("sark", pattern(id="p2"))], 0, [1.0, 1.0], now=START)
LATER = START + days(1)


def report(outcome: Outcome = "confirmed", request_id: str | None = None) -> OutcomeReport:
    return OutcomeReport(outcome, None, "seen again", LATER, request_id)


def test_a_confirmation_moves_the_clock_of_an_entry_and_is_a_line_in_the_ledger() -> None:
    after, line = recorded(ENTRY, "iso", report())
    assert after == replace(ENTRY, version=2, unpublished=True, last_confirmed=LATER, confirmations=1)
    assert line == LedgerLine(event="confirmed", key=ENTRY.key, at=LATER, by="iso", why="seen again")


@pytest.mark.parametrize("outcome", ["confirmed", "contradicted"])
def test_a_repeated_request_changes_nothing_and_another_program_may_use_its_id(outcome: Outcome) -> None:
    once, _ = recorded(ENTRY, "iso", report(outcome, "r1"))
    assert recorded(once, "iso", report(outcome, "r1"))[0] is once
    assert recorded(once, "clu", report(outcome, "r1"))[0].version == once.version + 1


def test_the_contradiction_that_retires_an_entry_is_told_as_a_retirement() -> None:
    once, line = recorded(ENTRY, "iso", report("contradicted"))
    assert (once.status, line.event) == ("active", "contradicted")
    twice, line = recorded(once, "clu", report("contradicted"))
    assert (twice.status, line.event) == ("retired", "retired")
