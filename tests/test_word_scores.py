import math
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fleet_memory.similarity.words import STOP_WORDS, WordIndex, word_scores
from tests.bounds import HANG_S

LESSONS = [
    "Claim a task only when its status is created",
    "Release a task when you cannot finish it",
    "Rotate credentials every quarter",
]
any_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
some_words = st.lists(
    st.sampled_from(
        [
            "task",
            "tasks",
            "claimed",
            "Claim",
            "main_py",
            "py",
            "the",
            "café",
            "CAFE",
            "_",
            "東京",
            "x²",
        ]
    ),
    max_size=6,
).map(" ".join)
questions_and_pools = st.tuples(any_text | some_words, st.lists(any_text | some_words, max_size=6))


def shares_by_search(question: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the scores by asking SQLite's full-text search for each word."""
    scores, whole = np.zeros(len(texts)), 0.0
    words = dict.fromkeys(re.findall(r"\w+", question.lower()))
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE lesson USING fts5(text, tokenize='porter unicode61')")
        index.executemany("INSERT INTO lesson(rowid, text) VALUES (?, ?)", enumerate(texts))
        for word in [word for word in words if word not in STOP_WORDS] or words:
            found = index.execute("SELECT rowid FROM lesson WHERE lesson MATCH ?", (f'"{word}"',))
            holders = [row for (row,) in found]
            information = math.log(1 + len(texts) / max(1, len(holders)))
            scores[holders] += information
            whole += information
    return scores / whole if whole else scores


@given(st.lists(questions_and_pools, min_size=1, max_size=4), st.integers(0, 60))
def test_scores_are_those_of_a_full_text_search_as_texts_come_and_go(
    asked: list[tuple[str, list[str]]], max_chars: int
) -> None:
    indices = (WordIndex(), WordIndex(max_chars))
    for question, texts in asked:
        expected = shares_by_search(question, texts).tolist()
        assert [index.scores(question, texts).tolist() for index in indices] == [expected] * 2


def test_a_word_of_several_stems_is_found_where_they_follow_each_other() -> None:
    texts = ["main_py", "edit main.py first", "py main", "main", "py"]
    assert (word_scores("main_py", texts) > 0).tolist() == [True, True, False, False, False]


def test_a_text_with_more_of_the_words_scores_higher_and_one_with_none_scores_zero() -> None:
    best, second, none = word_scores("claiming a task", LESSONS)
    assert best > second > none == 0


def test_inflections_of_a_word_match() -> None:
    assert word_scores("rotating a credential", LESSONS).argmax() == 2


def test_stop_words_of_the_question_do_not_count() -> None:
    assert (
        word_scores("when do I release it?", LESSONS).tolist()
        == word_scores("release", LESSONS).tolist()
    )


def test_a_question_of_stop_words_alone_is_taken_at_its_words() -> None:
    assert (word_scores("when is its", LESSONS) > 0).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        ('"', [False, False, False]),
        ('say "task" twice"', [True, True, False]),
        ("NEAR(task release)", [True, True, False]),
        ("rotate AND NOT release", [False, True, True]),
        ("text: credential*", [False, False, True]),
        ("^quarter - (", [False, False, True]),
        ("status === 'created'", [True, False, False]),
    ],
)
def test_operators_and_quotes_in_a_question_are_only_text(
    question: str, answered: list[bool]
) -> None:
    assert (word_scores(question, LESSONS) > 0).tolist() == answered


def test_a_question_as_long_as_a_page_is_answered() -> None:
    question = " ".join(f"word{n}" for n in range(5000)) + " credentials"
    assert word_scores(question, LESSONS).argmax() == 2


@given(any_text, st.lists(any_text, max_size=4))
def test_any_question_over_any_texts_gives_one_finite_score_a_text(
    question: str, texts: list[str]
) -> None:
    scores = word_scores(question, texts)
    assert scores.shape == (len(texts),)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    assert (scores <= 1).all()


def test_a_score_is_the_share_of_the_question_that_a_text_answers() -> None:
    half, whole, none = word_scores(
        "claim task", ["claim a lease", "task: claim", "rotate credentials"]
    )
    assert 0 < half < 0.7 < whole <= 1
    assert none == 0
    few = word_scores(
        "claim the next task of the queue before the lease of the worker ends", LESSONS
    )
    assert few.max() < 0.5  # the best of a bad lot is still little


def test_a_pool_larger_than_the_bound_is_indexed_once_and_new_texts_alone_join_it() -> None:
    index = WordIndex(max_chars=10)
    index.scores("claim a task", LESSONS)
    known = dict(index._stems)
    index.scores("rotate anything else", LESSONS)
    index.scores("rotate anything else", [*LESSONS, "Pin versions"])
    assert all(index._stems[text] is known[text] for text in LESSONS)


def test_the_index_forgets_other_pools_where_they_exceed_the_bound() -> None:
    index = WordIndex(max_chars=10)
    index.scores("claim", LESSONS)
    index.scores("pin", ["Pin versions"])
    assert list(index._stems) == ["Pin versions", "pin"]


def test_a_question_imports_no_masked_arrays() -> None:
    """numpy imports them at the first use of some functions: a megabyte that no question needs."""
    work = """
import sys
from fleet_memory.similarity.words import word_scores
before = "numpy.ma" in sys.modules  # numpy 1 imports them with itself
word_scores("claiming a task", ["Claim a task"])
print(before == ("numpy.ma" in sys.modules))
"""
    answer = subprocess.run(  # noqa: S603 own interpreter
        [sys.executable, "-c", work], capture_output=True, check=True, timeout=HANG_S
    )
    assert answer.stdout == b"True\n"
