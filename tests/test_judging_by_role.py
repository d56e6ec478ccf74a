"""Verdicts of callers of the role `judge`: one voice together, and no authors' stead."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.pairs import (
    Questions,
    Ruling,
    questions,
    ruling,
    with_judgement,
    with_thirds,
)
from fleet_memory.schemas.pairs import MODEL_NAME, Pair, Verdict
from tests.entries import judgement, pair
from tests.test_judging import judged


def by_role(known: Pair, *names: str, verdict: Verdict = "same") -> Pair:
    for name in names:
        known = with_judgement(
            known, judgement(name, verdict, by_role=True, contributed=name in ("basher", "sark"))
        )
    return known


def contradicted(*others: tuple[str | None, Verdict], likely: bool = False) -> Pair:
    """Return a pair that these judged, and then two callers of the role judge as `contradict`."""
    return by_role(replace(judged(*others), likely=likely), "jud", "jad", verdict="contradict")


@given(st.lists(st.sampled_from(("jud", "JAD", "rinzler", "basher", "sark")), min_size=1))
def test_callers_of_the_role_judge_are_one_judge_and_the_sides_are_asked(
    names: list[str],
) -> None:
    after = by_role(pair(), *names)
    assert ruling(after) == (Ruling("same", sure=False))
    assert questions(after).programs == tuple(
        name for name in ("basher", "sark") if name not in names
    )


def test_a_same_of_judges_by_role_is_sure_after_a_side_or_a_third_program_answers() -> None:
    after = by_role(pair(), "jud", "jad")
    for name in ("basher", "iso"):
        assert ruling(with_judgement(after, judgement(name))) == Ruling("same")
    unsure = by_role(judged(("basher", "unsure"), ("sark", "unsure")), "jud", "jad")
    assert questions(unsure) == Questions(third=True)
    assert questions(with_thirds(unsure, {"jud", "jad", "basher"}, {})) == Questions(people=True)


@given(
    st.lists(st.sampled_from(("jud", "JAD", "rinzler")), min_size=1),
    st.booleans(),
)
def test_a_contradict_of_judges_by_role_leaves_a_pair_to_its_sides(
    names: list[str], likely: bool
) -> None:
    after = by_role(pair(likely=likely), *names, verdict="contradict")
    assert (after.state, questions(after)) == ("open", Questions(("basher", "sark")))
    assert by_role(after, "ram", verdict="different").state == "open"


@pytest.mark.parametrize("likely", [False, True])
@pytest.mark.parametrize(
    ("others", "expected", "asked"),
    [
        ([("basher", "contradict")], "contradict", Questions()),
        ([("iso", "contradict")], "contradict", Questions()),
        ([(MODEL_NAME, "contradict")], "contradict", Questions()),
        ([(None, "contradict")], "contradict", Questions()),
        ([(None, "different")], "different", Questions()),
        ([("basher", "same")], "open", Questions(("sark",))),
        ([("basher", "same"), ("sark", "same")], "same", Questions()),
        ([("basher", "same"), ("sark", "different")], "different", Questions()),
        ([("basher", "same"), ("sark", "contradict")], "contradict", Questions()),
        ([("basher", "different")], "different", Questions(("sark",))),
        ([("basher", "different"), ("sark", "different")], "different", Questions()),
        ([("basher", "different"), ("sark", "contradict")], "contradict", Questions()),
        ([("basher", "unsure")], "open", Questions(("sark",))),
        ([("basher", "unsure"), ("sark", "unsure")], "open", Questions(third=True)),
        (
            [("basher", "unsure"), ("sark", "unsure"), ("iso", "different")],
            "different",
            Questions(),
        ),
        (
            [(name, "unsure") for name in ("basher", "sark", "iso", "ram")],
            "open",
            Questions(people=True),
        ),
    ],
)
def test_a_pair_that_judges_by_role_contradict_is_decided_by_the_others(
    others: list[tuple[str | None, Verdict]], expected: str, asked: Questions, likely: bool
) -> None:
    after = contradicted(*others, likely=likely)
    assert (after.state, questions(after)) == (expected, asked)
