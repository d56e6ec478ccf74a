from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.retrieval.ranking import (
    FITS_WELL,
    STRENGTH_BOOST,
    Match,
    Terms,
    by_relevance,
    by_strength,
    fits_well,
    recomputed,
)
from fleet_memory.schemas.knowledge import KnowledgeRow

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


def _match(score: float) -> Match[KnowledgeRow]:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    row = KnowledgeRow(
        key="pattern/claims/1", pattern="Release it.", domain="claims", confidence=0.8, last_confirmed=when
    )
    return Match(row, score, Terms(strength=0.8))


def test_the_best_match_fits_well_from_a_limit_on() -> None:
    assert fits_well([_match(FITS_WELL), _match(0.1)])
    assert not fits_well([_match(FITS_WELL - 0.01)])
    assert not fits_well([])
