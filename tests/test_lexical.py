import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet_memory.rules.text.vectors import Vectors
from fleet_memory.similarity.lexical import DIMENSIONS, Lexical


def vectors(*texts: str) -> Vectors:
    return anyio.run(Lexical().vectors, texts)


@given(st.lists(st.text(max_size=60), max_size=5))
@settings(max_examples=40)
def test_every_text_has_a_row_of_length_one(texts: list[str]) -> None:
    found = vectors(*texts)
    assert (found.shape, found.dtype.name) == ((len(texts), DIMENSIONS), "float32")
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


def test_vectors_are_the_same_in_every_process_and_release_that_call_them_lexical_1() -> None:
    assert Lexical.name == "lexical/1"
    assert vectors("Pin it")[0].nonzero()[0].tolist() == [
        78,
        120,
        185,
        195,
        203,
        263,
        311,
        348,
        371,
    ]


@pytest.mark.parametrize(
    ("text", "nearer", "farther"),
    [
        (
            "Check status before claiming",
            "checking the status before you claim",
            "Rotate credentials every quarter",
        ),
        (
            "Batched writes fail above 500",
            "batched write fails over 500",
            "Use the staging database for load tests",
        ),
    ],
)
def test_shared_words_and_inflections_bring_texts_together(
    text: str, nearer: str, farther: str
) -> None:
    found = vectors(text, nearer, farther)
    near, far = found[1:] @ found[0]
    assert near >= Lexical.profile.related > far


def test_case_and_width_do_not_matter() -> None:
    small, large = vectors("retry twice", "\uff32etry TWICE")
    assert np.array_equal(small, large)


def test_it_calls_no_lessons_alike_and_still_proposes_pairs() -> None:
    profile = Lexical.profile
    assert profile.alike > 1
    assert 0 < profile.review < 1
    assert 0 < profile.related < 1


def test_it_names_the_engine_that_it_replaces() -> None:
    assert (Lexical().degraded, Lexical("The model is gone.").degraded) == (
        "",
        "The model is gone.",
    )
