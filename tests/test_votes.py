"""Votes: one per independent origin, in any order and with any repetitions."""

from hypothesis import given
from hypothesis import strategies as st

# pytest would collect names that start with test
from fleet_memory.rules.entries import Testimony as Witness
from fleet_memory.rules.entries import (
    copy_mark,
    counted_contradictions,
    independent_origins,
    is_one_origin,
    same_program,
    votes,
    voting,
)
from fleet_memory.rules.entries import testimony as witness_of
from fleet_memory.rules.entries import testimony_of_word as witness_of_word
from fleet_memory.schemas.knowledge import OriginRule
from tests.entries import BOTH, CHECK, LOOK, contribution, entry, word

names = st.sampled_from(
    ["basher", "Basher", "sark", "iso", "ram", "clu", "basher/a", "Basher/a/b", "team/a", "team/b"]
)
testimonies = st.lists(
    st.builds(
        Witness,
        names,
        st.none() | st.sampled_from(["s1", "s2", "s3"]),
        st.none() | st.sampled_from(["c1", "c2"]),
        st.none() | st.sampled_from(["x", "y"]),
    ),
    max_size=12,
)
rules: st.SearchStrategy[OriginRule] = st.sampled_from(["program", "connection"])


@given(testimonies, rules)
def test_origins_are_at_most_programs_in_any_order_with_any_repetitions(
    given_: list[Witness], rule: OriginRule
) -> None:
    count = independent_origins(given_, rule)
    assert min(1, len(given_)) <= count <= len({same_program(one.program_id) for one in given_})
    for again in (given_[::-1], given_ + given_):
        assert independent_origins(again, rule) == count


@given(testimonies, testimonies)
def test_more_testimonies_never_add_more_origins_than_they_have_alone(
    one: list[Witness], other: list[Witness]
) -> None:
    assert independent_origins(one + other) <= independent_origins(one) + independent_origins(other)


@given(testimonies)
def test_the_rule_of_connections_never_counts_more(given_: list[Witness]) -> None:
    assert independent_origins(given_, "connection") <= independent_origins(given_)


def test_two_programs_are_two_origins_and_one_in_another_case_is_one() -> None:
    assert independent_origins([Witness("basher"), Witness("sark")]) == 2
    assert independent_origins([Witness("basher"), Witness("Basher"), Witness("\uff42asher")]) == 1


def test_a_program_and_those_below_it_are_one_origin_and_two_below_it_are_two_without_it() -> None:
    proj, reviewer, deep, other = (
        Witness(name) for name in ("Proj", "proj/reviewer", "proj/x/y", "projector")
    )
    for one_origin in (
        [proj, reviewer],
        [deep, proj],
        [reviewer, proj, deep],
        [Witness("proj/x"), deep],
    ):
        assert independent_origins(one_origin) == 1
    for two_origins in ([reviewer, deep], [proj, reviewer, other]):
        assert independent_origins(two_origins) == 2


@given(st.lists(names, max_size=6))
def test_any_two_names_of_one_line_count_once(chosen: list[str]) -> None:
    for one in chosen:
        for two in chosen:
            assert (independent_origins([Witness(one), Witness(two)]) == 1) == is_one_origin(
                one, two
            )
            assert independent_origins([*map(Witness, chosen), Witness(f"{one}/below")]) <= len(
                set(chosen)
            )


def test_one_connection_is_one_origin_only_under_the_policy_of_connections() -> None:
    both = [Witness("basher", connection="c1"), Witness("sark", connection="c1")]
    assert (independent_origins(both), independent_origins(both, "connection")) == (2, 1)
    bound = [Witness("basher"), Witness("sark")]
    assert independent_origins(bound, "connection") == 2


def test_a_copy_has_equal_words_and_equal_evidence_of_more_than_three_words() -> None:
    assert copy_mark(CHECK, "Two workers lost a day") == copy_mark(
        f"{CHECK}.", "two workers lost a  day"
    )
    assert copy_mark(CHECK, "Two workers lost a day") != copy_mark(
        CHECK, "Two workers lost an hour"
    )
    assert copy_mark(CHECK, "Two workers lost a day") != copy_mark(LOOK, "Two workers lost a day")
    assert copy_mark(CHECK, "lost a day") is None
    assert copy_mark(CHECK, "") is None


def test_a_contribution_is_testimony_with_its_session_its_connection_and_its_words() -> None:
    line = contribution(
        "basher", session_id="s1", connection="c1", evidence="Two workers lost a day"
    )
    assert witness_of(line) == Witness(
        "basher", "s1", "c1", copy_mark(CHECK, "Two workers lost a day")
    )
    assert witness_of_word(word("basher", session_id="s1", connection="c1")) == Witness(
        "basher", "s1", "c1"
    )


def test_only_a_contributors_own_contradiction_takes_its_vote_out() -> None:
    known = entry(*BOTH, "iso", words=(word("Sark"), word("ram")))
    assert [line.program_id for line in voting(known)] == ["basher", "iso"]
    assert votes(known) == 2


def test_a_confirmation_and_a_contradiction_that_waits_take_no_vote_out() -> None:
    waiting = word("sark", waits=True)
    known = entry(*BOTH, words=(word("basher", "confirmed"), waiting))
    assert counted_contradictions(known) == []
    assert votes(known) == 2
