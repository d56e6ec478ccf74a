"""Two copies of one lesson are merged: in any order and again the same lesson, and no word about
either is lost.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from fleet_memory.rules.lifecycle.merging_lessons import last_touched, merged_pattern
from fleet_memory.rules.lifecycle.reinforcement import contradicted, reinforced
from fleet_memory.schemas.patterns import Evidence, Pattern, Rewrite, Source

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TEXT = "Check that a task is free before you claim it"

moments = st.integers(0, 40).map(lambda hours: START + timedelta(hours=hours))
evidence = st.sampled_from(("", "Seen twice", "seen TWICE!", "It failed on Monday", "x" * 1_500))
words = st.lists(
    st.tuples(moments, st.sampled_from(("confirmed", "contradicted")), evidence), max_size=14
)


def lesson(stored_at: datetime = START, evidence: str = "") -> Pattern:
    """Return a lesson as its first store leaves it."""
    return Pattern(
        id="a",
        domain="tasks",
        pattern=TEXT,
        confidence=0.8,
        evidence=evidence,
        discovered_at=stored_at,
        last_reinforced=stored_at,
        stored_at=stored_at,
    )


@st.composite
def copies(draw: st.DrawFn) -> Pattern:
    """Return a lesson as a store has it after its first store and any words since."""
    key = draw(st.sampled_from((None, None, "k1", "k2")))
    pattern = replace(
        lesson(draw(moments), draw(evidence)),
        pattern=draw(st.sampled_from((TEXT, TEXT.upper(), f"{TEXT}."))),
        domain=draw(st.sampled_from(("tasks", "queues"))),
        session_id=draw(st.sampled_from((None, "monday"))),
        project_id=draw(st.sampled_from((None, "shop"))),
        tags=tuple(draw(st.lists(st.sampled_from("abcdefghijkl"), max_size=10, unique=True))),
        source=draw(st.sampled_from((Source(), Source(connection="stdio-1")))),
        confidence=draw(st.sampled_from((0.5, 0.9))),
        knowledge_key=key,
        echo=key is not None and draw(st.booleans()),
        rewrite=draw(st.sampled_from((None, Rewrite(voting_text="Before", at=START))))
        if key
        else None,
        calls=draw(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"))),
        called_at=draw(st.none() | moments),
        doublings=draw(st.integers(0, 4)),
    )
    for at, outcome, text in sorted(draw(words)):
        change = reinforced if outcome == "confirmed" else contradicted
        own = timedelta(
            microseconds=2 * len(text) + (outcome == "confirmed")
        )  # other words are of another instant
        pattern = change(pattern, now=at + own, evidence=text)
    return replace(pattern, confirmations=pattern.confirmations + draw(st.sampled_from((0, 0, 7))))


@given(copies(), copies())
def test_the_order_of_the_copies_does_not_matter(one: Pattern, other: Pattern) -> None:
    assert merged_pattern(one, other) == merged_pattern(other, one)


@example(
    replace(lesson(), knowledge_key="k2"),
    replace(lesson(evidence="Seen twice"), knowledge_key="k1"),
)
@given(copies(), copies())
def test_merging_a_copy_again_changes_nothing(one: Pattern, other: Pattern) -> None:
    both = merged_pattern(one, other)
    assert merged_pattern(both, one) == both
    assert merged_pattern(both, other) == both
    assert merged_pattern(one, one) is one


@given(copies(), copies())
def test_both_have_their_part(one: Pattern, other: Pattern) -> None:
    both = merged_pattern(one, other)
    assert both.stored_at == min(one.stored_at, other.stored_at)
    assert last_touched(both) == max(last_touched(one), last_touched(other))
    assert both.confirmations >= max(one.confirmations, other.confirmations)
    assert both.contradictions >= max(one.contradictions, other.contradictions)
    assert (both.knowledge_key is None) == (
        one.knowledge_key is None and other.knowledge_key is None
    )
    assert {*both.tags} == {*sorted({*one.tags, *other.tags})[:10]}


def test_words_that_each_store_heard_count_once() -> None:
    shared = reinforced(lesson(evidence="Seen"), now=START + timedelta(hours=1), evidence="First")
    one = reinforced(shared, now=START + timedelta(days=2), evidence="On laptop one")
    other = contradicted(
        shared, now=START + timedelta(days=3), evidence="On laptop two", confidence=0.3
    )
    assert merged_pattern(one, other) == replace(
        one,
        confirmations=2,
        contradictions=1,
        confidence=0.3,
        evidence_log=(
            Evidence(at=START + timedelta(hours=1), outcome="confirmed", text="First"),
            Evidence(at=START + timedelta(days=2), outcome="confirmed", text="On laptop one"),
            Evidence(at=START + timedelta(days=3), outcome="contradicted", text="On laptop two"),
        ),
    )


def test_a_lesson_that_both_learnt_for_themselves_was_confirmed_by_the_later_store() -> None:
    later = START + timedelta(days=1)
    both = merged_pattern(lesson(evidence="Seen here"), lesson(later, evidence="Seen there"))
    assert both == replace(
        lesson(evidence="Seen here"),
        last_reinforced=later,
        confirmations=1,
        evidence_log=(Evidence(at=later, outcome="confirmed", text="Seen there"),),
    )
