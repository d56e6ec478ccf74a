"""An entry: one text, the lessons that support it, and all that follows from them."""

from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.entries import (
    MAX_PROVENANCE,
    better_text,
    candidate_of,
    contribution,
    entry_state,
    is_contributor,
    judged_again,
    keys_of,
    ledger_event,
    ledger_id,
    settled,
    under_policy,
    votes,
    with_lesson,
    without_lesson,
)
from fleet_memory.rules.erasing import Erasure, Renamed, entry_fate, hashed_key
from fleet_memory.rules.text.keys import is_key_of
from fleet_memory.schemas.knowledge import Entry, LedgerEvent
from fleet_memory.schemas.patterns import Source
from fleet_memory.schemas.policy import Policy
from tests.entries import BOTH, CHECK, KEY, LOOK, entry, joining, word
from tests.entries import contribution as line
from tests.lessons import START, days

NOW = START + days(21)
POLICY = Policy()


def joined(*program_ids: str) -> Entry:
    """Return an entry that lessons of these programs joined, settled."""
    known = candidate_of(joining(program_ids[0]), POLICY)
    after = known
    for name in program_ids:
        after = with_lesson(after, joining(name)).entry
    return settled(None, after, POLICY, NOW)


def test_an_entry_has_the_shape_of_the_article() -> None:
    lessons = [
        joining("sark", confidence=0.89),
        joining("basher", confidence=0.92),
        joining("iso", confidence=0.8, last_reinforced=START + days(3)),
    ]
    known = candidate_of(better_text(lessons), POLICY)
    for lesson in lessons:
        known = with_lesson(known, lesson).entry
    made = settled(None, known, POLICY, NOW)
    assert made.wire() | {"provenance": [one.program_id for one in made.provenance]} == {
        "namespace": "knowledge",
        "key": KEY,
        "value": {
            "pattern": CHECK,
            "domain": "task-claiming",
            "confidence": 0.89,
            "contributors": ["basher", "iso", "sark"],
            "evidenceCount": 3,
            "firstDiscovered": "2026-02-14T08:23:00Z",
            "lastPromoted": "2026-03-07T08:23:00Z",
        },
        "tier": "architectural",
        "description": "Auto-promoted from 3 independent agent discoveries",
        "version": 1,
        "provenance": ["basher", "iso", "sark"],
        "words": [],
        "publishedAt": "2026-03-07T08:23:00Z",
        "threshold": 2,
        "origins": "program",
        "relearnt": 0,
        "lastConfirmed": "2026-02-17T08:23:00Z",
        "confirmations": 0,
        "since": 0,
        "unpublished": True,
        "ledger": [],
        "vector": "",
        "embedder": "",
    }


def test_an_entry_that_no_lesson_has_joined_has_no_votes_and_the_policy_of_now() -> None:
    policy = Policy(threshold=3, origins="connection")
    fresh = candidate_of(joining("basher", project_id="web", vector="AAAA", embedder="e"), policy)
    assert (fresh.provenance, fresh.value.contributors, fresh.published_at, fresh.version) == (
        (),
        (),
        None,
        0,
    )
    assert (fresh.threshold, fresh.origins, fresh.project_id) == (3, "connection", "web")
    assert (fresh.vector, fresh.embedder) == ("AAAA", "e")


def test_both_keys_of_an_entry_are_of_its_text_and_one_with_more_words_is_not() -> None:
    first, second = keys_of(candidate_of(joining("basher"), POLICY))
    keys = (first, second, f"{KEY}-acme", f"{KEY}s", f"{KEY}-", f"{second}-acme")
    assert [is_key_of(key, "task-claiming", CHECK) for key in keys] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_a_key_with_more_words_than_those_of_the_lessons_that_stay_goes_with_its_lesson() -> None:
    known = entry(line("basher", f"{CHECK} Acme"), "sark", key=f"{KEY}-acme")
    assert entry_fate(known, Erasure(program_id="basher")) == Renamed(
        hashed_key(known.key), stays=True
    )


def test_a_lesson_that_joins_again_replaces_its_contribution() -> None:
    known = entry(*BOTH)
    again = with_lesson(known, joining("sark", LOOK)).entry
    assert [(one.program_id, one.pattern) for one in again.provenance] == [
        ("basher", CHECK),
        ("sark", LOOK),
    ]


def test_a_retired_entry_counts_that_it_was_learnt_again_and_takes_no_vote() -> None:
    retired = entry(*BOTH, retired_at=NOW)
    assert with_lesson(retired, joining("iso")) == (replace(retired, relearnt=1), True)


def test_a_rule_that_people_set_takes_no_votes() -> None:
    assert with_lesson(entry(tier="constitutional", published_at=None), joining("iso")).echo is True


def test_a_full_entry_takes_no_more_contributions() -> None:
    full = entry(*(f"p{at:02}" for at in range(MAX_PROVENANCE)))
    outcome = with_lesson(full, joining("iso"))
    assert (outcome.echo, len(outcome.entry.provenance)) == (True, MAX_PROVENANCE)


def test_a_contribution_names_where_its_lesson_came_from() -> None:
    source = Source(connection="c1", client="claude-code", model="claude")
    lesson = joining("iso", session_id="s1", project_id="web", source=source)._replace(
        pair="p", similarity=1.0000001
    )
    assert contribution(lesson) == line(
        "iso",
        session_id="s1",
        project_id="web",
        pair="p",
        connection="c1",
        client="claude-code",
        model="claude",
    )


def test_a_lesson_that_comes_back_is_promoted_again_at_the_first_publication() -> None:
    known = entry(*BOTH)
    left = settled(known, without_lesson(known, "sark", "p1"), POLICY, NOW)
    back = settled(left, with_lesson(left, joining("sark")).entry, POLICY, NOW + days(1))
    assert (entry_state(back, NOW), back.published_at) == ("fresh", known.published_at)
    assert back.value.last_promoted == NOW + days(1)


def test_a_second_judge_makes_a_contribution_sure() -> None:
    known = entry("basher", line("sark", basis="one_judge", pair="x"))
    assert [one.basis for one in judged_again(known, "x", "judged").provenance] == [
        "judged",
        "judged",
    ]
    assert judged_again(known, "z", "judged") is known
    assert judged_again(known, "y", "one_judge") is known


def test_another_verdict_leaves_the_entrys_text_and_equal_words_as_they_are() -> None:
    known = entry(
        line("basher", basis="text", pair="x"), line("sark", basis="equal_words", pair="x")
    )
    assert judged_again(known, "x", "one_judge") is known
    assert judged_again(known, "x", "judged") is known


def test_an_unchanged_entry_is_the_same_object() -> None:
    known = entry(*BOTH)
    assert settled(known, known, POLICY, NOW) is known
    assert settled(known, replace(known), POLICY, NOW) is known


def test_a_lowered_threshold_publishes_a_candidate() -> None:
    candidate = settled(None, replace(joined(*BOTH), published_at=None), Policy(threshold=3), NOW)
    assert entry_state(candidate, NOW) == "candidate"
    published = settled(candidate, under_policy(candidate, POLICY), POLICY, NOW)
    assert (entry_state(published, NOW), published.published_at) == ("fresh", NOW)


def test_a_lesson_of_a_project_keeps_its_entry_in_it_until_enough_votes_have_none() -> None:
    def project(*projects: str | None) -> str | None:
        lines = [line(f"p{at}", project_id=name) for at, name in enumerate(projects)]
        known = entry(*lines)
        return settled(None, known, POLICY, NOW).project_id

    assert project("web", "web") == "web"
    assert project("web", None) == "web"
    assert project("web", None, None) is None
    assert project(None, None) is None


confidences = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.floats(0, 1)), min_size=1, max_size=8
)


@given(confidences)
def test_figures_count_votes_and_a_settled_entry_is_published_at_its_threshold(
    found: list[tuple[str, float]],
) -> None:
    lines = [
        line(name, confidence=value, pattern_id=f"p{at}") for at, (name, value) in enumerate(found)
    ]
    made = settled(None, entry(*lines, published_at=None, version=0), POLICY, NOW)
    assert made.value.evidence_count == votes(made) == len({name for name, _ in found})
    assert made.value.confidence == round(median(value for _, value in found), 4)
    assert (made.published_at == NOW) == (votes(made) >= 2)
    assert made.version == 1


@given(st.permutations(["basher", "sark", "iso", "ram"]))
def test_the_order_in_which_lessons_join_makes_no_difference(order: list[str]) -> None:
    assert joined(*order).provenance == joined("basher", "iso", "ram", "sark").provenance


CANDIDATE = entry("basher", published_at=None)
FRESH = entry(*BOTH)
DOUBTFUL = entry("basher", line("sark", basis="one_judge"))


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [
        (None, CANDIDATE, "attached"),
        (None, FRESH, "promoted"),
        (CANDIDATE, FRESH, "promoted"),
        (FRESH, entry(*BOTH, "iso"), "attached"),
        (entry(*BOTH, "iso"), FRESH, "left"),
        (FRESH, entry("basher"), "demoted"),
        (FRESH, entry(*BOTH, words=(word("clu"),)), "contradicted"),
        (entry(*BOTH, words=(word("clu"),)), FRESH, "confirmed"),
        (DOUBTFUL, FRESH, "confirmed"),
        (FRESH, DOUBTFUL, None),
        (FRESH, entry(*BOTH, retired_at=NOW), "retired"),
        (entry(*BOTH, retired_at=NOW), FRESH, "reinstated"),
        (FRESH, entry(*BOTH, confirmations=5), None),
    ],
)
def test_the_ledger_names_a_change_of_state_or_votes(
    before: Entry | None, after: Entry, event: LedgerEvent | None
) -> None:
    assert ledger_event(before, after, START + days(2)) == event


@given(
    st.tuples(st.text(), st.integers(0, 9), st.text()),
    st.tuples(st.text(), st.integers(0, 9), st.text()),
)
def test_no_two_lines_of_the_ledger_have_one_id(
    one: tuple[str, int, str], other: tuple[str, int, str]
) -> None:
    assert (ledger_id(*one) == ledger_id(*other)) == (one == other)


def test_a_contribution_is_known_by_its_program_and_its_id() -> None:
    assert is_contributor(FRESH, "sark", "p1")
    assert not is_contributor(FRESH, "sark", "p2")
