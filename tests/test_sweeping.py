"""The decay sweep: the lessons that leave for the archive, those that stay, and when a program is
looked at again.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.lifecycle.decay import is_prunable
from fleet_memory.rules.lifecycle.room import sweep_after, swept
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Archived, DecayConfig, Program

NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)
PRUNABLE_AFTER = timedelta(days=180)
MOMENT = timedelta(milliseconds=1)


def learnt(id_: str, age: timedelta, **fields: Any) -> Pattern:  # noqa: ANN401 of any field; pydantic checks them
    at = NOW - age
    return Pattern(
        id=id_,
        pattern=id_,
        domain="d",
        confidence=0.5,
        discovered_at=at,
        last_reinforced=at,
        stored_at=at,
        **fields,
    )


def program(*patterns: Pattern, **fields: Any) -> Program:  # noqa: ANN401 of any field, as above
    return Program(
        program_id="basher", patterns={p.id: p for p in patterns}, last_update=NOW, **fields
    )


def test_a_lesson_stale_for_more_than_ninety_days_is_archived_and_one_at_ninety_stays() -> None:
    old, edge = learnt("old", PRUNABLE_AFTER + MOMENT), learnt("edge", PRUNABLE_AFTER)
    before = program(old, edge, pending=("old", "edge"))
    after, archived = swept(before, NOW)
    assert archived == (Archived(program_id="basher", pattern=old, reason="decay", at=NOW),)
    assert after == replace(before, patterns={"edge": edge}, pending=("edge",))
    assert stamped(before, after, NOW) == replace(after, pending=("edge", "old"), changes=1)


def test_a_program_with_nothing_prunable_is_left_untouched() -> None:
    before = program(learnt("young", timedelta(days=100)))
    assert swept(before, NOW).program is before


def test_a_promoted_lesson_fades_like_any_other_and_its_entry_keeps_its_contribution() -> None:
    old = learnt("old", PRUNABLE_AFTER + MOMENT, knowledge_key="pattern/d/old")
    after, archived = swept(program(old), NOW)
    assert (after.patterns, archived) == (
        {},
        (Archived(program_id="basher", pattern=old, reason="decay", at=NOW),),
    )


def test_an_echo_fades_too() -> None:
    before = program(
        learnt("echo", PRUNABLE_AFTER + MOMENT, knowledge_key="pattern/d/x", echo=True)
    )
    assert [line.pattern.id for line in swept(before, NOW).archived] == ["echo"]


@given(
    ages=st.lists(st.integers(0, 400), max_size=6),
    promoted=st.sets(st.integers(0, 5)),
    decay=st.builds(DecayConfig, max_age=st.integers(1, 200), prune_after=st.integers(1, 200)),
    later=st.integers(0, 200),
)
def test_the_sweep_is_due_exactly_when_it_would_archive(
    ages: list[int], promoted: set[int], decay: DecayConfig, later: int
) -> None:
    patterns = [
        learnt(f"p{n}", timedelta(days=age), knowledge_key=f"k{n}" if n in promoted else None)
        for n, age in enumerate(ages)
    ]
    once = swept(program(*patterns, decay=decay), NOW).program
    assert swept(once, NOW).program is once
    then = NOW + timedelta(days=later, seconds=1)
    after = sweep_after(once)
    gone = swept(once, then).archived
    assert bool(gone) == (after is not None and after < then.timestamp())
    assert all(is_prunable(line.pattern, then, decay) for line in gone)
