"""Questions that memory could not answer: counted by their words, the newest kept."""

from fleet_memory.rules.lifecycle.state import MAX_MISSING, distinct_questions, with_missing
from fleet_memory.schemas.programs import Missing
from tests.lessons import START, days

PORT = Missing(text="Which port does the proxy use?", times=1, at=START)
OWNER = Missing(text="Who owns the billing schema?", times=1, at=START)


def test_a_question_is_counted_by_its_words_and_the_latest_is_last() -> None:
    first = with_missing((), [PORT.text, OWNER.text], START)
    assert first == (PORT, OWNER)
    later = START + days(1)
    again = Missing(text="which port does the  proxy use", times=2, at=later)
    assert with_missing(first, [again.text], later) == (OWNER, again)


def test_a_session_that_repeats_a_question_counts_it_once() -> None:
    assert with_missing((), [PORT.text, PORT.text.upper()], START) == (
        Missing(text=PORT.text.upper(), times=1, at=START),
    )


def test_questions_of_equal_words_are_one_without_spaces_around_it() -> None:
    assert distinct_questions(["a", " A", "a ", "b"]) == {"a": "a", "b": "b"}


def test_the_newest_questions_stay() -> None:
    missing = with_missing((), [f"Question {number}" for number in range(40)], START)
    assert [one.text for one in missing] == [
        f"Question {number}" for number in range(40 - MAX_MISSING, 40)
    ]
    assert with_missing(missing, [], START) == missing
