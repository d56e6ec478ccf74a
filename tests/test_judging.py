"""Verdicts about a pair: when it is the same, when somebody else is asked, and whose word is the
last.
"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.pairs import (
    UNANSWERED,
    Questions,
    Ruling,
    has_judged,
    is_own,
    questions,
    ruling,
    sides_of,
    with_judgement,
    with_thirds,
    with_unanswered,
)
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, Verdict
from tests.entries import judgement, pair, side
from tests.lessons import days


def judged(*verdicts: tuple[str | None, Verdict]) -> Pair:
    after = pair()
    for name, verdict in verdicts:
        after = with_judgement(
            after, judgement(name, verdict, contributed=name in ("basher", "sark"))
        )
    return after


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Ruling("open")),
        ([("basher", "same")], Ruling("same", sure=False)),
        ([("basher", "same"), ("sark", "same")], Ruling("same")),
        ([("basher", "same"), ("sark", "different")], Ruling("open")),
        ([("basher", "same"), ("sark", "different"), ("iso", "same")], Ruling("same")),
        ([("basher", "same"), ("sark", "different"), ("iso", "different")], Ruling("different")),
        ([("basher", "different")], Ruling("different")),
        ([("basher", "contradict")], Ruling("contradict")),
        ([("basher", "different"), ("sark", "contradict")], Ruling("contradict")),
        ([("basher", "unsure")], Ruling("open")),
        ([("basher", "unsure"), ("sark", "same")], Ruling("same", sure=False)),
    ],
)
def test_the_majority_of_judges_decides(
    verdicts: list[tuple[str | None, Verdict]], expected: Ruling
) -> None:
    after = judged(*verdicts)
    assert (ruling(after), after.state) == (expected, expected.state)


@pytest.mark.parametrize("verdict", ["same", "different", "contradict"])
def test_a_persons_verdict_is_the_last_word(verdict: Verdict) -> None:
    two = judged(("basher", "same"), ("sark", "different"))
    after = with_judgement(with_judgement(two, judgement(None, verdict)), judgement("iso"))
    assert (after.state, after.by_person, questions(after)) == (verdict, True, Questions())


def test_a_person_who_changes_its_mind_is_heard_and_one_who_is_unsure_decides_nothing() -> None:
    assert judged((None, "same"), (None, "different")).state == "different"
    assert judged(("basher", "different"), (None, "unsure")).state == "different"


def test_a_judge_that_changes_its_mind_is_one_judge_in_any_case() -> None:
    after = judged(("basher", "same"), ("Basher", "different"))
    assert ([one.verdict for one in after.judgements], after.state) == (["different"], "different")


def test_verdicts_of_several_names_over_one_unbound_connection_are_one() -> None:
    after = with_judgement(pair(), judgement("basher", connection="c1"))
    after = with_judgement(after, judgement("sark", connection="c1"))
    assert ruling(after) == Ruling("same", sure=False)
    assert ruling(with_judgement(after, judgement("iso", connection="c2"))) == Ruling("same")


def third(*names: str) -> Questions:
    return Questions(names, third=True)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Questions(("basher", "sark"))),
        ([("basher", "same")], Questions(("sark",))),
        ([("Basher", "unsure")], Questions(("sark",))),
        ([("basher", "same"), ("sark", "same")], Questions()),
        ([("basher", "same"), ("sark", "unsure")], third()),
        ([("basher", "different")], Questions()),
        ([("basher", "contradict")], Questions()),
        ([("basher", "same"), ("sark", "different")], third()),
        ([("basher", "same"), ("sark", "different"), ("iso", "same")], Questions()),
        ([("basher", "same"), ("sark", "different"), ("iso", "unsure")], third()),
        ([("basher", "unsure"), ("sark", "unsure")], third()),
        (
            [("basher", "unsure"), ("sark", "unsure"), ("iso", "unsure"), ("ram", "unsure")],
            Questions(people=True),
        ),
        ([("basher", "unsure"), ("sark", "unsure"), (None, "unsure")], third()),
    ],
)
def test_the_sides_are_asked_first_then_a_third_program_and_at_last_people(
    verdicts: list[tuple[str | None, Verdict]], expected: Questions
) -> None:
    assert questions(judged(*verdicts)) == expected


def test_one_different_about_a_likely_pair_is_asked_once_more_and_a_second_closes_it() -> None:
    likely = replace(pair(), likely=True)
    one = with_judgement(likely, judgement("basher", "different"))
    assert (one.state, questions(one)) == ("different", Questions(("sark",)))
    assert questions(with_judgement(one, judgement("sark", "unsure"))) == Questions()
    two = with_judgement(one, judgement("sark", "different"))
    assert (two.state, questions(two)) == ("different", Questions())
    contrary = with_judgement(one, judgement("sark", "same"))
    assert (contrary.state, questions(contrary)) == ("open", third())


def test_a_models_verdict_counts_as_one_of_a_judge_without_a_lesson_in_it() -> None:
    assert ruling(judged((MODEL_NAME, "same"))) == Ruling("same", sure=False)
    assert ruling(judged((MODEL_NAME, "same"), ("basher", "same"))) == Ruling("same")
    assert questions(judged((MODEL_NAME, "unsure"))) == Questions(("basher", "sark"))


def test_a_pair_that_is_gone_or_has_a_side_without_a_program_is_not_asked() -> None:
    assert questions(replace(pair(), state="gone")) == Questions()
    assert questions(pair(side("", "Pin it"), side("sark", "Pin versions"))) == Questions(("sark",))


def test_programs_are_compared_in_any_case() -> None:
    assert is_own(pair(), "Sark")
    assert not is_own(pair(), "iso")
    assert has_judged(judged(("SARK", "unsure")), "sark")


def test_the_own_side_comes_first() -> None:
    known = pair()
    assert sides_of(known, "basher") == (known.a, known.b)
    assert sides_of(known, "SARK") == (known.b, known.a)


verdicts_of_three: st.SearchStrategy[list[tuple[str | None, Verdict]]] = st.lists(
    st.tuples(
        st.sampled_from(["basher", "sark", "iso", "ram", None]),
        st.sampled_from(["same", "different", "contradict", "unsure"]),
    ),
    max_size=8,
)


@given(verdicts_of_three)
def test_a_repeated_verdict_changes_nothing(verdicts: list[tuple[str | None, Verdict]]) -> None:
    after = judged(*verdicts)
    for one in after.judgements:
        again = with_judgement(after, one)
        assert set(map(Judgement.compact, again.judgements)) == set(
            map(Judgement.compact, after.judgements)
        )
        assert ruling(again) == ruling(after)


@given(verdicts_of_three)
def test_of_agents_alone_the_order_makes_no_difference(
    verdicts: list[tuple[str | None, Verdict]],
) -> None:
    latest = {name: verdict for name, verdict in verdicts if name is not None}
    one, other = list(latest.items()), list(latest.items())[::-1]
    assert ruling(judged(*one)) == ruling(judged(*other))


def test_a_person_who_is_unsure_leaves_the_pair_to_agents() -> None:
    after = judged((None, "unsure"))
    assert (after.by_person, questions(after)) == (False, Questions(("basher", "sark")))


def test_names_over_one_connection_are_not_asked_in_turn_for_ever() -> None:
    after = with_judgement(pair(), judgement("basher", connection="c1"))
    after = with_judgement(after, judgement("sark", connection="c1"))
    assert (len(after.judgements), questions(after)) == (1, third())


@pytest.mark.parametrize(
    ("programs", "verdicts", "thirds"),
    [
        ({"basher", "sark"}, [], 0),
        ({"basher", "sark", "iso"}, [], 1),
        ({"basher", "sark", "iso", "ram"}, [], None),
        ({"basher", "sark", "iso"}, ["iso"], 1),
        ({"basher", "sark", "ram"}, ["iso"], None),
        ({"basher", "sark", "iso", "ram", "flynn"}, [], None),
        ({"basher", "sark", "iso", "basher/reviewer", "sark/x/y"}, [], 1),
        ({"basher", "sark", "iso", "iso/reviewer"}, ["iso"], 1),
    ],
    ids=[
        *(
            "none",
            "one",
            "two",
            "one, which has judged",
            "one, and one that was deleted since",
            "three",
        ),
        *("one, and some below the sides", "one, which has judged, and one below it"),
    ],
)
def test_a_pair_knows_how_few_programs_can_be_asked_as_a_third(
    programs: set[str], verdicts: list[str], thirds: int | None
) -> None:
    known = judged(*((name, "unsure") for name in verdicts))
    assert with_thirds(known, programs, {}) == replace(known, thirds=thirds)


def test_a_contributor_to_an_entry_is_no_third() -> None:
    known = pair(side("ram", "One", key="k"), side("sark", "Other"))
    programs = {"ram", "sark", "iso", "flynn"}
    assert with_thirds(known, programs, {"k": {"ram", "iso"}}) == replace(known, thirds=1)
    assert with_thirds(known, programs, {"other": {"ram", "iso"}}) is known


def test_a_program_below_a_side_takes_no_third_programs_place() -> None:
    known = judged(("basher", "same"), ("sark", "different"))
    below = with_judgement(known, judgement("basher/reviewer", "same", contributed=True))
    above = with_judgement(
        pair(side("basher/x", "One"), side("sark", "Other")), judgement("basher", "unsure")
    )
    assert (ruling(below), questions(replace(below, thirds=1))) == (
        Ruling("open"),
        Questions(third=True),
    )
    assert with_thirds(above, {"basher/x", "sark"}, {}).thirds == 0


def test_one_different_of_a_program_and_one_below_it_is_one() -> None:
    known = replace(judged(("basher", "different"), ("basher/reviewer", "different")), likely=True)
    assert questions(known) == Questions(("sark",))


def test_a_side_that_never_answers_is_unsure_14_days_after_the_other_did() -> None:
    known = with_judgement(pair(), judgement("basher", "same", contributed=True))
    answered = known.judgements[0].at
    assert with_unanswered(known, answered + days(13.9)) is known
    unsure = judgement(
        "sark", "unsure", contributed=True, at=answered + days(14), reason=UNANSWERED
    )
    late = with_unanswered(known, answered + days(14))
    assert late == with_judgement(known, unsure)
    assert (late.state, questions(late)) == ("same", Questions(third=True))
    assert with_unanswered(late, answered + days(30)) is late


def test_a_pair_that_opened_again_waits_14_days_from_then() -> None:
    known = with_judgement(pair(), judgement("basher", "same"))
    again = replace(known, opened_at=known.opened_at + days(100))
    assert with_unanswered(again, again.opened_at + days(13)) is again
    assert with_unanswered(again, again.opened_at + days(14)) is not again


def test_a_pair_that_no_side_has_answered_waits_for_both() -> None:
    assert with_unanswered(pair(), pair().opened_at + days(100)) == pair()
    by_others = judged((MODEL_NAME, "unsure"), (None, "unsure"), ("iso", "unsure"))
    assert with_unanswered(by_others, by_others.opened_at + days(100)) is by_others
