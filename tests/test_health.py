"""The meaning of a memory's numbers: every verdict can be reached, the gravest wins, advice names
the tool to call.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.rules.health.duplicates import Repeat, Scale, repeats
from fleet_memory.rules.health.program import Signs, advice, fading, signs, verdict
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.health import HealthVerdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, Program
from fleet_memory.schemas.similarity import Profile
from fleet_memory.server.toolsets import TOOLS
from fleet_memory.views.health import fading_answer
from tests.lessons import START, days, pattern, program

SCALE = Scale("e", Profile())
NOW = START + days(200)
WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "knoll",
    "lagoon",
]


def learnt(number: int, age: float = 40, **fields: Any) -> Pattern:  # noqa: ANN401 of any field of a pattern
    at = NOW - days(age)
    text = f"Lesson {WORDS[number % 12]} {WORDS[number // 12]}"
    return replace(
        pattern(text, id=f"p{number}", discovered_at=at, last_reinforced=at, stored_at=at), **fields
    )


def memory(count: int, **fields: Any) -> list[Pattern]:  # noqa: ANN401 of any field of a pattern
    return [learnt(number, **fields) for number in range(count)]


def aligned(cosine: float) -> str:
    """Return a vector of that cosine to the first axis."""
    return packed(np.array([cosine, (1 - cosine**2) ** 0.5], np.float32))


MEMORIES: dict[HealthVerdict, Program] = {
    "empty": program(),
    "healthy": program(*memory(12, confirmations=1)),
    "forgetting": program(*memory(6, age=100), *(learnt(n) for n in range(6, 12))),
    "hoarding": program(*memory(9, confirmations=1), decay=DecayConfig(max_unpromoted_patterns=10)),
    "echoing": program(*memory(3, knowledge_key="pattern/d/x", echo=True)),
    "repeating": program(
        *(
            learnt(n, pattern="Lesson" + " amber" * n, vector=aligned(1 - n / 50), embedder="e")
            for n in range(4)
        )
    ),
    "unreinforced": program(*memory(10)),
}


@pytest.mark.parametrize("expected", get_args(HealthVerdict))
def test_every_verdict_is_reached_by_a_memory(expected: HealthVerdict) -> None:
    seen = signs(MEMORIES[expected], SCALE, NOW)
    assert verdict(seen) == expected
    assert bool(advice(seen, 0)) == (expected != "healthy")


def test_every_verdict_but_healthy_and_empty_is_a_no() -> None:
    assert set(UNHEALTHY) == MEMORIES.keys() - {"healthy", "empty"}


def test_recently_stale_lessons_are_weighed_against_new_ones() -> None:
    kept = memory(30, confirmations=1)
    faded = [learnt(n, age=100) for n in range(30, 35)]
    new = [learnt(n, age=1) for n in range(35, 40)]
    assert verdict(signs(program(*kept, *faded), SCALE, NOW)) == "forgetting"
    assert verdict(signs(program(*kept, *faded, *new), SCALE, NOW)) == "healthy"
    long_ago = [learnt(n, age=150) for n in range(30, 35)]
    assert verdict(signs(program(*kept, *long_ago), SCALE, NOW)) == "healthy"


def test_a_lesson_of_its_own_among_echoes_is_no_echo() -> None:
    echoes = memory(3, knowledge_key="pattern/d/x", echo=True)
    assert verdict(signs(program(*echoes, learnt(3)), SCALE, NOW)) == "healthy"
    assert verdict(signs(program(*echoes, learnt(3), pending=("p3",)), SCALE, NOW)) == "echoing"


def test_lessons_that_fade_within_two_weeks_are_named_soonest_first_and_five_at_most() -> None:
    soon = fading(program(*(learnt(n, age=76 + n) for n in range(7))), NOW)
    assert [(one.id, one.stale_in_days) for one in fading_answer(soon)] == [
        ("p6", 8),
        ("p5", 9),
        ("p4", 10),
        ("p3", 11),
        ("p2", 12),
    ]
    assert len(soon) == 7
    assert advice(Signs(total=7), len(soon)) == (
        "7 of your lessons will be stale within 14 days: call reinforce_memory for what still "
        "holds.",
    )


counts = st.integers(0, 200)
any_signs = st.builds(
    Signs,
    total=counts,
    stale=counts,
    unpromoted=counts,
    cap=st.integers(1, 200),
    reinforced=counts,
    learnt=counts,
    forgotten=counts,
    settled=counts,
    echoes=counts,
    repeats=st.lists(st.just(Repeat("p2", "p1")), max_size=30),
)


@given(seen=any_signs, soon=st.integers(0, 20))
def test_advice_is_healthy_s_silence_or_names_a_tool_in_every_line(seen: Signs, soon: int) -> None:
    lines = advice(seen, soon)
    tools = {spec.function.__name__ for spec in TOOLS["core"]}
    assert all(any(tool in line for tool in tools) for line in lines)
    assert (verdict(seen) == "healthy") == (advice(seen, 0) == ())


@given(seen=any_signs)
def test_curing_the_gravest_leaves_the_next_of_the_order(seen: Signs) -> None:
    cures: dict[HealthVerdict, Callable[[Signs], Signs]] = {
        "empty": lambda ill: ill._replace(total=1, stale=0),
        "forgetting": lambda ill: ill._replace(stale=0, forgotten=0),
        "hoarding": lambda ill: ill._replace(unpromoted=0),
        "echoing": lambda ill: ill._replace(echoes=0, settled=max(1, ill.settled)),
        "repeating": lambda ill: ill._replace(repeats=()),
        "unreinforced": lambda ill: ill._replace(reinforced=1),
    }
    order, found = list(cures), []
    while (word := verdict(seen)) != "healthy":
        found.append(order.index(word))
        seen = cures[word](seen)
    assert found == sorted(set(found))


def test_a_repeat_has_the_words_or_the_meaning_of_an_earlier_lesson() -> None:
    first = pattern("Claim tasks in a batch", id="a", vector=aligned(1), embedder="e")
    words = pattern("claim tasks, in a batch!", id="b", stored_at=START + days(1))
    meaning = pattern(
        "Take the tasks in one batch",
        id="c",
        vector=aligned(0.8),
        embedder="e",
        stored_at=START + days(2),
    )
    assert repeats([meaning, words, first], SCALE) == [Repeat("b", "a"), Repeat("c", "a")]


@pytest.mark.parametrize(
    "other",
    [
        {"vector": aligned(0.6), "embedder": "e"},
        {"vector": aligned(0.8), "embedder": "another"},
        {"vector": aligned(0.8), "embedder": "e", "project_id": "x"},
        {"vector": aligned(0.99), "embedder": "e", "pattern": "Never claim tasks in a batch"},
    ],
)
def test_a_lesson_that_is_less_alike_or_elsewhere_or_opposed_is_no_repeat(
    other: dict[str, object],
) -> None:
    first = pattern("Claim tasks in a batch", id="a", vector=aligned(1), embedder="e")
    text = str(other.get("pattern", "Take the tasks in one batch"))
    second = pattern(text, **({"id": "b", "stored_at": START + days(1)} | other))
    assert repeats([first, second], SCALE) == []


@given(ages=st.lists(st.floats(0, 1), max_size=8))
def test_a_first_lesson_is_never_a_repeat(ages: list[float]) -> None:
    lessons = [
        pattern(f"Lesson {n}", id=f"p{n}", vector=aligned(cosine), embedder="e", stored_at=_at(n))
        for n, cosine in enumerate(ages)
    ]
    found = repeats(lessons, SCALE)
    assert len(found) == len({one.id for one in found}) <= max(0, len(lessons) - 1)
    assert all(int(one.of[1:]) < int(one.id[1:]) for one in found)


def _at(number: int) -> datetime:
    return START + days(number)
