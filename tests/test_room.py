"""The room of a memory: the lessons at hand, and those that leave it, the weakest first."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.errors import CapacityExceededError
from fleet_memory.repositories import programs
from fleet_memory.repositories.programs import document_size, with_room
from fleet_memory.rules.lifecycle.admission import with_pattern
from fleet_memory.rules.lifecycle.room import at_hand
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import MAX_PATTERNS, DecayConfig, Program
from tests.lessons import START, days, pattern, program

LATER = START + timedelta(hours=1)


def crowd(count: int, chars: int = 10) -> list[Pattern]:
    """Return lessons p0, p1 ... from the weakest to the strongest."""
    return [
        pattern(f"{n}", id=f"p{n}", confidence=(n + 1) / (count + 1), evidence="e" * chars)
        for n in range(count)
    ]


def gone(before: Program, after: Program) -> list[str]:
    change = with_room(before, after, LATER)
    lines = change.archived
    assert {line.reason for line in lines} <= {"cap"}
    assert {line.pattern.id for line in lines} | set(change.program.patterns) == set(after.patterns)
    return [line.pattern.id for line in lines]


def test_the_strongest_that_are_not_stale_are_at_hand_and_every_contribution() -> None:
    old = pattern("old", id="old", confidence=1.0, last_reinforced=START - days(91))
    shared = pattern("shared", id="shared", confidence=0.0, knowledge_keys=("pattern/a/b",))
    weak, strong = pattern("weak", id="weak", confidence=0.1), pattern("strong", id="strong")
    for cap, ids in ((1, {"strong"}), (2, {"strong", "weak"}), (3, {"strong", "weak", "old"})):
        decay = DecayConfig(max_unpromoted_patterns=cap)
        whole = program(old, weak, shared, strong, decay=decay)
        assert set(at_hand(whole, START)) == ids | {"shared"}


@pytest.mark.parametrize("over", [1, 3])
def test_over_500_lessons_the_weakest_leave_and_never_the_one_that_is_stored(over: int) -> None:
    before = program(*crowd(MAX_PATTERNS + over - 1))
    after = with_pattern(before, pattern("Mine", id="mine", confidence=0.0))
    assert gone(before, after) == [f"p{n}" for n in range(over)]


def test_stale_lessons_leave_before_all_others_contributions_too() -> None:
    old = pattern("old", id="old", confidence=1.0, last_reinforced=START - days(91))
    shared = replace(old, id="shared", confidence=0.99, knowledge_keys=("pattern/a/b",))
    before = program(*crowd(MAX_PATTERNS - 1), old, shared)
    after = with_pattern(before, pattern("Mine", id="mine"))
    assert gone(before, after) == ["shared", "old"]


def test_lessons_stale_for_another_90_days_leave_before_the_weakest() -> None:
    oldest = pattern("oldest", id="oldest", confidence=1.0, last_reinforced=START - days(181))
    oldest = replace(oldest, doublings=4)
    old = pattern("old", id="old", confidence=0.0, last_reinforced=START - days(179))
    before = program(*crowd(MAX_PATTERNS - 1), oldest, old)
    after = with_pattern(before, pattern("Mine", id="mine"))
    assert gone(before, after) == ["oldest", "old"]


def test_a_document_that_would_be_too_large_loses_its_weakest_lessons() -> None:
    before = program(*crowd(440, chars=1_800))
    assert document_size(before) < programs.MAX_PROGRAM_BYTES
    large = pattern("Mine", id="mine", evidence="x" * 20_000)
    after = with_room(before, with_pattern(before, large), LATER).program
    assert document_size(after) <= programs.MAX_PROGRAM_BYTES
    assert "mine" in after.patterns
    assert len(after.patterns) > 425


def test_of_many_new_lessons_the_strongest_stay() -> None:
    before = program()
    after = replace(before, patterns={one.id: one for one in crowd(MAX_PATTERNS + 40)})
    assert gone(before, after) == [f"p{n}" for n in range(40)]


def test_a_memory_that_only_a_new_lesson_could_leave_is_full() -> None:
    before = replace(program(), config={"all": "x" * programs.MAX_PROGRAM_BYTES})
    with pytest.raises(CapacityExceededError, match="basher's memory is full"):
        with_room(before, with_pattern(before, pattern()), LATER)


@given(st.lists(st.tuples(st.integers(0, 12), st.floats(0, 1)), max_size=40), st.integers(1, 4))
def test_at_hand_are_as_many_as_the_cap_says_after_any_stores(
    stores: list[tuple[int, float]], cap: int
) -> None:
    memory = program(decay=DecayConfig(max_unpromoted_patterns=cap))
    for name, confidence in stores:
        lesson = pattern(f"{name}", id=f"p{name}", confidence=confidence)
        memory = with_pattern(memory, lesson)
    assert len(at_hand(memory, START)) == min(cap, len(memory.patterns))
