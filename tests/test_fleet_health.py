"""A fleet as numbers: who is not well, what to do, within the budget."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.rules.curating import freshness
from fleet_memory.rules.health import (
    Look,
    Signs,
    curation_advice,
    fleet_advice,
    missing_advice,
    relearnt_entries,
    total_signs,
    unwell,
    waiting_advice,
)
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.health import (
    MissingQuestion,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.value import Value
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.judging import ContestedAnswer
from fleet_memory.tools.health import (
    MIN_FLEET_HEALTH_TOKENS,
    FleetHealthAnswer,
    fleet_health,
)
from fleet_memory.tools.shared import fitting
from tests.lessons import START, days

NOW = START + days(200)
MANY = 10**9
WAITING = dict.fromkeys(("people", "third", "programs"), MANY)


def look(name: str, **numbers: int) -> Look:
    return Look(name, Signs(**{"total": 1, "cap": 100, "reinforced": 1} | numbers))


def row(key: str, age: float, **fields: Any) -> KnowledgeRow:  # noqa: ANN401 of any field; pydantic checks them
    known = KnowledgeRow(
        key=key, pattern="x", domain="d", confidence=0.8, last_confirmed=NOW - days(age)
    )
    return replace(known, **fields)


def test_programs_add_up_and_none_add_up_to_nothing() -> None:
    one = Signs(1, 2, 3, 4, 5, 6, 4)
    added = total_signs([Look(name, one) for name in "xyz"])
    assert added == Signs(3, 6, 9, 12, 15, 18, 12)
    assert total_signs([]) == Signs()


def test_the_gravest_and_largest_come_first_and_the_well_are_left_out() -> None:
    looks = [
        look("a", total=20, reinforced=0),
        look("b", total=2, stale=2),
        look("c", total=50),
        look("d", total=8, stale=4),
        look("e", total=0),
    ]
    assert [one.program_id for one in unwell(looks)] == ["d", "b", "a"]


OLD = freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2))
UP_TO_DATE = freshness(0, 0, NOW, NOW)


@pytest.mark.parametrize(
    ("ill", "verify", "fresh"), [(1, 0, UP_TO_DATE), (0, 1, UP_TO_DATE), (0, 0, OLD)]
)
def test_each_trouble_has_its_line_of_advice(ill: int, verify: int, fresh: Freshness) -> None:
    assert len(fleet_advice([], ill, verify, fresh)) == 1
    assert fleet_advice([], 0, 0, UP_TO_DATE) == ()


def test_a_name_that_several_agents_share_is_reported_with_the_setting_that_separates_them() -> (
    None
):
    looks = [look(name, sessions=count) for name, count in (("a", 2), ("b", 3), ("c", 5))]
    (line,) = fleet_advice(looks, 0, 0, UP_TO_DATE)
    assert line.startswith("2 programs have many sessions at once, e.g. b. Agents that share")
    assert "FLEET_MEMORY_PROGRAM" in line
    assert fleet_advice(looks[:1], 0, 0, UP_TO_DATE) == ()


def test_contested_entries_and_retired_ones_that_were_learnt_again_name_the_command() -> None:
    rows = [
        row("pattern/d/b", 1, state="retired", relearnt=1),
        row("pattern/d/a", 1, state="retired", relearnt=3),
        row("pattern/d/c", 1, state="retired"),
        row("pattern/d/d", 1, relearnt=2),
        row("pattern/d/e", 1, state="retired", relearnt=9, never_published=True),
    ]
    relearnt = relearnt_entries(rows)
    assert relearnt == [
        RelearntEntry(key="pattern/d/a", pattern="x", relearnt=3),
        RelearntEntry(key="pattern/d/b", pattern="x", relearnt=1),
    ]
    assert curation_advice(2, relearnt) == (
        "2 entries are contested: have an agent that knows the matter call reinforce_memory "
        "with the key and evidence, "
        "confirmed or contradicted; or fleet-memory entry retire KEY.",
        "pattern/d/a was retired and learnt again by 3 lessons, and 1 more entry so: "
        "fleet-memory entry reinstate KEY, or "
        "leave it.",
    )
    assert curation_advice(0, []) == ()


MISSING = [MissingQuestion(text="\N{MEMO}" * 1_000, times=MANY, programs=MANY)] * 100
RELEARNT = [RelearntEntry(key="k" * 220, pattern="x" * 1_000, relearnt=MANY)] * 100
LISTS: dict[str, list[Value]] = {
    "missing": [*MISSING],
    "contested": [ContestedAnswer(key="k" * 220, pattern="x" * 1_000)] * 100,
    "relearnt": [*RELEARNT],
    "unwell": [ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY)]
    * 100,
}


@pytest.mark.parametrize("character", ["\N{MEMO}", '"', "\\"])
def test_the_largest_answer_keeps_the_least_budget(character: str) -> None:
    quoting = [MissingQuestion(text=character * 1_000, times=MANY, programs=MANY)]
    shared = [look("a" * 100, sessions=MANY)] * 100
    frame = FleetHealthAnswer(
        similarity_engine="lexical",
        verdict="unreinforced",
        advice=(
            *missing_advice(quoting),
            *waiting_advice(WAITING),
            *curation_advice(MANY, RELEARNT),
            *fleet_advice(shared, MANY, MANY, OLD),
        ),
        judging=WAITING,
        programs=MANY,
        patterns=dict.fromkeys(("total", "active", "stale", "promoted"), MANY),
        knowledge=dict.fromkeys(("fresh", "verify", "contested", "retired"), MANY),
        freshness=OLD,
    )
    answer = replace(
        frame, **fitting(frame, LISTS, MIN_FLEET_HEALTH_TOKENS, beyond={"programs": MANY})
    )
    assert tokens(answer.wire()) <= MIN_FLEET_HEALTH_TOKENS
    assert answer.omitted["programs"] == MANY
    for name, items in LISTS.items():
        shown = getattr(answer, name)
        assert len(shown) + answer.omitted.get(name, 0) == 100
        assert list(shown) == items[: len(shown)]


@pytest.mark.anyio
async def test_an_agent_that_is_bound_to_one_program_is_refused() -> None:
    store = SqliteStore("never-opened.db")
    agent = Fleet.on(store, "f", Lexical(), lambda: NOW, Caller("basher"))
    with pytest.raises(ForbiddenError, match="Call memory_health for your own"):
        await fleet_health(agent)
