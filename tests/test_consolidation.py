from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fleet_memory.rules.consensus.planning import Plan, Topic, contested, planned
from fleet_memory.rules.consensus.waiting import learnt_of
from fleet_memory.schemas.waiting import Learnt

from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.similarity import Profile
from tests.lessons import START, days, pattern, program

SAME = (1.0, 0.0, 0.0, 0.0)  # directions of made-up meanings; the cosine of two is their dot product
LIKE = (0.8, 0.6, 0.0, 0.0)
ALMOST = (0.5, 0.0, 0.866, 0.0)
OTHER = (0.0, 0.0, 0.0, 1.0)

CLAIM = "Check the status before claiming"
VERIFY = "Verify that the task is unclaimed first"
REBASE = "Rebase before you push"


def learnt(program_id: str, text: str, **fields: Any) -> Learnt:  # noqa: ANN401 of any field of a pattern
    return learnt_of(program(program_id=program_id), pattern(text, id=f"{program_id}-{text_hash(text)}", **fields))


def known(text: str, **fields: Any) -> KnowledgeRow:  # noqa: ANN401 of any field; pydantic refuses what is none
    row = KnowledgeRow(
        key="pattern/task-claiming/x",
        pattern=text,
        domain="task-claiming",
        confidence=0.9,
        last_confirmed=START,
        since=1,
    )
    return replace(row, **fields)


def decided(
    lessons: Sequence[tuple[Learnt, tuple[float, ...]]],
    entries: Sequence[tuple[KnowledgeRow, tuple[float, ...]]] = (),
    threshold: int = 2,
) -> Plan:
    topic = Topic(
        [lesson for lesson, _ in lessons],
        np.array([direction for _, direction in lessons], np.float32).reshape(-1, 4),
        [row for row, _ in entries],
        np.array([direction for _, direction in entries], np.float32).reshape(-1, 4),
    )
    return planned(topic, Profile(), threshold)


def test_the_same_lesson_of_two_programs_in_other_words_is_promoted() -> None:
    plan = decided([(learnt("basher", CLAIM), SAME), (learnt("sark", VERIFY), LIKE), (learnt("sark", REBASE), OTHER)])
    assert [group.members for group in plan.promotions] == [(0, 1)]
    assert "cosine 0.80" in plan.promotions[0].explain


@pytest.mark.parametrize(
    ("sark", "text"),
    [
        ({"confidence": 0.85, "discovered_at": START + days(1)}, 1),
        ({"discovered_at": START - days(1)}, 1),
        ({}, 0),
    ],
    ids=["the highest confidence", "then the oldest", "then the first program id"],
)
def test_of_equally_central_texts_one_is_chosen_by(sark: dict[str, object], text: int) -> None:
    lessons = [(learnt("basher", CLAIM), SAME), (learnt("sark", VERIFY, **sark), LIKE)]
    assert decided(lessons).promotions[0].text == text


def test_one_program_alone_promotes_nothing_however_often_it_says_it() -> None:
    plan = decided([(learnt("basher", CLAIM), SAME), (learnt("basher", VERIFY), SAME)])
    assert plan == Plan((), (), (), 0)


def test_programs_of_one_session_promote_nothing_together() -> None:
    one = learnt("basher", CLAIM, session_id="s1")
    two = learnt("sark", VERIFY, session_id="s1")
    assert decided([(one, SAME), (two, SAME)]).promotions == ()
    assert (
        len(decided([(one, SAME), (two, SAME), (learnt("iso", "Look first", session_id="s2"), SAME)]).promotions) == 1
    )


def test_a_threshold_of_three_waits_for_a_third_program() -> None:
    two = [(learnt("basher", CLAIM), SAME), (learnt("sark", VERIFY), SAME)]
    assert decided(two, threshold=3).promotions == ()
    assert len(decided([*two, (learnt("iso", "Look first"), SAME)], threshold=3).promotions) == 1


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Never force-push to a shared branch", "Always force-push to a shared branch"),
        ("Retry 3 times before giving up", "Retry 30 times before giving up"),
    ],
)
def test_opposite_lessons_and_other_numbers_are_contested_not_merged(one: str, two: str) -> None:
    plan = decided([(learnt("basher", one), SAME), (learnt("sark", two), SAME)])
    assert plan.promotions == ()
    assert [contested(pair, Profile()) for pair in plan.open_pairs] == [True]


def test_what_numbers_cannot_decide_is_offered_for_review() -> None:
    plan = decided([(learnt("basher", CLAIM), SAME), (learnt("sark", VERIFY), ALMOST)])
    assert (plan.promotions, [pair.link.cosine for pair in plan.open_pairs]) == ((), [0.5])


def test_a_verdict_decides_a_pair_until_a_text_changes() -> None:
    same = {text_hash(VERIFY): Verdict(same=True, judge="iso", at=START)}
    one = (learnt("basher", CLAIM, verdicts=same), SAME)
    assert [group.explain for group in decided([one, (learnt("sark", VERIFY), OTHER)]).promotions] == [
        "judged the same by iso"
    ]
    assert decided([one, (learnt("sark", REBASE), OTHER)]).promotions == ()
    different = {text_hash(VERIFY): Verdict(same=False, judge="iso", at=START)}
    plan = decided([(learnt("basher", CLAIM, verdicts=different), SAME), (learnt("sark", VERIFY), SAME)])
    assert (plan.promotions, plan.open_pairs) == ((), ())


def test_equal_words_are_the_same_whatever_the_vectors_say() -> None:
    plan = decided([(learnt("basher", CLAIM), SAME), (learnt("sark", CLAIM.upper() + "!"), OTHER)])
    assert [group.similarities for group in plan.promotions] == [(1.0, 1.0)]


def test_a_lesson_that_says_what_an_entry_says_is_attached_to_it() -> None:
    plan = decided([(learnt("iso", CLAIM), LIKE)], [(known(VERIFY), SAME)])
    assert [(one.lesson, one.entry, one.similarity) for one in plan.attachments] == [(0, 0, 0.8)]


def test_a_lesson_in_the_words_of_any_contribution_is_attached() -> None:
    plan = decided([(learnt("iso", CLAIM), OTHER)], [(known(VERIFY, wordings=(text_hash(CLAIM),)), SAME)])
    assert [(one.lesson, one.similarity) for one in plan.attachments] == [(0, 1.0)]


def test_across_domains_only_a_strict_match_merges() -> None:
    near = [(learnt("basher", CLAIM, domain="claims"), SAME), (learnt("sark", VERIFY), LIKE)]
    assert decided(near).promotions != ()  # contrast .65
    farther = [(learnt("basher", CLAIM, domain="claims"), SAME), (learnt("sark", VERIFY), (0.66, 0.75, 0.0, 0.0))]
    assert decided(farther).promotions == ()  # contrast .51: enough within a domain, not across


def test_the_text_closest_to_all_others_speaks_for_the_group() -> None:
    middle = (0.924, 0.383, 0.0, 0.0)
    plan = decided(
        [
            (learnt("basher", CLAIM), SAME),
            (learnt("sark", VERIFY), middle),
            (learnt("iso", "Look first"), (0.707, 0.707, 0.0, 0.0)),
        ]
    )
    assert [(group.text, group.similarities) for group in plan.promotions] == [(1, (0.924, 1.0, 0.924))]


def test_a_lesson_that_belongs_to_an_entry_is_a_rival_and_never_grouped_again() -> None:
    settled = (learnt("sark", VERIFY, knowledge_key="pattern/a/b"), SAME)
    assert decided([(learnt("basher", CLAIM), SAME), settled]) == Plan((), (), (), 0)
    free = (learnt("sark", REBASE), LIKE)
    assert len(decided([(learnt("basher", CLAIM), SAME), free]).promotions) == 1
    assert decided([(learnt("basher", CLAIM), SAME), settled, free]).promotions == ()
