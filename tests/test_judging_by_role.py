"""Verdicts of callers of the role `judge`: one voice together, and no authors' stead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.consensus.judging import Questions, Ruling, questions, ruling, with_judgement, with_thirds
from fleet_memory.schemas.pairs import MODEL_NAME, Pair
from tests.entries import judgement, pair
from tests.test_judging import OPPOSITE, judged


def by_role(known: Pair, *names: str) -> Pair:
    for name in names:
        known = with_judgement(known, judgement(name, by_role=True, contributed=name in ("basher", "sark")))
    return known


@given(
    st.lists(st.sampled_from(("jud", "JAD", "rinzler", "basher", "sark")), min_size=1), st.sampled_from(("", OPPOSITE))
)
def test_callers_of_the_role_judge_are_one_judge_and_the_sides_are_asked(names: list[str], objection: str) -> None:
    after = by_role(pair(objection=objection), *names)
    assert ruling(after) == (Ruling("open") if objection else Ruling("same", sure=False))
    assert questions(after).programs == tuple(name for name in ("basher", "sark") if name not in names)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (["basher"], "same"),
        (["basher", "sark"], "same"),
        (["iso"], "open"),
        ([MODEL_NAME], "open"),
        (["iso", "ram"], "same"),
        ([None], "same"),
    ],
)
def test_against_an_objection_a_judge_by_role_counts_next_to_a_side_alone(
    others: list[str | None], expected: str
) -> None:
    after = by_role(judged(*((name, "same") for name in others), objection=OPPOSITE), "jud", "jad")
    assert ruling(after).state == expected


def test_a_same_of_judges_by_role_is_sure_after_a_side_or_a_third_program_answers() -> None:
    after = by_role(pair(), "jud", "jad")
    for name in ("basher", "iso"):
        assert ruling(with_judgement(after, judgement(name))) == Ruling("same")
    unsure = by_role(judged(("basher", "unsure"), ("sark", "unsure")), "jud", "jad")
    assert questions(unsure) == Questions(third=True)
    assert questions(with_thirds(unsure, {"jud", "jad", "basher"}, {})) == Questions(people=True)
