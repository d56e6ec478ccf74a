"""Lessons over the cap are on a page for every reader at once; their documents move several at a
time.
"""

from dataclasses import replace

import pytest

from fleet_memory.rules.lifecycle.paging import (
    MAX_OUTGOING_BYTES,
    OUTGOING_SHARE,
    outgoing,
    paged_lesson,
)
from fleet_memory.schemas.programs import DecayConfig
from tests.lessons import pattern, program

pytestmark = pytest.mark.anyio

CAP = 3 * OUTGOING_SHARE
OUTGOING = 3


def test_lessons_stay_outgoing_while_they_are_few_and_small() -> None:
    lessons = {f"l{number}": pattern(id=f"l{number}") for number in range(OUTGOING + 1)}
    paged = {id_: paged_lesson(lesson, 1) for id_, lesson in lessons.items()}
    whole = program(*lessons.values(), paged=paged, decay=DecayConfig(max_unpromoted_patterns=CAP))
    assert outgoing(lessons, whole) == {}
    few = replace(whole, paged={id_: lesson for id_, lesson in paged.items() if id_ != "l0"})
    assert outgoing(lessons, few) == {id_: lessons[id_] for id_ in few.paged}
    large = {"l1": pattern("x" * MAX_OUTGOING_BYTES, id="l1")}
    assert outgoing(large, replace(few, patterns=large)) == {}
