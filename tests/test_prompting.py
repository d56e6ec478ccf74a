"""Which lessons fit a prompt: those that share its rare words, and none for a prompt of few
words.
"""

import pytest

from fleet_memory.moment import MAX_FITTING, fitting_places, is_worth_reading

POOL = (
    "Raise default_pool_size of pgbouncer, not SQLAlchemy's pool_size: RDS permits 100 connections"
)
MAIL = "Mail templates are built by `make emails`; what is edited in emails/dist is overwritten"
TEXTS = [POOL, MAIL, "Look before you leap", "Pin the compiler"]


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   ",
        "go on",
        "thanks, looks good",
        "yes do it",
        "ok",
        "/compact",
        "<task-notification>x y z</task>",
        "日本",
    ],
)
def test_a_prompt_of_few_words_is_not_read(prompt: str) -> None:
    assert not is_worth_reading(prompt)


@pytest.mark.parametrize(
    ("prompt", "places"),
    [
        ("connections run out at peak, lets double pool_size to 10", [0]),
        ("the connections of poolSize", [0]),
        ("edit the mail templates in emails/dist", [1]),
        ("rename the variable `res` in the compiler", []),
        ("what is the weather like in the city of the client today", []),
    ],
)
def test_rare_words_in_common_make_a_lesson_fit(prompt: str, places: list[int]) -> None:
    assert is_worth_reading(prompt)
    assert fitting_places(prompt, TEXTS) == places


def test_words_that_every_lesson_has_make_none_fit() -> None:
    alike = [f"{POOL} in region {number}" for number in range(30)]
    assert fitting_places("double pool_size, connections run out", [*alike]) == []


def test_three_fit_at_most_the_best_first() -> None:
    texts = [
        *TEXTS,
        *(
            f"The archiver thread of tenant exports loses rows {name}"
            for name in ("a", "b", "c", "d")
        ),
    ]
    found = fitting_places(
        "archiver thread loses rows of the exports of a tenant, pool_size", texts
    )
    assert len(found) == MAX_FITTING
    assert set(found) < {4, 5, 6, 7}


def test_a_long_paste_fits_nothing_by_the_number_of_its_words() -> None:
    paste = " ".join(f"word{number}" for number in range(400))
    assert fitting_places(f"{paste} mail templates edited", TEXTS) == []
