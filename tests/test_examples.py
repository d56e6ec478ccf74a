"""A property has the same examples each time, whoever runs it, so that no change fails for
another's defect.
"""

from hypothesis import given
from hypothesis import strategies as st

from tests.bounds import AT_NIGHT


def examples() -> list[int]:
    drawn: list[int] = []

    @given(st.integers())
    def draw(number: int) -> None:
        drawn.append(number)

    draw()
    return drawn


def test_a_property_has_the_same_examples_each_time_unless_it_is_night() -> None:
    assert (examples() == examples()) == (not AT_NIGHT)
