"""The measurements of recall count as documented, and names in code are found by themselves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from newcomers import readings, row, why
from questions import (
    STORIES,
    OwnLesson,
    asked_of,
    in_other_words,
    one_agent,
    own_sets,
    public_questions,
)
from retrieval import RETRIEVAL, misses_gate, ranks, recall_scores
from room import Room, lessons_of, rooms
from story import Question, read_story

from fleet_memory.similarity.minilm import MiniLM
from tests.test_stories import STORY

pytestmark = pytest.mark.anyio


def test_lessons_that_hold_a_quoted_name_come_first_without_any_meaning() -> None:
    alone = [one for one in own_sets() if one.name == "an identifier alone"]
    for one in alone:
        quoted = one._replace(questions=[f"`{name}`" for name in one.questions])
        scores = recall_scores(quoted, np.zeros((len(one.questions), len(one.texts))))
        assert (
            ranks(scores, one.right) <= 2
        ).all()  # 2: two other texts spell iOS in small letters
    assert sum(len(one.questions) for one in alone) > 40


@pytest.mark.parametrize("path", sorted(STORIES.glob("*.json")), ids=lambda path: path.stem)
def test_every_question_of_asked_names_an_identifier_in_its_lessons(path: Path) -> None:
    asked = asked_of(path)
    lessons = {one.id: one for one in read_story(path).lessons}
    assert asked is not None
    for one in asked.identifiers:
        assert one.identifier in one.question
        assert all(
            one.identifier in f"{lessons[id_].pattern} {lessons[id_].evidence}"
            for id_ in one.lessons
        )


def test_wrong_texts_of_equal_score_count_half_and_a_text_not_found_has_no_rank() -> None:
    scores = np.array([[0.5, 0.9, 0.5], [0.5, 0.9, 0.5], [0.1, 0.2, -1.0]])
    assert ranks(scores, [[0], [0, 2], [2]]).tolist() == [2.5, 2, np.inf]


def test_equal_answers_are_one_text() -> None:
    assert in_other_words("n", [("q", "a"), ("r", "a")], ["b", "a"]).right == [[0], [0]]


@pytest.mark.parametrize(
    ("name", "first", "five", "missed"),
    [
        ("a command", 0.1, 0.88, False),
        ("a command", 0.9, 0.87, True),
        ("an identifier alone", 0.98, 1.0, False),
        ("an identifier alone", 0.97, 1.0, True),
    ],
)
def test_recall_misses_a_gate_below_the_better_of_words_and_meaning(
    name: str, first: float, five: float, *, missed: bool
) -> None:
    alone = [("words", 0.5, 0.5, 0.7, 0.8), ("meaning", 0.5, 0.5, 0.9, 0.9)]
    assert len(RETRIEVAL) == len(alone[0])
    assert misses_gate(name, [*alone, ("recall", 0.5, first, five, 1.0)]) is missed


async def test_a_newcomer_finds_a_fact_of_two_agents_and_none_of_one_agent() -> None:
    questions = (
        Question(agent="dan", question="When do I have to change the signing key?", fact="key"),
        Question(
            agent="dan", question="Which tool installs packages of the shop, pnpm?", fact="pnpm"
        ),
    )
    story = replace(STORY, questions=questions)
    asked = await readings(story, MiniLM())
    assert [(one.shared, one.published, one.place) for one in asked] == [
        (True, True, 1),
        (False, False, 0),
    ]
    assert why(asked[1]) == "one agent alone stored it"
    assert row("kiosk", asked)[:8] == ("kiosk", 2, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0)


KIOSK = (
    OwnLesson(
        id="key",
        domain="signing",
        pattern="Rotate the signing key every ninety days",
        evidence="The old one ran out in March",
        question="When do I have to change the signing key?",
    ),
    OwnLesson(
        id="crane",
        domain="cranes",
        pattern="Grease the crane's bearing before the first frost",
        evidence="It froze in November",
        question="What does the harbour crane need before winter?",
        held_out=True,
    ),
    OwnLesson(
        id="bread",
        domain="baking",
        pattern="Bread is done when its crust sounds hollow",
        evidence="Two loaves were raw",
        question="How do I know that the rocket has landed?",
    ),
)


async def test_one_agent_is_asked_one_half_of_its_questions_about_its_stored_lessons() -> None:
    public = await rooms(KIOSK, (1, 3), MiniLM(), held_out=False)
    assert public == [
        Room(stored=1, findable=1, places=[1]),
        Room(stored=3, findable=3, places=[1, 0]),
    ]
    assert public[1].row() == (3, 3, 2, 0.5, 0.5, 0.5)
    assert await rooms(KIOSK, (3,), MiniLM(), held_out=True) == [
        Room(stored=3, findable=3, places=[1])
    ]


async def test_a_lesson_without_a_question_is_stored_and_not_asked_for() -> None:
    unasked = replace(KIOSK[0], question="")
    assert await rooms([unasked, *KIOSK[1:]], (3,), MiniLM(), held_out=False) == [
        Room(3, findable=3, places=[0])
    ]


def test_equal_texts_of_a_file_are_one_lesson_with_its_first_question(tmp_path: Path) -> None:
    path = tmp_path / "set.tsv"
    path.write_text("a\tb\nq\tt\nr\tu\ns\tt\n", encoding="utf-8")
    assert [(one.id, one.question, one.pattern) for one in lessons_of(path)] == [
        ("lesson-0", "q", "t"),
        ("lesson-1", "r", "u"),
    ]


def test_a_room_s_row_counts_places_from_the_first() -> None:
    assert Room(300, 100, [1, 2, 5, 6, 0]).row() == (
        300,
        100,
        5,
        (1 + 1 / 2 + 1 / 5 + 1 / 6) / 5,
        0.2,
        0.6,
    )


def test_the_lessons_of_one_agent_differ_and_half_of_their_questions_are_held_out() -> None:
    lessons, public = one_agent().lessons, public_questions()
    assert (
        len({lesson.pattern for lesson in lessons})
        == len({lesson.question for lesson in lessons})
        == 300
    )
    assert (len(public.questions), len(public.texts)) == (150, 300)
    held_out = {lesson.question for lesson in lessons if lesson.held_out}
    assert len(held_out) == 150
    assert not held_out & set(public.questions)


def test_half_of_the_150_questions_of_the_other_agent_are_held_out() -> None:
    lessons = one_agent("logistics_agent").lessons
    asked = [lesson for lesson in lessons if lesson.question]
    assert len({lesson.pattern for lesson in lessons}) == 300
    assert len({lesson.question for lesson in asked}) == len(asked) == 150
    assert (
        sum(lesson.held_out for lesson in asked) == sum(lesson.held_out for lesson in lessons) == 75
    )
