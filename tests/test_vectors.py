from base64 import b64decode

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fleet_memory.rules.text.vectors import (
    Vectors,
    cosines,
    int8_matrix,
    int8_rows,
    packed,
    unit_row,
)

SIZE = 384
directions = arrays(np.float32, SIZE, elements=st.floats(-1, 1, width=32)).filter(
    lambda v: np.linalg.norm(v) > 0.1
)


def unpacked(blobs: list[str]) -> Vectors:
    return np.stack([unit_row(b64decode(blob)) for blob in blobs])


@given(st.lists(directions, min_size=2, max_size=4))
def test_a_kept_vector_has_length_one_and_its_old_direction(vectors: list[Vectors]) -> None:
    units = np.stack([vector / np.linalg.norm(vector) for vector in vectors])
    kept = unpacked([packed(unit) for unit in units])
    assert (kept.shape, kept.dtype.name) == (units.shape, "float32")
    assert np.allclose(np.linalg.norm(kept, axis=1), 1, atol=1e-5)
    assert (kept * units).sum(1).min() > 0.99


@given(st.lists(directions, min_size=1, max_size=4), directions)
def test_cosines_of_unpacked_rows_are_those_of_kept_vectors(
    vectors: list[Vectors], question: Vectors
) -> None:
    blobs, unit = [packed(vector) for vector in vectors], question / np.linalg.norm(question)
    found = cosines(int8_matrix([b64decode(blob) for blob in blobs]), unit)
    assert np.allclose(found, unpacked(blobs) @ unit, atol=1e-5)


def test_a_row_of_zeros_is_alike_to_nothing_and_rows_of_two_lengths_are_refused() -> None:
    assert cosines(int8_matrix([bytes(4)]), np.ones(4, np.float32)).tolist() == [0]
    with pytest.raises(ValueError, match="several lengths"):
        int8_matrix([bytes(4), bytes(3)])


def test_cosines_of_kept_vectors_are_off_by_less_than_a_hundredth() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, SIZE)).astype(np.float32)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    kept = unpacked([packed(unit) for unit in units])
    assert np.abs(kept @ kept.T - units @ units.T).max() < 0.005


@pytest.mark.parametrize("count", [0, 1, 256, 600])
def test_cosines_to_one_vector_are_those_of_the_rows_of_length_one(count: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(count + 1, SIZE)).astype(np.float32)
    question, *stored = unpacked([packed(vector) for vector in vectors])
    rows = int8_rows([(b64decode(packed(vector)), "") for vector in stored], "")[:count]
    assert (
        np.abs(cosines(rows, question) - np.array(stored).reshape(-1, SIZE) @ question).max(
            initial=0
        )
        < 1e-5
    )
    assert cosines(np.zeros((2, SIZE), np.int8), question).tolist() == [0, 0]


def test_keeping_a_kept_vector_again_changes_nothing() -> None:
    blob = packed(np.arange(-5, 6, dtype=np.float32))
    assert packed(unpacked([blob])[0]) == blob


def test_a_kept_vector_is_text_of_one_byte_a_number() -> None:
    assert len(packed(np.ones(SIZE, np.float32))) == SIZE * 4 // 3
