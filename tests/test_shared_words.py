"""The share of words of two texts, for many pairs at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.consensus.shared_words import shared_words
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.tokens import content
from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.schemas.comparison import ComparableLesson

WORDS = ("cache", "caches", "deploy", "the", "and", "release", "région", "日本")


def shares(texts: list[str], ends: list[tuple[int, int]]) -> Vectors:
    lessons = [
        ComparableLesson("p", str(at), "one", text, text_hash(text))
        for at, text in enumerate(texts)
    ]
    return shared_words(lessons, np.array(ends, np.int64).reshape(-1, 2))


def one_by_one(one: str, other: str) -> float:
    left, right = content(one), content(other)
    return len(left & right) / min(len(left), len(right)) if left and right else 0.0


@given(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), min_size=2, max_size=6),
    st.data(),
)
def test_the_shares_are_those_of_the_sets_of_words(texts: list[str], data: st.DataObject) -> None:
    place = st.integers(0, len(texts) - 1)
    ends = data.draw(st.lists(st.tuples(place, place), max_size=8))
    expected = np.array([one_by_one(texts[a], texts[b]) for a, b in ends], np.float32)
    assert shares(texts, ends).tolist() == expected.tolist()


def test_texts_without_content_words_share_none() -> None:
    assert shares(["the", "and the"], [(0, 1)]).tolist() == [0.0]
