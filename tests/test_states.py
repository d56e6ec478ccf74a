"""The state of an entry: the first that holds of retired, candidate, contested, verify, fresh."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fleet_memory.rules.entries import (
    EntryChange,
    contributes,
    doubts,
    entry_state,
    is_unconfirmed,
    recorded_state,
)
from fleet_memory.schemas.knowledge import Contribution, Doubt, Entry, EntryState
from tests.entries import BOTH, contribution, entry, word
from tests.lessons import START, days

NOW = START + days(3)
OLD = START + days(1) + days(180)
ONE_JUDGE = (contribution("basher"), contribution("sark", basis="one_judge"))


def test_two_votes_are_fresh() -> None:
    assert entry_state(entry(*BOTH), NOW) == "fresh"


def test_every_earlier_state_hides_the_later_ones() -> None:
    fresh = entry(*BOTH, "iso")
    doubtful = replace(
        fresh, provenance=tuple(replace(line, open_rewrite=True) for line in fresh.provenance)
    )
    contested = replace(doubtful, words=(word("clu"),))
    candidate = replace(contested, threshold=4)
    retired = replace(candidate, retired_at=NOW)
    found = [entry_state(one, NOW) for one in (fresh, doubtful, contested, candidate, retired)]
    assert found == ["fresh", "verify", "contested", "candidate", "retired"]


def test_an_entry_that_was_never_published_is_a_candidate_with_any_votes() -> None:
    assert entry_state(entry(*BOTH, published_at=None), NOW) == "candidate"


def test_an_entry_below_the_threshold_that_it_was_published_with_is_a_candidate_again() -> None:
    assert entry_state(entry(*BOTH, words=(word("sark"),)), NOW) == "candidate"
    assert entry_state(entry(*BOTH, "iso", words=(word("sark"),)), NOW) == "contested"


def test_a_contradiction_that_waits_contests_nothing() -> None:
    assert entry_state(entry(*BOTH, words=(word("clu", waits=True),)), NOW) == "fresh"


def test_after_180_days_without_a_word_an_entry_wants_verifying() -> None:
    assert entry_state(entry(*BOTH), OLD) == "fresh"
    assert entry_state(entry(*BOTH), OLD + timedelta(seconds=1)) == "verify"
    assert is_unconfirmed(entry(*BOTH), OLD + timedelta(seconds=1))


def test_the_recorded_state_knows_no_time() -> None:
    assert recorded_state(entry(*BOTH, last_confirmed=START - days(1_000))) == "fresh"


def test_a_rule_that_people_set_has_no_votes_and_no_doubts_and_ages_like_others() -> None:
    rule = entry(tier="constitutional", published_at=None)
    assert (entry_state(rule, NOW), doubts(rule)) == ("fresh", ())
    assert entry_state(rule, OLD + days(1)) == "verify"
    assert entry_state(replace(rule, words=(word("clu"),)), NOW) == "contested"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([contribution(name, connection="c1") for name in BOTH], "one_connection"),
        (ONE_JUDGE, "one_judge"),
        ([contribution("basher", open_rewrite=True), contribution("sark")], "open_rewrite"),
    ],
)
def test_an_entry_wants_verifying_for_a_reason(lines: list[Contribution], reason: Doubt) -> None:
    doubtful = entry(*lines)
    assert (entry_state(doubtful, NOW), doubts(doubtful)) == ("verify", (reason,))


def test_votes_of_two_connections_and_of_bound_callers_are_not_over_one_connection() -> None:
    one = contribution("basher", connection="c1")
    assert doubts(entry(one, contribution("sark", connection="c2"))) == ()
    assert doubts(entry(one, contribution("sark"))) == ()
    assert doubts(entry(*BOTH)) == ()


def test_a_word_over_another_connection_ends_the_doubt_and_one_over_the_same_does_not() -> None:
    lines = [contribution(name, connection="c1") for name in BOTH]
    confirmed = word("iso", "confirmed", connection="c2")
    assert doubts(entry(*lines, words=(confirmed,))) == ()
    assert doubts(entry(*lines, words=(replace(confirmed, connection="c1"),))) == (
        "one_connection",
    )


def test_one_judge_is_no_doubt_where_enough_votes_hang_on_no_single_one() -> None:
    assert doubts(entry(contribution("basher"), contribution("iso"), ONE_JUDGE[1])) == ()


def test_a_vote_that_is_withdrawn_leaves_no_doubt_behind() -> None:
    known = entry("basher", "iso", contribution("sark", open_rewrite=True), words=(word("sark"),))
    assert doubts(known) == ()


@pytest.mark.parametrize(
    ("before", "after", "promotion", "visible"),
    [
        (None, "candidate", False, False),
        (None, "fresh", True, True),
        ("candidate", "verify", True, True),
        ("candidate", "candidate", False, False),
        ("candidate", "retired", False, True),
        ("fresh", "contested", False, True),
        ("fresh", "fresh", False, False),
        ("retired", "fresh", False, True),
    ],
)
def test_a_change_knows_whether_agents_read_it_first_and_whether_they_read_something_else(
    before: EntryState | None, after: EntryState, *, promotion: bool, visible: bool
) -> None:
    change = EntryChange(entry(*BOTH), before, after)
    assert (change.is_promotion, change.is_visible) == (promotion, visible)


def test_a_program_contributes_in_any_case() -> None:
    known: Entry = entry(*BOTH)
    assert contributes(known, "BASHER")
    assert not contributes(known, "iso")
