"""The meaning of a memory's numbers: every verdict can be reached, the gravest wins, advice names
the tool to call.
"""

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_memory.rules.health import Signs, program_advice, signs, verdict
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig, HealthVerdict, Program
from fleet_memory.tools.health import UNHEALTHY
from tests.lessons import START, days, pattern, program
from tests.matrix import names_of

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


MEMORIES: dict[HealthVerdict, Program] = {
    "empty": program(),
    "healthy": program(*memory(12, confirmations=1)),
    "forgetting": program(*memory(6, age=100), *(learnt(n) for n in range(6, 12))),
    "hoarding": program(*memory(9, confirmations=1), decay=DecayConfig(max_unpromoted_patterns=10)),
    "unreinforced": program(*memory(10)),
}


@pytest.mark.parametrize("expected", get_args(HealthVerdict))
def test_every_verdict_is_reached_by_a_memory(expected: HealthVerdict) -> None:
    seen = signs(MEMORIES[expected], NOW)
    assert verdict(seen) == expected
    assert bool(program_advice(seen, 0, 0)) == (expected != "healthy")


def test_every_verdict_but_healthy_and_empty_is_a_no() -> None:
    assert set(UNHEALTHY) == MEMORIES.keys() - {"healthy", "empty"}


def test_stale_lessons_use_nothing_of_the_cap_() -> None:
    decay = DecayConfig(max_unpromoted_patterns=10)
    kept = memory(6, confirmations=1)
    faded = [learnt(n, age=100) for n in range(6, 12)]
    seen = signs(program(*kept, *faded, decay=decay), NOW)
    assert (seen.unpromoted, seen.stale) == (6, 6)


counts = st.integers(0, 200)
any_signs = st.builds(
    Signs,
    total=counts,
    stale=counts,
    unpromoted=counts,
    cap=st.integers(1, 200),
    reinforced=counts,
    sessions=st.just(0),
)


@given(seen=any_signs, soon=st.integers(0, 20))
def test_advice_is_healthy_s_silence_or_names_a_tool_in_every_line(seen: Signs, soon: int) -> None:
    lines = program_advice(seen, soon, 0)
    tools = names_of("core")
    assert all(any(tool in line for tool in tools) for line in lines)
    assert (verdict(seen) == "healthy") == (program_advice(seen, 0, 0) == ())
