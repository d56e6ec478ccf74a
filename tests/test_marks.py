"""Consolidation's marks on a program: a verdict, the entry of a lesson; and whether a lesson is still as compared."""

from dataclasses import replace

import pytest

from fleet_memory.rules.consensus.marks import is_as_compared, with_entry, with_verdict
from fleet_memory.rules.consensus.waiting import learnt_of
from fleet_memory.schemas.patterns import Verdict
from tests.lessons import START, pattern, program

CLAIM = pattern()
DEPLOY = pattern("Deploy on Tuesdays", id="p2", domain="deploys")
BASHER = program(CLAIM, DEPLOY, pending=("p1", "p2"))
SAME = Verdict(same=True, judge="iso", at=START, reason="both ask for the status", contributed=False)


def test_a_verdict_is_on_the_lesson_and_nothing_else_changes() -> None:
    judged = with_verdict(BASHER, "p1", "hash", SAME).program
    patterns = {**BASHER.patterns, "p1": replace(CLAIM, verdicts={"hash": SAME})}
    assert judged == replace(BASHER, patterns=patterns)


def test_a_repeated_verdict_and_one_about_a_lesson_that_is_gone_change_nothing() -> None:
    judged = with_verdict(BASHER, "p1", "hash", SAME).program
    assert with_verdict(judged, "p1", "hash", SAME).program is judged
    assert with_verdict(BASHER, "gone", "hash", SAME).program is BASHER


def test_another_verdict_replaces_the_first() -> None:
    different = replace(SAME, same=False)
    judged = with_verdict(with_verdict(BASHER, "p1", "hash", SAME).program, "p1", "hash", different).program
    assert judged.patterns["p1"].verdicts == {"hash": different}


@pytest.mark.parametrize("echo", [False, True])
def test_a_lesson_in_an_entry_is_no_longer_pending_and_its_domain_is_to_be_looked_at(*, echo: bool) -> None:
    patterns = {**BASHER.patterns, "p1": replace(CLAIM, knowledge_key="pattern/a/b", echo=echo)}
    expected = replace(BASHER, patterns=patterns, pending=("p2",), touched=("task-claiming",))
    assert with_entry(BASHER, "p1", "pattern/a/b", echo=echo) == expected


def test_a_lesson_is_as_compared_until_its_text_domain_or_entry_changes() -> None:
    lesson = learnt_of(BASHER, CLAIM)
    assert is_as_compared(BASHER, lesson)
    assert is_as_compared(program(replace(CLAIM, confidence=0.1)), lesson)
    assert not is_as_compared(program(), lesson)
    for changed in ({"pattern": "Claim first"}, {"domain": "deploys"}, {"knowledge_key": "pattern/a/b"}):
        assert not is_as_compared(program(pattern(**changed)), lesson)
