"""The measurements of recall count as documented, and names in code are found by themselves."""

from dataclasses import replace

import numpy as np
import pytest
from newcomers import readings, row, why
from questions import (
    own_sets,
)
from retrieval import ranks, recall_scores
from story import Question

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


def test_wrong_texts_of_equal_score_count_half_and_a_text_not_found_has_no_rank() -> None:
    scores = np.array([[0.5, 0.9, 0.5], [0.5, 0.9, 0.5], [0.1, 0.2, -1.0]])
    assert ranks(scores, [[0], [0, 2], [2]]).tolist() == [2.5, 2, np.inf]


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
