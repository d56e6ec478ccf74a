from dataclasses import replace
from datetime import timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.lifecycle.admission import Admission, OnDuplicate, SentLesson, admitted, timestamp_problem
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.programs import DecayConfig, Program
from fleet_memory.schemas.similarity import Profile
from tests.lessons import START, days, lesson, new_pattern, pattern, program

EMPTY = Program(program_id="basher")
TEXTS = ["Check the status", "Rebase before you push", "Rotate the context early", "Batch the claims"]


def stored(
    before: Program, what: SentLesson, *, on_duplicate: OnDuplicate = "reinforce", after: timedelta = timedelta(0)
) -> Admission:
    return admitted(before, what, profile=Profile(), on_duplicate=on_duplicate, now=START + after)


def aimed(text: str, angle: float, **fields: object) -> SentLesson:
    """A lesson whose vector is at `angle` radians: the cosine of two is the cosine of their difference."""
    vector = packed(np.array([np.cos(angle), np.sin(angle)], np.float32))
    return SentLesson(new_pattern(text, **fields), vector, "test/1")


def test_a_first_store_creates_the_program_and_leaves_the_pattern_pending() -> None:
    done = stored(EMPTY, lesson(id="mine"))
    assert (done.status, done.pattern.id, done.program.pending) == ("created", "mine", ("mine",))
    assert stamped(EMPTY, done.program, START).exists


def test_an_id_is_derived_from_the_text_when_none_is_sent() -> None:
    one, two = stored(EMPTY, lesson("Check the status!")), stored(EMPTY, lesson("check  the STATUS"))
    assert one.pattern.id == two.pattern.id


def test_repeating_a_call_changes_nothing() -> None:
    first = stored(EMPTY, lesson(id="mine"))
    again = stored(first.program, lesson(id="mine"), after=days(1))
    assert (again.status, again.program) == ("unchanged", first.program)


def test_a_call_that_was_merged_into_a_duplicate_changes_nothing_when_repeated() -> None:
    first = stored(EMPTY, lesson(id="mine"))
    merged = stored(first.program, lesson(id="other"), after=days(1))
    again = stored(merged.program, lesson(id="other"), after=days(2))
    assert (merged.status, again.status, again.pattern.id, again.program) == (
        "reinforced",
        "unchanged",
        "mine",
        merged.program,
    )


def test_the_same_words_under_another_id_reinforce_what_is_known() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine"))
    again = stored(first.program, lesson("  check the status. ", id="other", confidence=0.9), after=days(2))
    assert (again.status, again.pattern.id, again.pattern.confirmations) == ("reinforced", "mine", 1)
    assert (again.pattern.confidence, again.pattern.last_reinforced) == (0.9, START + days(2))
    assert list(again.program.patterns) == ["mine"]


def test_a_duplicate_can_be_rejected_or_kept_instead() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine"))
    refused = stored(first.program, lesson("Check the status", id="other"), on_duplicate="reject")
    assert (refused.status, refused.program, refused.duplicate and refused.duplicate.similarity) == (
        "duplicate",
        first.program,
        1.0,
    )
    kept = stored(first.program, lesson("Check the status", id="other"), on_duplicate="keep")
    assert (kept.status, sorted(kept.program.patterns)) == ("created", ["mine", "other"])


def test_a_near_copy_is_a_duplicate_and_a_contradiction_of_the_same_words_is_not() -> None:
    first = stored(EMPTY, aimed("Always force-push to a shared branch", 0.0))
    near = stored(first.program, aimed("Always force push to the shared branch", 0.1))
    assert near.status == "reinforced"
    opposite = stored(first.program, aimed("Never force-push to a shared branch", 0.1))
    assert (opposite.status, [close.pattern.id for close in opposite.related]) == ("created", [first.pattern.id])


def test_lessons_of_other_projects_are_never_duplicates() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine", projectId="a"))
    assert stored(first.program, lesson("Check the status", id="other", projectId="b")).status == "created"


def test_another_text_under_the_same_id_is_another_lesson_with_a_new_origin() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine")).program
    promoted = replace(
        first,
        patterns={"mine": replace(first.patterns["mine"], knowledge_key="pattern/a/b")},
        pending=(),
        knowledge_seen=4,
    )
    done = stored(promoted, lesson("Rebase before you push", id="mine"), after=days(3))
    assert (done.status, done.pattern.promoted, done.pattern.knowledge_seen, done.pattern.stored_at) == (
        "updated",
        False,
        4,
        START + days(3),
    )
    assert done.program.pending == ("mine",)


def test_better_evidence_for_the_same_text_keeps_its_origin_and_its_promotion() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine")).program
    promoted = replace(
        first, patterns={"mine": replace(first.patterns["mine"], knowledge_key="pattern/a/b")}, pending=()
    )
    done = stored(
        replace(promoted, knowledge_seen=4), lesson("Check the status", id="mine", evidence="more"), after=days(3)
    )
    assert (done.status, done.pattern.promoted, done.pattern.knowledge_seen, done.program.pending) == (
        "updated",
        True,
        0,
        (),
    )


def test_over_the_cap_the_weakest_unpromoted_pattern_is_archived_and_named() -> None:
    weak, strong = pattern("a", id="weak", confidence=0.1), pattern("b", id="strong", confidence=0.9)
    kept = pattern("c", id="kept", confidence=0.0, knowledge_key="pattern/x/y")
    full = program(weak, strong, kept, decay=DecayConfig(max_unpromoted_patterns=2))
    done = stored(full, lesson("A new one", id="new", confidence=0.0))
    assert [(line.pattern.id, line.reason) for line in done.archived] == [("weak", "cap")]
    assert sorted(done.program.patterns) == ["kept", "new", "strong"]


@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(TEXTS), st.floats(0, 1), st.booleans()), max_size=40),
    st.integers(1, 4),
)
def test_the_cap_holds_and_nothing_is_lost_after_any_sequence_of_stores(
    calls: list[tuple[int, str, float, bool]], cap: int
) -> None:
    memory = replace(EMPTY, decay=DecayConfig(max_unpromoted_patterns=cap))
    seen: set[str] = set()
    for at, (name, text, confidence, keep) in enumerate(calls):
        done = stored(
            memory,
            lesson(f"{text} {name}", id=f"p{name}", confidence=confidence),
            on_duplicate="keep" if keep else "reinforce",
            after=timedelta(hours=at),
        )
        gone = {line.pattern.id for line in done.archived}
        assert done.pattern.id in done.program.patterns
        assert set(done.program.patterns) == (set(memory.patterns) | {done.pattern.id}) - gone
        assert set(done.program.pending) <= set(done.program.patterns)
        memory, seen = done.program, seen | gone
        assert len(memory.patterns) <= cap


def test_times_from_the_future_or_in_the_wrong_order_are_named() -> None:
    ahead = new_pattern(discoveredAt="2026-02-14T08:29:00Z")
    assert "pattern.discoveredAt: is in the future" in (timestamp_problem(ahead, START) or "")
    assert timestamp_problem(new_pattern(discoveredAt="2026-02-14T08:28:00Z"), START) is None
    crossed = new_pattern(discoveredAt="2026-02-14T08:00:00Z", lastReinforced="2026-02-13T08:00:00Z")
    assert "later than pattern.lastReinforced" in (timestamp_problem(crossed, START) or "")
