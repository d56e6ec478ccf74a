"""A fleet as numbers: who is not well, what to do, within the budget."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.curating import freshness
from fleet_memory.rules.health import (
    Look,
    Signs,
    fleet_advice,
    relearnt_entries,
    total_signs,
    unwell,
)
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.programs import (
    Caller,
    MissingQuestion,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.value import Value
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.health import (
    FleetHealthAnswer,
    fleet_health,
)
from fleet_memory.tools.shared import KnowledgeAnswer, fitted
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
    "name",
    [
        "missing",
        "people",
        "third",
        "programs",
        "contested",
        "relearnt",
        "unwell",
        "verify",
        "pending",
    ],
)
def test_each_trouble_has_its_line_of_advice(name: str) -> None:
    assert len(fleet_advice({name: 1})) == 1
    assert fleet_advice({name: 0}) == ()


def test_retired_entries_that_were_learnt_again_come_by_how_often() -> None:
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


MISSING = [MissingQuestion(text="\N{MEMO}" * 1_000, times=MANY, programs=MANY)] * 100
RELEARNT = [RelearntEntry(key="k" * 220, pattern="x" * 1_000, relearnt=MANY)] * 100
LISTS: dict[str, list[Value]] = {
    "missing": [*MISSING],
    "contested": [KnowledgeAnswer(key="k" * 220, pattern="x" * 1_000)] * 100,
    "relearnt": [*RELEARNT],
    "unwell": [ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY)]
    * 100,
}


def test_the_largest_answer_keeps_the_least_budget() -> None:
    frame = FleetHealthAnswer(
        similarity_engine="lexical",
        verdict="unreinforced",
        advice=fleet_advice(
            {
                **WAITING,
                **dict.fromkeys(
                    ("missing", "contested", "relearnt", "unwell", "verify", "pending"), MANY
                ),
            }
        ),
        judging=WAITING,
        programs=MANY,
        patterns=dict.fromkeys(("total", "stale", "promoted"), MANY),
        knowledge=dict.fromkeys(("fresh", "verify", "contested", "retired"), MANY),
        freshness=OLD,
    )
    answer = fitted(frame, LISTS, 1_000, beyond={"programs": MANY})
    assert tokens(answer.wire()) <= 1_000
    assert answer.omitted
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
