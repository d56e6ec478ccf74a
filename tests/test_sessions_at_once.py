"""Several agents under one name: sessions of a program whose lessons interleave in time."""

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.health import MANY_SESSIONS, Signs, program_advice, sessions_at_once
from fleet_memory.schemas.patterns import Pattern
from tests.lessons import START, days, pattern

NOW = START + days(7)


def stored(sessions: str) -> list[Pattern]:
    """Return a lesson an hour, each of the session of its letter; "." is a lesson without one."""
    return [
        pattern(
            id=f"p{n}",
            session_id=None if name == "." else name,
            stored_at=START + timedelta(hours=n),
        )
        for n, name in enumerate(sessions)
    ]


def at_once(sessions: str) -> int:
    return sessions_at_once(stored(sessions), NOW)


def test_sessions_that_follow_each_other_are_one_agent() -> None:
    assert [at_once(one) for one in ("A", "AABBCC", "ABCDE", "..A.A..")] == [1] * 4
    assert at_once("") == at_once("...") == 0


def test_sessions_whose_lessons_interleave_are_counted() -> None:
    assert at_once("ABA") == 2
    assert at_once("ABCABC") == 3
    assert at_once("ABABCBC") == 2
    assert at_once("ABACBDCEDFE") == 2
    assert at_once("ABCDEABCDE") == 5
    assert at_once("ABADCDC") == 2


def test_sessions_of_longer_ago_than_a_week_do_not_count() -> None:
    assert sessions_at_once(stored("ABCABC"), START + timedelta(days=7, hours=6)) == 0


def _advice(sessions: int) -> tuple[str, ...]:
    return program_advice(Signs(total=1, sessions=sessions), 0, 0)


def test_two_are_no_reason_to_warn_and_three_are() -> None:
    assert _advice(MANY_SESSIONS - 1) == ()
    (line,) = _advice(MANY_SESSIONS)
    assert line.startswith("3 sessions of yours stored lessons at the same time.")
    assert "FLEET_MEMORY_PROGRAM" in line


lessons = st.lists(
    st.builds(
        lambda session, hour: pattern(session_id=session, stored_at=START + timedelta(hours=hour)),
        st.sampled_from(["A", "B", "C", "D", None]),
        st.integers(0, 24),
    ),
    max_size=12,
)


@given(lessons=lessons, other=lessons)
def test_it_counts_sessions_in_any_order_and_never_fewer_with_more_lessons(
    lessons: Sequence[Pattern], other: Sequence[Pattern]
) -> None:
    count = sessions_at_once(lessons, NOW)
    assert count == sessions_at_once(lessons[::-1], NOW)
    assert count <= len({lesson.session_id for lesson in lessons} - {None})
    assert count <= sessions_at_once([*lessons, *other], NOW)
