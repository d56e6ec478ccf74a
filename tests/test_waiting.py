"""Whom the pairs that wait are for: each counts once, for people when no other judge is left."""

import pytest

from fleet_memory.rules.health import (
    Signs,
    WaitingTotals,
    judging_counts,
    people_advice,
    program_advice,
    programs_advice,
)
from fleet_memory.schemas.health import JudgingCounts


def test_advice_counts_the_waiting_pairs_by_judge_and_names_the_next_call() -> None:
    judging = JudgingCounts(people=7, third=1, programs=2)
    assert people_advice(judging) == ("7 pairs wait for people: fleet-memory review",)
    assert programs_advice(judging) == (
        "1 pair waits for a third program: commit_session asks those without a lesson in the pair.",
        "2 pairs wait for the programs that learnt the lessons: gsp_bootstrap and "
        "commit_session ask them; people "
        "answer any with fleet-memory review.",
    )
    assert program_advice(Signs(total=1), 0, 3) == (
        "3 pairs wait for you: see `toJudge` of gsp_bootstrap, and answer with `verdicts` of "
        "commit_session or "
        "pattern_consolidate.",
    )
    assert (people_advice(JudgingCounts()), programs_advice(JudgingCounts())) == ((), ())


@pytest.mark.parametrize(
    ("programs", "people_judge", "counts"),
    [
        (3, False, JudgingCounts(people=2, third=3, programs=5)),
        (2, False, JudgingCounts(people=5, third=0, programs=5)),
        (3, True, JudgingCounts(people=10)),
    ],
)
def test_a_pair_waits_for_people_when_no_other_judge_is_left(
    programs: int, people_judge: bool, counts: JudgingCounts
) -> None:
    totals = WaitingTotals(programs=5, third=3, people=2)
    assert judging_counts(totals, programs=programs, people_judge=people_judge) == counts
