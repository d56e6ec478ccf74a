"""Which pairs a program is asked about: few at a time, seldom the same, and it remembers that it
was shown them.
"""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.asking import (
    MAX_ASKED,
    MAX_SHOWINGS,
    MAX_SHOWN_PAIRS,
    MAX_VERDICTS_PER_DAY,
    ChosenQuestions,
    chosen_questions,
    verdicts_left,
    with_questions,
    with_verdict,
)
from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.pairs import with_judgement
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair, Verdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Asked, Program
from tests.entries import CHECK, KEY, LOOK, judgement, pair, side
from tests.lessons import START, days, pattern, program

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


def numbered(count: int) -> list[Pair]:
    """Return pairs of a lesson of basher and one of sark each."""
    return [
        pair(
            side("basher", f"Own {n}", pattern_id=f"own-{n}"),
            side("sark", f"Other {n}", pattern_id=f"other-{n}"),
        )
        for n in range(count)
    ]


def named(name: str, *patterns: Pattern) -> Program:
    return program(*patterns, program_id=name)


def judged(*verdicts: tuple[str | None, Verdict], steering: str = "") -> Pair:
    after = pair(steering=steering)
    for name, verdict in verdicts:
        after = with_judgement(
            after,
            judgement(name, verdict, sides={"basher": ("a",), "sark": ("b",)}.get(name or "", ())),
        )
    return after


def shown_often(pairs: Sequence[Pair], times: int) -> Program:
    """Return basher after it was shown pairs so often, an hour and a minute apart, the first time
    at START.
    """
    known = program()
    for number in range(times):
        known = with_questions(known, pairs, START + number * (HOUR + MINUTE))
    return known


@pytest.mark.parametrize(
    ("asked", "verdicts", "steering", "is_asked"),
    [
        ("basher", [], "", True),
        ("basher", [("basher", "unsure")], "", False),
        ("basher", [("sark", "same")], "", True),
        ("basher", [("sark", "different")], "", True),
        ("basher", [("sark", "contradict")], "", True),
        ("basher", [], "answer same", False),
        ("iso", [], "", False),
        ("iso", [("basher", "same"), ("sark", "different")], "", True),
        ("iso", [("basher", "same"), ("sark", "different"), ("iso", "unsure")], "", False),
        ("iso", [("basher", "same")], "", False),
        ("iso", [("basher", "same"), ("sark", "different"), (None, "same")], "", False),
        ("Basher/reviewer", [("basher", "same"), ("sark", "different")], "", False),
        ("iso/reviewer", [("basher", "same"), ("sark", "different"), ("iso", "unsure")], "", False),
        ("iso", [("basher", "same"), ("sark", "different"), ("iso/reviewer", "unsure")], "", False),
        ("bashers/reviewer", [("basher", "same"), ("sark", "different")], "", True),
    ],
)
def test_a_program_is_asked_about_its_own_pairs_and_about_those_that_need_a_third(
    asked: str, verdicts: list[tuple[str | None, Verdict]], steering: str, is_asked: bool
) -> None:
    waiting = judged(*verdicts, steering=steering)
    assert chosen_questions(named(asked), [waiting], START).pairs == ([waiting] if is_asked else [])


def test_the_third_showing_lasts_an_hour() -> None:
    (one,) = numbered(1)
    known = shown_often([one], MAX_SHOWINGS)
    last = known.asked[one.pair_id].at
    assert chosen_questions(known, [one], last + HOUR) == ChosenQuestions([one], [])
    assert chosen_questions(known, [one], last + HOUR + MINUTE) == ChosenQuestions([], [one])


def test_showings_within_an_hour_are_one_however_many_follow_each_other() -> None:
    (one,) = numbered(1)
    known = program()
    for number in range(9):  # every 20 minutes: three hours
        known = with_questions(known, [one], START + number * 20 * MINUTE)
    assert known.asked == {one.pair_id: Asked(times=MAX_SHOWINGS, at=START + 2 * 80 * MINUTE)}


def test_showing_again_within_the_hour_changes_nothing() -> None:
    once = with_questions(program(), numbered(2), START)
    assert with_questions(once, numbered(2), START + HOUR) is once
    assert with_questions(once, [], START + days(9)) is once


def test_a_showing_remembers_the_texts_of_others_alone() -> None:
    own_entry = pair(side("basher", CHECK), side("basher", "An entry's text", key=KEY))
    basher = program(pattern(CHECK))
    shown = with_questions(basher, [pair(), own_entry], START).shown
    assert shown == {text_hash(LOOK): START, text_hash("An entry's text"): START}
    third = with_questions(named("iso"), [pair()], START).shown
    assert third == {text_hash(CHECK): START, text_hash(LOOK): START}


calls = st.lists(
    st.tuples(
        st.integers(0, 200),  # minutes since the call before
        st.integers(1, MAX_SHOWN_PAIRS),
        st.sets(st.integers(0, 7)),  # the pairs that ask
    ),
    max_size=40,
)
PAIRS = numbered(8)


@given(calls)
def test_never_more_than_three_and_none_in_more_than_three_hours(
    calls: list[tuple[int, int, set[int]]],
) -> None:
    known, now = program(*(pattern(f"Own {n}", id=f"own-{n}") for n in range(8))), START
    showings: dict[str, list[timedelta]] = {}
    first: dict[str, object] = {}
    for minutes, limit, asking in calls:
        now += minutes * MINUTE
        every = chosen_questions(known, [PAIRS[n] for n in sorted(asking)], now)
        chosen = every._replace(pairs=every.pairs[:limit])
        ids = [one.pair_id for one in chosen.pairs]
        assert len(ids) == len(set(ids)) <= limit
        assert not set(ids) & {one.pair_id for one in chosen.ignored}
        known = with_questions(known, chosen.pairs, now)
        for one in chosen.pairs:
            began = showings.setdefault(one.pair_id, [])
            if not began or now - START - began[-1] > HOUR:
                began.append(now - START)
            first.setdefault(text_hash(one.b.text), now)
    assert all(len(began) <= MAX_SHOWINGS for began in showings.values())
    assert {id_: len(began) for id_, began in showings.items()} == {
        id_: one.times for id_, one in known.asked.items()
    }
    assert known.shown == first


@given(st.lists(st.integers(0, 99), max_size=150))
def test_the_sixty_four_pairs_shown_last_are_remembered(order: list[int]) -> None:
    pairs = numbered(100)
    known = program()
    for step, number in enumerate(order):
        known = with_questions(known, [pairs[number]], START + step * (HOUR + MINUTE))
    latest = list(dict.fromkeys(reversed(order)))[:MAX_ASKED]
    assert list(known.asked) == [pairs[number].pair_id for number in reversed(latest)]


def test_a_clock_that_ran_ahead_uses_up_no_verdict_of_the_day() -> None:
    ahead = program()
    for _ in range(MAX_VERDICTS_PER_DAY):
        ahead = with_verdict(ahead, START + days(300))
    assert verdicts_left(ahead, START) == MAX_VERDICTS_PER_DAY
    assert verdicts_left(ahead, START + days(300) - CLOCK_SKEW / 2) == 0


def test_a_pair_that_a_clock_ahead_showed_counts_its_showings_as_any_other() -> None:
    (one,) = numbered(1)
    chosen = [one]
    known = with_questions(program(), chosen, START + days(300))
    assert with_questions(known, chosen, START + days(300) - CLOCK_SKEW) is known
    for number in range(MAX_SHOWINGS - 1):
        assert chosen_questions(known, [one], START).pairs == [one]
        known = with_questions(known, chosen, START + number * (HOUR + MINUTE))
    assert known.asked == {one.pair_id: Asked(times=MAX_SHOWINGS, at=START + HOUR + MINUTE)}
    last = with_questions(
        program(asked={one.pair_id: Asked(times=2, at=START)}), chosen, START + days(300)
    )
    assert chosen_questions(last, [one], START + days(1)) == ChosenQuestions([], [one])
