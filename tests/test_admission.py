from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from fleet_memory.rules.lifecycle.admission import (
    Admission,
    Changed,
    OnDuplicate,
    SentLesson,
    admitted,
    change_problem,
    keys_of_store,
    timestamp_problem,
)
from fleet_memory.rules.lifecycle.decay import contradicted
from fleet_memory.rules.lifecycle.stamping import stamped
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import LessonVectors, packed
from fleet_memory.schemas.comparison import Profile
from fleet_memory.schemas.patterns import Evidence, Pattern, Source, TextChange, Wording
from fleet_memory.schemas.programs import Program
from tests.lessons import START, days, lesson, new_pattern, pattern, program

EMPTY = Program(program_id="basher")


def stored(
    before: Program,
    what: SentLesson,
    *,
    on_duplicate: OnDuplicate = "reinforce",
    in_pairs: Collection[str] = (),
    after: timedelta = timedelta(0),
) -> Admission:
    return admitted(
        before,
        what,
        profile=Profile(),
        on_duplicate=on_duplicate,
        in_pairs=in_pairs,
        now=START + after,
    )


def aimed(text: str, angle: float, **fields: object) -> SentLesson:
    """A lesson whose vector is at `angle` radians: the cosine of two is the cosine of their
    difference.
    """
    vector = packed(np.array([np.cos(angle), np.sin(angle)], np.float32))
    return lesson(text, **fields)._replace(vectors=LessonVectors(vector), embedder="test/1")


def test_a_first_store_creates_the_program_and_leaves_the_pattern_pending() -> None:
    done = stored(EMPTY, lesson(id="mine"))
    assert (done.status, done.pattern.id) == ("created", "mine")
    assert stamped(EMPTY, done.program, START).exists


def test_a_lesson_without_an_id_gets_a_new_one_and_the_same_call_again_changes_nothing() -> None:
    sent = lesson("Check the status")
    first = stored(EMPTY, sent._replace(new_id="l-1"))
    again = stored(first.program, sent._replace(new_id="l-2"), after=timedelta(minutes=9))
    later = stored(first.program, sent._replace(new_id="l-3"), after=days(1))
    assert first.pattern.id == "l-1"
    assert (again.status, again.pattern.id, again.program) == ("unchanged", "l-1", first.program)
    assert (later.status, later.pattern.id, len(later.program.patterns)) == ("reinforced", "l-1", 1)


def test_lessons_that_differ_by_a_letters_case_are_two() -> None:
    first = stored(EMPTY, lesson("Delete merged branches with git branch -d"))
    second = stored(first.program, lesson("Delete merged branches with git branch -D"))
    assert (second.status, len(second.program.patterns)) == ("created", 2)


def test_the_same_call_within_ten_minutes_changes_nothing() -> None:
    first = stored(EMPTY, lesson(id="mine"))
    again = stored(first.program, lesson(id="mine"), after=timedelta(minutes=9))
    assert (again.status, again.program) == ("unchanged", first.program)


def test_the_same_call_later_reinforces_and_a_retry_of_that_changes_nothing() -> None:
    first = stored(EMPTY, lesson(id="mine"))
    later = stored(first.program, lesson(id="mine"), after=days(13))
    assert (later.status, later.duplicate) == ("reinforced", None)
    assert later.pattern == replace(
        first.pattern,
        last_reinforced=START + days(13),
        called_at=START + days(13),
        confirmations=1,
        doublings=1,
        spaced_at=START + days(13),
        evidence_log=(Evidence(at=START + days(13), outcome="confirmed"),),
    )
    retry = stored(later.program, lesson(id="mine"), after=days(13) + timedelta(minutes=9))
    assert (retry.status, retry.program) == ("unchanged", later.program)


def test_a_call_that_was_merged_into_a_duplicate_changes_nothing_when_repeated_at_once() -> None:
    first = stored(EMPTY, lesson(id="mine"))
    merged = stored(first.program, lesson(id="other"), after=days(1))
    again = stored(merged.program, lesson(id="other"), after=days(1) + timedelta(minutes=1))
    assert (merged.status, again.status, again.pattern.id, again.program) == (
        "reinforced",
        "unchanged",
        "mine",
        merged.program,
    )


@pytest.mark.parametrize(
    "other", [{"domain": "build"}, {"tags": ("ci",)}, {"discoveredAt": START - days(9)}]
)
def test_a_retry_of_a_reinforcement_changes_nothing_whatever_else_it_says(
    other: dict[str, object],
) -> None:
    first = stored(EMPTY, lesson("Check the status"))
    sent = lesson("Check the status", evidence="on Friday too", **other)
    again = stored(first.program, sent)
    retry = stored(again.program, sent, after=timedelta(minutes=1))
    assert (again.status, retry.status) == ("reinforced", "unchanged")
    assert retry.program == again.program


def test_the_same_words_under_another_id_reinforce_the_stored_lesson() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine"))
    again = stored(
        first.program, lesson("  check the status. ", id="other", confidence=0.9), after=days(2)
    )
    assert (again.status, again.pattern.id, again.pattern.confirmations) == (
        "reinforced",
        "mine",
        1,
    )
    assert (again.pattern.confidence, again.pattern.last_reinforced) == (0.9, START + days(2))
    assert list(again.program.patterns) == ["mine"]


def test_a_duplicate_can_be_rejected_or_kept_instead() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine"))
    refused = stored(first.program, lesson("Check the status", id="other"), on_duplicate="reject")
    assert (
        refused.status,
        refused.program,
        refused.duplicate and refused.duplicate.similarity,
    ) == (
        "duplicate",
        first.program,
        1.0,
    )
    kept = stored(first.program, lesson("Check the status", id="other"), on_duplicate="keep")
    assert (kept.status, sorted(kept.program.patterns)) == ("created", ["mine", "other"])


def test_only_equal_words_are_a_duplicate_however_alike_two_lessons_are() -> None:
    first = stored(EMPTY, aimed("GraphQL is being phased out", 0.0))
    near = stored(first.program, aimed("REST is being phased out", 0.1))
    assert (near.status, [close.pattern.id for close in near.related]) == (
        "created",
        [first.pattern.id],
    )


def test_lessons_of_other_projects_are_never_duplicates() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine", projectId="a"))
    assert (
        stored(first.program, lesson("Check the status", id="other", projectId="b")).status
        == "created"
    )


KEY = "pattern/a/b"
READ = START - days(2)


def contributing() -> Program:
    """A program whose only lesson, "Check the status" of the session s1, is in an entry."""
    first = stored(EMPTY, lesson("Check the status", id="mine", sessionId="s1")).pattern
    known = replace(first, knowledge_keys=(KEY,))
    return program(known, read_first=READ, read_last=READ + days(1))


def test_another_text_of_a_lesson_that_nothing_holds_replaces_the_old_one_which_is_archived() -> (
    None
):
    before = stored(EMPTY, lesson("Check the status", id="mine", sessionId="s1")).program
    sent = lesson("Rebase before you push", id="mine", sessionId="s2", evidence="a conflict")
    done = stored(before, sent._replace(source=Source(client="editor")), after=days(100))
    assert (done.status, done.changed) == ("updated", None)
    assert done.pattern == Pattern(
        id="mine",
        domain="task-claiming",
        pattern="Rebase before you push",
        confidence=0.8,
        evidence="a conflict",
        discovered_at=START + days(100),
        last_reinforced=START + days(100),
        session_id="s2",
        stored_at=START + days(100),
        called_at=START + days(100),
        source=Source(client="editor"),
        words=sent.words,
    )
    assert [(line.pattern, line.reason) for line in done.archived] == [
        (before.patterns["mine"], "replaced")
    ]


@pytest.mark.parametrize(
    ("memory", "in_pairs", "place"),
    [
        (contributing(), [], "shared knowledge"),
        (program(pattern("Check the status", id="mine")), ["mine"], "a pair that waits"),
    ],
)
def test_another_text_of_a_shared_lesson_must_say_what_that_means(
    memory: Program, in_pairs: list[str], place: str
) -> None:
    problem = change_problem(memory, lesson("Rebase before you push", id="mine"), in_pairs)
    assert problem is not None
    assert problem.startswith(f"pattern.change: 'mine' is in {place}")
    assert "'reworded' if" in problem
    assert "'corrected' if" in problem
    allowed = [
        lesson("Rebase before you push", id="mine", change="reworded"),
        lesson("Rebase before you push", id="mine", change="corrected"),
        lesson("check the status.", id="mine"),
        lesson("Rebase before you push", id="other"),
    ]
    assert [change_problem(memory, sent, in_pairs) for sent in allowed] == [None] * 4


def test_a_reworded_lesson_stays_in_its_entries_and_remembers_the_old_text() -> None:
    before = contributing()
    done = stored(
        before, lesson("Rebase before you push", id="mine", change="reworded"), after=days(3)
    )
    assert done.changed == Changed(before.patterns["mine"], "reworded")
    assert done.archived == ()
    assert (done.pattern.knowledge_keys, done.pattern.stored_at) == ((KEY,), START + days(3))
    assert (done.pattern.read_first, done.pattern.read_last) == (READ, READ + days(1))
    assert done.pattern.earlier == (
        Wording(
            words=text_hash("Check the status"),
            change="reworded",
            stored_at=START,
            knowledge_keys=(KEY,),
        ),
    )
    assert done.pattern.texts == {done.pattern.words, text_hash("Check the status")}


@pytest.mark.parametrize("change", [None, "reworded", "corrected"])
def test_only_a_reworded_lesson_inherits_what_was_said_about_the_old_text(
    change: TextChange | None,
) -> None:
    known = stored(EMPTY, lesson("Check the status", id="mine")).pattern
    denied = contradicted(known, now=START + days(1), evidence="it was stale")
    sent = lesson("Check the status twice", id="mine", change=change)
    new = stored(program(denied), sent, after=days(2)).pattern
    is_inherited = change == "reworded"
    assert (new.contradictions, bool(new.evidence_log)) == (is_inherited, is_inherited)


def test_a_corrected_lesson_is_a_new_one_until_its_author_takes_the_old_text_back() -> None:
    before = contributing()
    sent = lesson("Rebase before you push", id="mine", change="corrected")
    corrected = stored(before, sent, after=days(3))
    assert corrected.changed == Changed(before.patterns["mine"], "corrected")
    assert corrected.pattern.knowledge_keys == ()
    assert corrected.pattern.texts == {corrected.pattern.words}
    assert keys_of_store(corrected.program, lesson("Check the status", id="mine")) == [KEY]
    back = stored(corrected.program, lesson("Check the status", id="mine"), after=days(4))
    assert back.changed == Changed(corrected.pattern, "corrected")
    assert [line.pattern for line in back.archived] == [corrected.pattern]
    assert (back.pattern.knowledge_keys, back.pattern.stored_at) == ((KEY,), START)
    assert (back.pattern.read_first, back.pattern.read_last) == (None, None)


def test_equal_words_under_the_same_id_keep_their_origin_and_their_promotion() -> None:
    done = stored(
        contributing(),
        lesson("check the  status", id="mine", sessionId="s2", confidence=0.9),
        after=days(3),
    )
    assert (done.status, done.changed) == ("updated", None)
    assert done.pattern == replace(
        contributing().patterns["mine"],
        pattern="check the  status",
        confidence=0.9,
        last_reinforced=START + days(3),
        confirmations=1,
        doublings=1,
        spaced_at=START + days(3),
        evidence_log=(Evidence(at=START + days(3), outcome="confirmed"),),
        called_at=START + days(3),
    )


def test_the_clients_session_counts_where_the_lesson_states_none() -> None:
    stated = lesson("Check the status", sessionId="s1")._replace(session_id="client")
    unstated = lesson("Rebase before you push")._replace(session_id="client")
    assert [stored(EMPTY, sent).pattern.session_id for sent in (stated, unstated)] == [
        "s1",
        "client",
    ]


def test_new_evidence_for_the_same_words_is_kept_with_the_first_and_restarts_the_clock() -> None:
    memory = stored(EMPTY, lesson("Check the status", id="mine", evidence="first")).program
    for time in range(1, 10):
        sent = lesson("Check the status", id="mine", evidence=f"again {time}")
        done = stored(memory, sent, after=days(11 * time))
        assert done.status == "updated"
        memory = done.program
    assert (done.pattern.evidence, done.pattern.last_reinforced) == ("first", START + days(99))
    assert [line.text for line in done.pattern.evidence_log] == [
        f"again {time}" for time in range(1, 10)
    ]


@pytest.mark.parametrize(
    ("after", "seen"), [(timedelta(minutes=9), timedelta(0)), (days(5), days(5))]
)
def test_equal_words_and_evidence_sent_otherwise_restart_the_clock_after_ten_minutes(
    after: timedelta, seen: timedelta
) -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine", evidence="seen")).program
    done = stored(
        first, lesson("Check the status", id="mine", evidence="Seen.", confidence=0.9), after=after
    )
    assert (done.pattern.last_reinforced, done.pattern.confidence) == (START + seen, 0.9)


def test_a_lesson_without_evidence_takes_the_first_that_it_gets() -> None:
    first = stored(EMPTY, lesson("Check the status", id="mine", evidence="")).program
    done = stored(first, lesson("Check the status", id="other", evidence="seen"), after=days(1))
    assert (done.status, done.pattern.evidence) == ("reinforced", "seen")
    assert [line.text for line in done.pattern.evidence_log] == [""]


def test_a_lesson_without_evidence_takes_the_first_that_it_gets_even_if_a_word_about_it_had_the_same() -> (
    None
):
    first = stored(EMPTY, lesson("Check the status", id="mine", evidence="")).program
    doubted = contradicted(first.patterns["mine"], now=START + days(1), evidence="seen")
    known = replace(first, patterns={"mine": doubted})
    done = stored(known, lesson("Check the status", id="mine", evidence="seen"), after=days(2))
    assert (done.status, done.pattern.evidence) == ("updated", "seen")


def test_another_domain_or_project_is_looked_at_again_and_keeps_its_origin() -> None:
    for field in ({"domain": "ci"}, {"projectId": "fleet"}):
        before = contributing()
        done = stored(before, lesson("Check the status", id="mine", **field), after=days(1))
        pending = stamped(before, done.program, START).pending
        assert (pending, done.pattern.stored_at, done.pattern.promoted) == (
            ("mine",),
            START,
            True,
        )


def test_times_from_the_future_or_in_the_wrong_order_are_named() -> None:
    ahead = new_pattern(discoveredAt="2026-02-14T08:29:00Z")
    assert "pattern.discoveredAt: is in the future" in (timestamp_problem(ahead, START) or "")
    assert timestamp_problem(new_pattern(discoveredAt="2026-02-14T08:28:00Z"), START) is None
    crossed = new_pattern(
        discoveredAt="2026-02-14T08:00:00Z", lastReinforced="2026-02-13T08:00:00Z"
    )
    assert "later than pattern.lastReinforced" in (timestamp_problem(crossed, START) or "")
