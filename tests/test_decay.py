from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_memory.rules.lifecycle.decay import (
    age_days,
    contradicted,
    half_life_days,
    is_prunable,
    is_stale,
    living,
    reinforced,
    stale_in_days,
    strength,
    strengths,
)
from fleet_memory.schemas.programs import DecayConfig
from tests.lessons import START, days, pattern

confidences = st.floats(0, 1, allow_nan=False)
ages = st.floats(0, 2000, allow_nan=False)


def test_a_pattern_is_not_stale_after_exactly_90_days() -> None:
    assert not is_stale(pattern(), START + days(90), DecayConfig())


def test_a_pattern_is_stale_a_moment_after_90_days() -> None:
    assert is_stale(pattern(), START + days(90) + timedelta(milliseconds=1), DecayConfig())


def test_a_stale_pattern_is_prunable_after_another_90_days() -> None:
    assert not is_prunable(pattern(), START + days(180), DecayConfig())
    assert is_prunable(pattern(), START + days(180.01), DecayConfig())


@given(st.integers(0, 10**9), st.integers(-2, 2), st.integers(1, 3_650))
@example(offset=6, later=0, max_age=90)  # seconds since 1970 as floats lose a bit in 2038
def test_to_the_microsecond_a_pattern_is_stale_once_its_days_are_over(
    offset: int, later: int, max_age: int
) -> None:
    lesson = pattern(
        last_reinforced=datetime(2037, 12, 1, tzinfo=UTC) + timedelta(microseconds=offset)
    )
    now = lesson.last_reinforced + timedelta(days=max_age, microseconds=later)
    assert is_stale(lesson, now, DecayConfig(max_age=max_age)) == (later > 0)
    assert is_prunable(lesson, now + days(90), DecayConfig(max_age=max_age)) == (later > 0)


def test_a_programs_own_decay_config_decides() -> None:
    assert is_stale(pattern(), START + days(8), DecayConfig(max_age=7))


def test_strength_halves_in_thirty_days() -> None:
    assert strength(pattern(confidence=0.8), START + days(30)) == pytest.approx(0.4)


def test_each_spaced_reinforcement_doubles_the_half_life_up_to_four_times() -> None:
    lesson, now = pattern(), START
    seen = []
    for _ in range(6):
        now += days(2)
        lesson = reinforced(lesson, now=now)
        seen.append(half_life_days(lesson))
    assert seen == [60, 120, 240, 480, 480, 480]


def test_reinforcing_ten_times_in_one_day_counts_once() -> None:
    lesson = pattern()
    for hour in range(10):
        lesson = reinforced(lesson, now=START + days(3) + timedelta(hours=hour))
    assert (lesson.doublings, lesson.confirmations) == (1, 10)


@given(confidences, ages, ages)
def test_strength_never_rises_with_age(confidence: float, one: float, two: float) -> None:
    lesson = pattern(confidence=confidence)
    early, late = sorted((one, two))
    assert (
        strength(lesson, START + days(late)) <= strength(lesson, START + days(early)) <= confidence
    )


@given(st.lists(st.tuples(confidences, st.floats(-10, 2000), st.integers(0, 9)), max_size=5))
def test_lessons_together_have_the_strength_and_the_staleness_of_each(
    told: list[tuple[float, float, int]],
) -> None:
    now, decay = START + days(1000), DecayConfig(max_age=90)
    lessons = [
        pattern(confidence=confidence, doublings=doublings, last_reinforced=now - days(age))
        for confidence, age, doublings in [*told, (0.8, 90, 0), (0.8, 90.1, 0)]
    ]
    assert strengths(lessons, now) == pytest.approx(
        [strength(lesson, now) for lesson in lessons], rel=1e-12
    )
    assert living(lessons, now, decay) == [
        lesson for lesson in lessons if not is_stale(lesson, now, decay)
    ]


@given(confidences, ages, st.none() | confidences)
def test_a_contradiction_never_raises_strength(
    confidence: float, age: float, given_confidence: float | None
) -> None:
    lesson, now = pattern(confidence=confidence), START + days(age)
    after = contradicted(lesson, now=now, confidence=given_confidence)
    assert strength(after, now) <= strength(lesson, now)
    assert after.last_reinforced == lesson.last_reinforced


@given(ages)
def test_age_and_days_left_add_up_to_the_maximum_age(age: float) -> None:
    lesson, now = pattern(), START + days(age)
    assert age_days(lesson, now) + stale_in_days(lesson, now, DecayConfig()) == pytest.approx(90)


def test_a_clock_that_is_behind_makes_no_negative_age() -> None:
    assert age_days(pattern(), START - days(1)) == 0
    assert strength(pattern(confidence=0.8), START - days(1)) == 0.8
