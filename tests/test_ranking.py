from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_memory.rules.retrieval.ranking import (
    CHANCE_WORDS,
    FITS_WELL,
    MAX_NAMES,
    MAX_WORDS_SHARE,
    MIN_NEAREST,
    MIN_RELEVANCE,
    NO_VECTOR,
    STRENGTH_BOOST,
    Match,
    Terms,
    by_relevance,
    by_strength,
    fits_well,
    identifier_shares,
    named_in,
)

Lesson: TypeAlias = tuple[float, float, float, float]
"""Its cosine, and its shares of words, of identifiers, and its strength."""
hundredths = st.integers(0, 10_000).map(lambda number: number / 10_000)
ties = st.integers(0, 9_999).map(
    lambda number: (number + 0.5) / 10_000
)  # between two numbers of four digits
units = st.floats(0, 1, allow_nan=False) | st.sampled_from([0.0, 0.2, 0.5, 1.0]) | hundredths | ties
any_cosine = st.floats(-1, 1, allow_nan=False) | st.just(NO_VECTOR) | units
pools = st.lists(st.tuples(any_cosine, units, units, units), min_size=1, max_size=20)


def _ranked(pool: Sequence[Lesson]) -> list[Match[int]]:
    cosines, words, identifiers, strengths = map(list, zip(*pool, strict=True))
    return list(by_relevance(range(len(pool)), cosines, words, identifiers, strengths))


def rounded(value: float) -> float:
    return float(np.round(value, 4))


def recomputed(terms: Terms) -> float:
    """Return the score that these terms give, as in docs/recall.md."""
    assert terms.semantic is not None
    assert terms.words is not None
    relevance = 1 - (1 - terms.semantic) * (1 - terms.words)
    return rounded(relevance + (terms.identifiers or 0.0) + STRENGTH_BOOST * terms.strength)


def relevance_of(match: Match[int]) -> float:
    return rounded(match.score - STRENGTH_BOOST * match.terms.strength)


def ranked_one_by_one(pool: Sequence[Lesson]) -> list[Match[int]]:
    """Return the ranking by the rules of docs/recall.md for each lesson."""
    every = []
    for position, (cosine, words, identified, strength) in enumerate(pool):
        terms = Terms(
            semantic=rounded(max(0.0, cosine) ** 2),
            words=rounded(MAX_WORDS_SHARE * max(0.0, words - CHANCE_WORDS) / (1 - CHANCE_WORDS)),
            identifiers=rounded(identified),
            strength=rounded(strength),
        )
        every.append(Match(position, recomputed(terms), terms))
    every.sort(key=lambda one: (-one.score, -(one.terms.identifiers or 0.0)))
    return [
        one
        for at, one in enumerate(every)
        if at < MIN_NEAREST or relevance_of(one) >= MIN_RELEVANCE
    ]


@given(pools)
def test_a_pool_is_ranked_as_its_lessons_are_one_by_one(pool: list[Lesson]) -> None:
    assert _ranked(pool) == ranked_one_by_one(pool)


@given(pools)
def test_every_score_recomputes_from_its_terms(pool: list[Lesson]) -> None:
    for one in _ranked(pool):
        assert recomputed(one.terms) == one.score


@given(pools, st.lists(st.tuples(st.just(0.6), units, units, units), max_size=3))
def test_a_score_does_not_depend_on_the_rest_of_the_pool(
    pool: list[Lesson], others: list[Lesson]
) -> None:
    near = {one for one in _ranked(pool) if relevance_of(one) >= MIN_RELEVANCE}
    assert near <= set(_ranked([*pool, *others]))


@given(pools)
def test_strength_never_overturns_a_clear_difference_in_relevance(
    pool: list[Lesson],
) -> None:
    relevance = [one.score - STRENGTH_BOOST * one.terms.strength for one in _ranked(pool)]
    for place, value in enumerate(relevance):
        assert all(later <= value + STRENGTH_BOOST + 1e-3 for later in relevance[place:])


@given(pools)
@example([(1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)])
def test_the_lessons_that_hold_the_only_identifier_of_a_question_come_first(
    pool: list[Lesson],
) -> None:
    ranked = _ranked([(cosine, words, float(held > 0.5), 0.8) for cosine, words, held, _ in pool])
    holding = [one.terms.identifiers for one in ranked]
    assert holding == sorted(holding, key=lambda share: -(share or 0))


def test_meaning_and_words_each_suffice_and_confirm_each_other() -> None:
    meant, worded, both = (
        by_relevance([0], [cosine], [words], [0.0], [0.8])[0].score
        for cosine, words in ((0.8, 0.0), (0.0, 0.8), (0.8, 0.8))
    )
    assert 0.6 < meant < both < 1 + STRENGTH_BOOST
    assert 0.5 < worded < both


def test_a_word_that_texts_have_by_chance_outranks_no_meaning() -> None:
    assert [
        one.lesson for one in by_relevance([0, 1], [0.35, 0.4], [0.15, 0.0], [0.0, 0.0], [0.8, 0.8])
    ] == [1, 0]


def test_the_nearest_five_come_however_far_and_others_only_when_relevant() -> None:
    far, near = (0.1, 0.0, 0.0, 0.8), (0.31, 0.0, 0.0, 0.8)
    assert [one.lesson for one in _ranked([far] * 7)] == [0, 1, 2, 3, 4]
    assert [one.lesson for one in _ranked([far] + [near] * 6)] == [1, 2, 3, 4, 5, 6]
    assert [one.lesson for one in _ranked([far, near])] == [1, 0]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (
            "Does `stock` read X-Request-Id of amount_cents?",
            ["stock", "X-Request-Id", "amount_cents"],
        ),
        ("Why does sys.exit in src/app.py break us-east1?", ["sys.exit", "src/app.py", "us-east1"]),
        (
            "std::vector or createStore with --force in v2.1",
            ["std::vector", "createStore", "--force", "v2.1"],
        ),
        ("How do I keep half-baked work of the API from going live?", []),
        (
            "The plan says 'must be replaced', isn't it ECONNRESET's fault?",
            ["must be replaced", "ECONNRESET"],
        ),
        ("Who prints 'it's late'?", ["it's late"]),
        ("Is it 'a' test of rock 'n' roll, or of `x`?", ["x"]),
        ("Does the iOS build on GitHub reach PostgreSQL?", []),
    ],
)
def test_names_in_code_are_found_in_a_question(question: str, names: list[str]) -> None:
    assert list(named_in(question)) == names


def test_a_text_holds_a_share_of_the_identifiers_that_any_text_holds() -> None:
    texts = [
        "Store amount_cents of `Stock`.",
        "Edit src/main.py; main.pyc is built.",
        "amount_cents_total",
        "",
    ]
    assert identifier_shares("amount_cents in `stock`, no_where", texts) == [1, 0, 0, 0]
    assert identifier_shares("main.py and AMOUNT_CENTS", texts) == [0.5, 0.5, 0, 0]
    assert identifier_shares("which amount do I store?", texts) == [0, 0, 0, 0]
    assert identifier_shares("main.py", ["Read domain.py."]) == [0]
    assert identifier_shares("main.py", []) == []


def test_of_a_question_of_nothing_but_identifiers_the_first_are_looked_up() -> None:
    question = " ".join(f"no_{number}" for number in range(MAX_NAMES - 1))
    texts = ["Read a_1 and a_2", "Read a_2"]
    assert identifier_shares(f"{question} a_1 a_2", texts) == [1, 0]
    assert identifier_shares(f"a_1 a_2 {question}", texts) == [1, 0.5]


def test_without_a_question_the_strongest_comes_first_and_ties_keep_their_order() -> None:
    assert [one.lesson for one in by_strength(range(4), [0.2, 0.9, 0.2, 0.5])] == [1, 3, 0, 2]


def _match(score: float) -> Match[int]:
    return Match(0, score, Terms(strength=1.0))


def test_the_best_match_fits_well_from_a_relevance_on_however_strong_it_is() -> None:
    assert fits_well([_match(FITS_WELL + STRENGTH_BOOST), _match(0.1)])
    assert not fits_well([_match(FITS_WELL + STRENGTH_BOOST - 0.01)])
    assert not fits_well([])
