from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.retrieval.ranking import STRENGTH_BOOST, Terms, by_relevance, by_strength, recomputed

units = st.floats(0, 1, allow_nan=False)
pools = st.lists(st.tuples(st.floats(-1, 1, allow_nan=False), units, units), min_size=1, max_size=20)


@given(pools)
def test_every_score_recomputes_from_its_terms(pool: list[tuple[float, float, float]]) -> None:
    cosines, words, strengths = map(list, zip(*pool, strict=True))
    for one in by_relevance(cosines, words, strengths):
        assert recomputed(one.terms) == one.score


@given(pools)
def test_strength_never_overturns_a_clear_difference_in_relevance(pool: list[tuple[float, float, float]]) -> None:
    cosines, words, strengths = map(list, zip(*pool, strict=True))
    ranked = by_relevance(cosines, words, strengths)
    relevance = [0.5 * (one.terms.semantic or 0) + 0.5 * (one.terms.words or 0) for one in ranked]
    for place, value in enumerate(relevance):
        assert all(later <= value + STRENGTH_BOOST + 1e-3 for later in relevance[place:])


def test_what_matches_neither_in_words_nor_in_meaning_is_left_out() -> None:
    assert [one.position for one in by_relevance([0.1, 0.5, 0.0], [0.0, 0.0, 0.9], [1.0, 0.1, 0.1])] == [1, 2]


def test_without_a_question_the_strongest_comes_first_and_ties_keep_their_order() -> None:
    assert [one.position for one in by_strength([0.2, 0.9, 0.2, 0.5])] == [1, 3, 0, 2]


def test_the_score_of_a_lesson_that_no_question_ranked_is_its_strength() -> None:
    assert recomputed(Terms(strength=0.4)) == 0.4
