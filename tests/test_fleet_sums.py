"""The sums of a fleet: as one reads it now, from the instants that a run knew, and small however
large the fleet.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from math import cos, radians, sin

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.health.duplicates import Scale, repeat_spans, repeats
from fleet_memory.rules.health.fleet import forecast, looked_at
from fleet_memory.rules.health.known_looks import KnownLook, known_look
from fleet_memory.rules.health.program import signs
from fleet_memory.rules.health.sums import (
    count_unwell,
    fading_from,
    fleet_sums,
    next_sums,
    signs_of,
)
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.lifecycle.paging import paged_lesson
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.health import Forecast
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Missing, Program
from fleet_memory.schemas.similarity import Profile
from tests.lessons import START, days, pattern, program

NOW = START + days(100)
SCALE = Scale("e", Profile(alike=0.70))
TEXTS = (
    "Always use pnpm for installs",
    "Never use pnpm for installs",
    "Use pnpm for installs",
    "use PNPM for installs!",
    "Install with pnpm",
)
ANGLES = (0, 1, 6, 13, 25, 38, 54, 81)  # degrees; no two of them are as far apart as two others


def turned(degrees: float) -> str:
    return packed(np.array([cos(radians(degrees)), sin(radians(degrees))], np.float32))


instants = st.timedeltas(timedelta(), days(200)).map(lambda age: NOW - age)


@st.composite
def lessons(draw: st.DrawFn) -> list[Pattern]:
    angles = draw(st.lists(st.sampled_from(ANGLES), unique=True, max_size=8))
    texts = [draw(st.sampled_from(TEXTS)) for _ in angles]
    return [
        pattern(
            text,
            id=f"p{number}",
            words=text_hash(text),
            vector=turned(angle),
            embedder=draw(st.sampled_from("eeee-")),
            stored_at=draw(instants),
            last_reinforced=draw(instants),
            project_id=draw(st.sampled_from((None, None, None, "a"))),
            session_id=draw(st.sampled_from((None, "s", "t", "u"))),
            confirmations=draw(st.integers(0, 1)),
            knowledge_key=draw(st.sampled_from((None, "pattern/d/x"))),
            echo=draw(st.booleans()),
        )
        for number, (angle, text) in enumerate(zip(angles, texts, strict=True))
    ]


@st.composite
def fleets(draw: st.DrawFn) -> list[Program]:
    return [
        program(
            *(known := draw(lessons())),
            program_id=f"program-{number}",
            paged={one.id: paged_lesson(one, 1) for one in known if draw(st.integers(0, 3)) == 0},
            pending=tuple(one.id for one in known if draw(st.booleans())),
            decay=DecayConfig(
                max_age=draw(st.sampled_from((30, 90))),
                max_unpromoted_patterns=draw(st.integers(1, 9)),
            ),
            missing=tuple(
                Missing(
                    text=draw(st.sampled_from(TEXTS)),
                    times=draw(st.integers(1, 3)),
                    at=draw(instants),
                )
                for _ in range(draw(st.integers(0, 2)))
            ),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


def known(programs: Sequence[Program]) -> dict[str, KnownLook]:
    return {one.program_id: known_look(one, repeat_spans(one, SCALE)) for one in programs}


@given(
    fleets(),
    st.one_of(
        st.just(timedelta()), st.timedeltas(timedelta(), days(120)), st.integers(0, 120).map(days)
    ),
)
def test_the_sums_that_a_run_knows_later_are_those_of_reading_the_fleet_then(
    programs: list[Program], later: timedelta
) -> None:
    now = NOW + later
    heads = [replace(one, patterns=one.active) for one in programs]
    assert next_sums(known(programs), None, now) == fleet_sums(
        [looked_at(one, SCALE, now) for one in heads], now
    )


def test_once_the_nearest_earlier_lesson_is_stale_the_next_nearest_decides() -> None:
    def of(text: str, degrees: int, stored: int, reinforced: int) -> Pattern:
        vector, at = turned(degrees), NOW - days(reinforced)
        return pattern(
            text,
            id=text,
            words=text,
            embedder="e",
            vector=vector,
            stored_at=START + days(stored),
            last_reinforced=at,
        )

    same, opposed = (
        of("Use pnpm for installs", 20, 0, 10),
        of("Never use pnpm for installs", 6, 1, 30),
    )
    gone = of("Install with pnpm", 1, 2, 60)
    one = program(same, opposed, gone, of("Always use pnpm for installs", 0, 3, 0))
    for later, expected in ((0, 1), (30, 1), (31, 0), (60, 0), (61, 1), (80, 1), (81, 0)):
        now = NOW + days(later)
        active = [each for each in one.patterns.values() if not is_stale(each, now, one.decay)]
        counted = [
            span for span in repeat_spans(one, SCALE) if span.begin < now.timestamp() <= span.end
        ]
        assert len(counted) == len(repeats(active, SCALE)), later
        assert len(counted) == expected, later


@given(fleets())
def test_the_numbers_of_the_fleet_are_those_of_its_sums(programs: list[Program]) -> None:
    sums = fleet_sums([looked_at(one, SCALE, NOW) for one in programs], NOW)
    seen = [signs(one, SCALE, NOW) for one in programs]
    assert signs_of(sums).stale == sum(one.stale for one in seen)
    assert len(signs_of(sums).repeats) == sum(len(one.repeats) for one in seen)
    assert signs_of(sums).stale_ratio == signs_of(sums)._replace(repeats=[]).stale_ratio


def test_the_sums_of_a_large_fleet_name_25_programs_and_questions_and_count_the_others() -> None:
    asked = tuple(Missing(text="é" * 300, times=1, at=NOW) for _ in range(32))
    worst = [
        replace(
            program(
                *(
                    pattern(id=f"p{n}", session_id=f"s{n % 3}", stored_at=NOW - n * days(1))
                    for n in range(7)
                )
            ),
            program_id=f"{number:04}".rjust(100, "x"),
            missing=tuple(
                replace(one, text=f"{number} {n} {one.text}"[:300]) for n, one in enumerate(asked)
            ),
        )
        for number in range(300)
    ]
    sums = fleet_sums([looked_at(one, SCALE, NOW) for one in worst], NOW)
    assert (len(sums.unwell), count_unwell(sums)) == (25, 300)
    assert (len(sums.missing), sums.missing_count) == (25, 300 * 32)
    assert len(sums.names_advice) == 1
    assert len(sums.compact().encode()) < 25_000


def test_a_lesson_was_learnt_lately_until_exactly_30_days_later() -> None:
    one = program(
        pattern(stored_at=NOW - days(30)), pattern(id="older", stored_at=NOW - days(30.01))
    )
    sums = next_sums(known([one]), None, NOW)
    assert sums == fleet_sums([looked_at(one, SCALE, NOW)], NOW)
    assert sums is not None
    assert signs_of(sums).learnt == 1


def test_sums_that_still_hold_are_not_made_again_on_the_same_day() -> None:
    fresh = program(
        *(pattern(id=f"p{n}", last_reinforced=NOW - days(40 + 1.04 * n)) for n in range(9))
    )
    before = next_sums(known([fresh]), None, NOW)
    assert before is not None
    assert next_sums(known([fresh]), before, NOW + timedelta(hours=3)) is None
    tomorrow = NOW + days(1)
    assert next_sums(known([fresh]), before, tomorrow) == next_sums(known([fresh]), None, tomorrow)


def test_sums_are_made_again_once_a_lesson_has_turned_stale_or_was_reinforced() -> None:
    one, soon = program(pattern(last_reinforced=NOW - days(89.9))), NOW + timedelta(hours=3)
    before = next_sums(known([one]), None, NOW)
    after = next_sums(known([one]), before, soon)
    assert after is not None
    assert (signs_of(after).stale, after.at) == (1, soon)
    reinforced = program(pattern(last_reinforced=NOW - days(50)))
    assert next_sums(known([reinforced]), before, NOW) == next_sums(known([reinforced]), None, NOW)


def test_the_forecast_moves_on_with_the_age_of_the_sums() -> None:
    ages = (85, 75, 45, 35)  # days; they turn stale in 5, 15, 45 and 55
    one = program(*(pattern(id=f"p{age}", last_reinforced=NOW - days(age)) for age in ages))
    sums = fleet_sums([looked_at(one, SCALE, NOW)], NOW)
    assert forecast(fading_from(sums, NOW), [], NOW) == (
        Forecast(days=7, stale=1, verify=0),
        Forecast(days=21, stale=2, verify=0),
    )
    assert forecast(fading_from(sums, NOW + days(10.5)), [], NOW) == (
        Forecast(days=7, stale=1, verify=0),
    )
    assert forecast(fading_from(sums, NOW + days(30)), [], NOW) == (
        Forecast(days=21, stale=1, verify=0),
        Forecast(days=30, stale=2, verify=0),
    )
    assert forecast(fading_from(sums, NOW + days(31)), [], NOW) == (
        Forecast(days=21, stale=1, verify=0),
        Forecast(days=30, stale=None, verify=0),
    )
    assert forecast(fading_from(sums, NOW + days(400)), [], NOW) == (
        Forecast(days=7, stale=None, verify=0),
    )
    assert fading_from(sums, NOW - days(1)) == sums.fading  # of a clock that is behind
