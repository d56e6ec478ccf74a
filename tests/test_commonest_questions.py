"""Questions that memory could not answer, of all programs: equal words are one, the commonest and
newest first.
"""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.health import Look, Signs, commonest_questions
from fleet_memory.schemas.programs import Missing, MissingQuestion
from tests.lessons import START, days


def asked(text: str, times: int = 1, age: float = 0) -> Missing:
    return Missing(text=text, times=times, at=START - days(age))


def of_programs(programs: Sequence[Sequence[Missing]]) -> list[MissingQuestion]:
    return commonest_questions(
        Look(str(at), Signs(), missing) for at, missing in enumerate(programs)
    )


def test_equal_words_are_one_question_with_its_newest_text() -> None:
    basher = [asked("how do we deploy?", 2, age=1), asked("Which port is free?", 1)]
    iso = [asked("How do we deploy?"), asked("Who reviews?", 1, age=2)]
    assert of_programs([basher, iso, []]) == [
        MissingQuestion(text="How do we deploy?", times=3, programs=2),
        MissingQuestion(text="Which port is free?", times=1, programs=1),
        MissingQuestion(text="Who reviews?", times=1, programs=1),
    ]


questions = st.lists(
    st.builds(
        asked, st.sampled_from(["a?", "A?", "b", "c d"]), st.integers(1, 9), st.integers(0, 9)
    )
)


@given(programs=st.lists(questions, max_size=4))
def test_no_question_is_lost_or_counted_twice_for_any_order_of_programs(
    programs: Sequence[Sequence[Missing]],
) -> None:
    found = of_programs(programs)
    assert sum(one.times for one in found) == sum(
        one.times for program in programs for one in program
    )
    assert found == of_programs(programs[::-1])
    assert [one.times for one in found] == sorted((one.times for one in found), reverse=True)
