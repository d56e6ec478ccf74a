from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.knowledge.promotion import (
    Waiting,
    attached,
    entry_of,
    independent_origins,
    is_echo,
    is_independent,
)
from fleet_memory.schemas.knowledge import Entry
from tests.lessons import START, days, pattern

origins = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | st.sampled_from("123")), max_size=12)


def learnt(program_id: str, confidence: float, **fields: Any) -> Waiting:  # noqa: ANN401 of any field of a pattern
    return Waiting(program_id, pattern(id=f"{program_id}-1", confidence=confidence, **fields))


def test_an_entry_has_the_shape_of_the_design() -> None:
    group = [learnt("sark", 0.89), learnt("basher", 0.92), learnt("iso", 0.8, last_reinforced=START + days(3))]
    entry = entry_of(group, 1, [0.9, 1.0, 0.8], now=START + days(21))
    assert entry.wire() | {"provenance": len(entry.provenance)} == {
        "namespace": "knowledge",
        "key": "pattern/task-claiming/check-status-before-claiming",
        "value": {
            "pattern": "Check the status before claiming",
            "domain": "task-claiming",
            "confidence": 0.89,
            "contributors": ["basher", "iso", "sark"],
            "evidenceCount": 3,
            "firstDiscovered": "2026-02-14T08:23:00Z",
            "lastPromoted": "2026-03-07T08:23:00Z",
        },
        "tier": "architectural",
        "description": "Auto-promoted from 3 independent agent discoveries",
        "version": 1,
        "status": "active",
        "provenance": 3,
        "lastConfirmed": "2026-02-17T08:23:00Z",
        "confirmations": 0,
        "contradictions": [],
        "since": 0,
        "unpublished": True,
        "requestIds": [],
        "vector": "",
        "embedder": "",
    }


def test_programs_that_share_a_session_are_one_origin() -> None:
    assert independent_origins([("basher", "s1"), ("sark", "s1")]) == 1
    assert independent_origins([("basher", "s1"), ("sark", "s1"), ("sark", "s2"), ("iso", "s2")]) == 1
    assert independent_origins([("basher", "s1"), ("sark", "s2")]) == 2
    assert independent_origins([("basher", None), ("sark", None)]) == 2


@given(origins)
def test_origins_are_never_more_than_programs_and_do_not_depend_on_order(found: list[tuple[str, str | None]]) -> None:
    count = independent_origins(found)
    assert count <= len({program for program, _ in found})
    assert count == independent_origins(reversed(found)) == independent_origins([*found, *found])


def test_a_lesson_stored_after_booting_with_the_entry_is_an_echo() -> None:
    assert is_echo(pattern(knowledge_seen=3), since=3)
    assert not is_echo(pattern(knowledge_seen=2), since=3)
    assert not is_echo(pattern(knowledge_seen=2), since=0)


def test_a_new_contributor_moves_the_median_and_a_known_one_only_confirms() -> None:
    entry = entry_of([learnt("basher", 0.9), learnt("sark", 0.8)], 0, [1.0, 0.9], now=START)
    grown = attached(entry, learnt("iso", 0.5), 0.7, now=START + days(5))
    assert (grown.value.confidence, grown.value.contributors) == (0.8, ("basher", "iso", "sark"))
    again = attached(grown, learnt("iso", 0.1, last_reinforced=START + days(9)), 0.7, now=START + days(9))
    assert (again.value, again.last_confirmed) == (grown.value, START + days(9))


def entry_from(*lessons: Waiting) -> Entry:
    return entry_of(lessons, 0, [1.0] * len(lessons), now=START)


def test_a_program_that_contributed_has_no_second_vote_and_another_one_has() -> None:
    entry = entry_from(learnt("basher", 0.9), learnt("sark", 0.8))
    assert not is_independent(entry, learnt("sark", 0.5))
    assert is_independent(entry, learnt("iso", 0.8))


def test_a_lesson_from_a_session_that_contributed_has_no_vote() -> None:
    entry = entry_from(learnt("basher", 0.9, session_id="s1"), learnt("sark", 0.8, session_id="s2"))
    assert not is_independent(entry, learnt("iso", 0.8, session_id="s1"))
    assert is_independent(entry, learnt("iso", 0.8, session_id="s3"))


def test_an_echo_has_no_vote() -> None:
    entry = replace(entry_from(learnt("basher", 0.9), learnt("sark", 0.8)), since=3)
    assert not is_independent(entry, learnt("iso", 0.8, knowledge_seen=3))
    assert is_independent(entry, learnt("iso", 0.8, knowledge_seen=2))


def test_a_rule_that_people_set_takes_no_votes() -> None:
    entry = replace(entry_from(learnt("basher", 0.9), learnt("sark", 0.8)), tier="constitutional")
    assert not is_independent(entry, learnt("iso", 0.8))
