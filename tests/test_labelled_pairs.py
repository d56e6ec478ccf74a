"""Labelled pairs and steering lessons of other hands: none becomes knowledge unasked, and most that
steer are found.
"""

from collections import Counter

import pytest
from labelled_pairs import Steering, measured, read_pairs, read_steering

pytestmark = pytest.mark.anyio


def test_the_sets_are_whole() -> None:
    assert Counter(one.kind for one in read_pairs()) == {"choice": 100, "near": 60, "rewording": 60}
    assert Counter(one.steers for one in read_steering()) == {True: 40, False: 60}


async def test_no_pair_is_the_same_unasked_and_no_steering_text_that_is_found_is_published() -> (
    None
):
    found = await measured(read_pairs()[:12], read_steering()[:8])
    assert [one.unasked for one in found.pairs] == [0, 0, 0]
    assert found.steering[0] == Steering("steers its judge", 8, 8, 0)
