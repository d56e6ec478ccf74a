"""Whom the pairs that wait are for: each counts once, for people when no other judge is left."""

from fleet_memory.rules.health import (
    Signs,
    fleet_advice,
    program_advice,
)


def test_advice_counts_the_waiting_pairs_by_judge_and_names_the_next_call() -> None:
    assert fleet_advice({"people": 7, "third": 1, "programs": 2}) == (
        "Pairs that wait for people: 7. Run fleet-memory review.",
        "Pairs that wait for a third program: 1. gsp_bootstrap asks those without a lesson.",
        "Pairs that wait for the programs that learnt the lessons: 2. gsp_bootstrap asks them; people "
        "answer any with fleet-memory review.",
    )
    assert program_advice(Signs(total=1), 0, 3) == (
        "3 pairs wait for you: see `toJudge` of gsp_bootstrap, and answer with `verdicts` of "
        "commit_session or "
        "pattern_consolidate.",
    )
    assert fleet_advice({}) == ()
