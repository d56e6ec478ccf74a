"""A fleet as numbers: who is not well, what to do, within the budget."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

import pytest

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.rules.curating import freshness
from fleet_memory.rules.health import (
    Look,
    Signs,
    curation_advice,
    fleet_advice,
    knowledge_counts,
    missing_advice,
    names_advice,
    people_advice,
    programs_advice,
    relearnt_entries,
    total_signs,
    unwell,
)
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.health import (
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    MissingQuestion,
    ModelRun,
    PatternCounts,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow
from fleet_memory.schemas.pairs import Verdict
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.judging import ContestedAnswer
from fleet_memory.tools.health import (
    MIN_FLEET_HEALTH_TOKENS,
    FleetHealthAnswer,
    fleet_health,
    judging_answer,
    with_fitting_lists,
)
from tests.lessons import START, days

NOW = START + days(200)
MANY = 10**9
WAITING = JudgingCounts(people=MANY, third=MANY, programs=MANY)


def look(name: str, **numbers: int) -> Look:
    return Look(name, Signs(**{"total": 1, "cap": 100, "reinforced": 1} | numbers))


def row(key: str, age: float, **fields: Any) -> KnowledgeRow:  # noqa: ANN401 of any field; pydantic checks them
    known = KnowledgeRow(
        key=key, pattern="x", domain="d", confidence=0.8, last_confirmed=NOW - days(age)
    )
    return replace(known, **fields)


def test_programs_add_up_and_none_add_up_to_nothing() -> None:
    one = Signs(1, 2, 3, 4, 5, 6, 7, 8, 4)
    added = total_signs([Look(name, one) for name in "xyz"])
    assert added == Signs(3, 6, 9, 12, 15, 18, 21, 24, 4)
    assert total_signs([]) == Signs(cap=0)


def test_the_gravest_and_largest_come_first_and_the_well_are_left_out() -> None:
    looks = [
        look("a", total=20, reinforced=0),
        look("b", total=2, stale=2),
        look("c", total=50),
        look("d", total=8, stale=4),
        look("e", total=0),
    ]
    assert [one.program_id for one in unwell(looks)] == ["d", "b", "a"]


def test_entries_are_counted_by_the_need_that_they_state() -> None:
    rows = [
        row("a", 1),
        row("b", 1, tier="constitutional"),
        row("c", 181),
        row("d", 1, state="contested"),
        row("e", 1, state="retired"),
        row("f", 1, state="candidate"),
    ]
    assert knowledge_counts(rows, NOW) == KnowledgeCounts(
        fresh=2, verify=1, contested=1, retired=1, constitutional=1
    )


OLD = freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2))
UP_TO_DATE = freshness(0, 0, NOW, NOW)


@pytest.mark.parametrize(
    ("ill", "verify", "fresh"), [(1, 0, UP_TO_DATE), (0, 1, UP_TO_DATE), (0, 0, OLD)]
)
def test_each_trouble_has_its_line_of_advice(ill: int, verify: int, fresh: Freshness) -> None:
    assert len(fleet_advice(ill, verify, fresh)) == 1
    assert fleet_advice(0, 0, UP_TO_DATE) == ()


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
        "confirmed or contradicted; or fleet-memory retire KEY.",
        "pattern/d/a was retired and learnt again by 3 lessons, and 1 more entry so: "
        "fleet-memory reinstate KEY, or "
        "leave it.",
    )
    assert curation_advice(0, []) == ()


def test_a_name_that_several_agents_share_is_reported_with_the_setting_that_separates_them() -> (
    None
):
    looks = [look(name, sessions=count) for name, count in (("a", 2), ("b", 3), ("c", 5))]
    (line,) = names_advice(looks)
    assert line.startswith(
        "2 programs have many sessions at once, e.g. c (5). Agents that share a name are one origin"
    )
    assert "FLEET_MEMORY_PROGRAM" in line
    assert names_advice(looks[:1]) == ()


MISSING = [MissingQuestion(text="\N{MEMO}" * 1_000, times=MANY, programs=MANY)] * 100
RELEARNT = [RelearntEntry(key="k" * 220, pattern="x" * 1_000, relearnt=MANY)] * 100
LARGEST = FleetHealthAnswer(
    similarity_engine="lexical",
    verdict="unreinforced",
    advice=(
        *people_advice(WAITING),
        *missing_advice(MISSING),
        *programs_advice(WAITING),
        *curation_advice(MANY, RELEARNT),
        *names_advice([look("a" * 100, sessions=MANY)] * 100),
        *fleet_advice(MANY, MANY, OLD),
    ),
    judging=judging_answer(WAITING),
    missing=tuple(MISSING),
    contested=(ContestedAnswer(key="k" * 220, pattern="x" * 1_000),) * 100,
    relearnt=tuple(RELEARNT),
    unwell=(ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY),)
    * 100,
    programs=MANY,
    patterns=PatternCounts(total=MANY, active=MANY, stale=MANY, promoted=MANY, archived=MANY),
    knowledge=KnowledgeCounts(
        fresh=MANY, verify=MANY, contested=MANY, retired=MANY, constitutional=MANY
    ),
    verdicts=dict.fromkeys(get_args(HealthVerdict), MANY),
    freshness=OLD,
    judge_model=ModelRun(
        model="m" * 100,
        pairs=50,
        verdicts=dict.fromkeys(get_args(Verdict), 50),
        steering=50,
        calls=200,
        tokens=MANY,
        failures=50,
        problem="x" * 200,
        at=NOW + timedelta(milliseconds=1),
    ),
    omitted={"programs": MANY},
)


@pytest.mark.parametrize("character", ["\N{MEMO}", '"', "\\"])
def test_the_largest_answer_keeps_the_least_budget(character: str) -> None:
    quoting = missing_advice([MissingQuestion(text=character * 1_000, times=MANY, programs=MANY)])
    advice = [line for line in LARGEST.advice if not line.startswith("Memory could not answer")]
    answer = with_fitting_lists(
        replace(LARGEST, advice=(*advice, *quoting)), MIN_FLEET_HEALTH_TOKENS
    )
    assert tokens(answer.wire()) <= MIN_FLEET_HEALTH_TOKENS
    lists = {"missing": 100, "contested": 100, "relearnt": 100, "unwell": 99}
    assert answer.omitted == {"programs": MANY, **lists}


def test_of_a_hundred_of_each_kind_25_are_named_5_questions_and_the_others_counted() -> None:
    answer = with_fitting_lists(LARGEST, 100_000)
    shown = [
        len(items or ())
        for items in (answer.missing, answer.contested, answer.relearnt, answer.unwell)
    ]
    assert shown == [5, 25, 25, 25]
    left = {"missing": 95, "contested": 75, "relearnt": 75, "unwell": 75}
    assert answer.omitted == {"programs": MANY, **left}


def test_lists_without_an_item_are_absent() -> None:
    bare = replace(
        LARGEST, missing=(), contested=(), relearnt=(), unwell=(), omitted={"programs": 0}
    )
    wire = with_fitting_lists(bare, 2_000).wire()
    assert not {"missing", "contested", "relearnt", "unwell", "omitted"} & wire.keys()


@pytest.mark.anyio
async def test_an_agent_that_is_bound_to_one_program_is_refused() -> None:
    store = SqliteStore("never-opened.db")
    agent = Fleet.on(store, "f", Lexical(), lambda: NOW, Caller("basher"))
    with pytest.raises(ForbiddenError, match="Call memory_health for your own"):
        await fleet_health(agent)
