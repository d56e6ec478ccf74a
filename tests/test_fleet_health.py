"""A fleet as numbers: rates by their definitions, the next to age, who is not well, within the
budget.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, get_args

import pytest

from fleet_memory.errors import ForbiddenError
from fleet_memory.fleet import Caller, Fleet
from fleet_memory.rules.health.duplicates import Repeat, Scale
from fleet_memory.rules.health.fleet import (
    HORIZONS,
    JUNK_OF,
    Look,
    by_verdict,
    counts,
    curation_advice,
    fleet_advice,
    forecast,
    knowledge_counts,
    looked_at,
    names_advice,
    rates,
    relearnt_entries,
    together,
    unwell,
)
from fleet_memory.rules.health.missing import missing_advice
from fleet_memory.rules.health.program import Signs
from fleet_memory.rules.health.sums import fleet_sums
from fleet_memory.rules.health.waiting import people_advice, programs_advice
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.answers.consolidation import ContestedAnswer
from fleet_memory.schemas.answers.health import FleetHealthAnswer
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    MissingQuestion,
    ModelRun,
    PatternCounts,
    ProgramHealth,
    RelearntEntry,
)
from fleet_memory.schemas.knowledge import ChangeEvent, Freshness, KnowledgeRow
from fleet_memory.schemas.pairs import Verdict
from fleet_memory.schemas.programs import ArchiveCounts, Archived, ArchiveReason
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.fleet_health import MIN_FLEET_HEALTH_TOKENS, fleet_health
from fleet_memory.views.health import HealthLists, judging_answer, with_lists
from tests.lessons import START, days, pattern, program

NOW = START + days(200)
SCALE = Scale("e", Lexical().profile)
MANY = 10**9
WAITING = JudgingCounts(people=MANY, third=MANY, programs=MANY)


def look(name: str, verdict: HealthVerdict, total: int, fading: Sequence[float] = ()) -> Look:
    return Look(name, Signs(total=total), verdict, fading)


def row(key: str, age: float, **fields: Any) -> KnowledgeRow:  # noqa: ANN401 of any field; pydantic checks them
    known = KnowledgeRow(
        key=key, pattern="x", domain="d", confidence=0.8, last_confirmed=NOW - days(age)
    )
    return replace(known, **fields)


def test_junk_left_by_decay_or_a_cap_without_ever_having_been_of_use() -> None:
    def line(reason: ArchiveReason, **fields: Any) -> Archived:  # noqa: ANN401 of any field of a pattern
        return Archived(program_id="basher", pattern=pattern(**fields), reason=reason, at=NOW)

    assert line("decay").is_junk
    assert line("cap").is_junk
    assert line("cap", knowledge_key="pattern/d/x", echo=True).is_junk
    assert not line("forgotten").is_junk
    assert not line("decay", confirmations=1).is_junk
    assert not line("decay", knowledge_key="pattern/d/x").is_junk


def test_each_rate_is_the_share_of_its_own_total() -> None:
    seen = Signs(
        total=30, stale=10, reinforced=12, settled=16, echoes=4, repeats=[Repeat("b", "a")] * 5
    )
    archived = ArchiveCounts(junk=15, used=5)
    assert rates(seen, archived) == FleetRates(
        junk=0.3, echo=0.25, duplicate=0.25, never_reinforced=0.6
    )
    assert rates(Signs(), ArchiveCounts(0, 0)) == FleetRates(
        junk=0, echo=0, duplicate=0, never_reinforced=0
    )


def test_one_look_has_all_values_that_the_fleet_s_numbers_need() -> None:
    old = pattern(id="old", last_reinforced=NOW - days(100), knowledge_key="pattern/d/x")
    soon = pattern(id="soon", last_reinforced=NOW - days(80), confirmations=1)
    far = pattern(id="far", last_reinforced=NOW - days(10))
    found = looked_at(program(old, soon, far, pending=("far",)), SCALE, NOW)
    assert (found.signs.promoted, found.signs.pending, found.fading) == (1, 1, [10.0])
    both = together([found, found])
    assert (both.total, both.stale, both.reinforced, both.cap) == (6, 2, 2, 200)
    assert counts(both, ArchiveCounts(3, 4)) == PatternCounts(
        total=6, active=4, stale=2, promoted=2, archived=7
    )


def test_programs_add_up_and_none_add_up_to_nothing() -> None:
    one = Signs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, [Repeat("b", "a")], 4)
    added = together([Look(name, one, "healthy", ()) for name in "xyz"])
    assert added == Signs(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, [Repeat("b", "a")] * 3, 4)
    assert together([]) == Signs(cap=0, repeats=[])


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


def test_the_forecast_counts_each_lesson_that_ages_by_then_once() -> None:
    assert forecast(fleet_sums([], NOW).fading, [], NOW) == ()

    rows = [row("a", 175), row("b", 155), row("c", 181), row("d", 175, state="contested")]
    looks = [
        look("x", "healthy", 4, fading=[0.0, 6.9, 7.0]),
        look("y", "healthy", 1, fading=[29.0]),
    ]
    assert forecast(fleet_sums(looks, NOW).fading, rows, NOW) == (
        Forecast(days=7, stale=2, verify=1),
        Forecast(days=14, stale=3, verify=1),
        Forecast(days=30, stale=4, verify=2),
    )


def test_the_gravest_and_largest_come_first_and_the_well_are_left_out() -> None:
    looks = [
        look("a", "unreinforced", 20),
        look("b", "forgetting", 2),
        look("c", "healthy", 50),
        look("d", "forgetting", 8),
        look("e", "empty", 0),
    ]
    assert [one.program_id for one in unwell(looks)] == ["d", "b", "a"]
    assert list(by_verdict(looks).items()) == [
        ("empty", 1),
        ("forgetting", 2),
        ("unreinforced", 1),
        ("healthy", 1),
    ]


class State(NamedTuple):
    """The arguments of `fleet_advice`; nothing is wrong with the fleet by default."""

    ill: Sequence[ProgramHealth] = ()
    rates: FleetRates = FleetRates(junk=0, echo=0, duplicate=0, never_reinforced=0)
    counts: PatternCounts = PatternCounts(
        total=MANY, active=MANY, stale=MANY, promoted=MANY, archived=MANY
    )
    ageing: KnowledgeCounts = KnowledgeCounts(
        fresh=MANY, verify=0, contested=0, retired=MANY, constitutional=MANY
    )
    fresh: Freshness = freshness(0, 0, NOW, NOW)

    def advice(self) -> tuple[str, ...]:
        return fleet_advice(len(self.ill), self.rates, self.counts, self.ageing, self.fresh)


WORST = State(
    ill=[ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY)] * 500,
    rates=FleetRates(junk=0.9876, echo=0.1234, duplicate=0.1234, never_reinforced=0.1234),
    ageing=KnowledgeCounts(
        fresh=MANY, verify=MANY, contested=MANY, retired=MANY, constitutional=MANY
    ),
    fresh=freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2)),
)
TROUBLES = [
    State(ill=WORST.ill),
    State(rates=WORST.rates),
    State(
        ageing=KnowledgeCounts(fresh=MANY, verify=1, contested=0, retired=MANY, constitutional=MANY)
    ),
    State(fresh=freshness(MANY, 0, NOW, NOW)),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["ill", "rates", "verify", "pending"])
def test_each_trouble_has_its_line_of_advice(trouble: State) -> None:
    assert len(trouble.advice()) == 1
    assert State().advice() == ()


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
    looks = [
        Look(name, Signs(sessions=count), "healthy", ())
        for name, count in (("a", 2), ("b", 3), ("c", 5))
    ]
    (line,) = names_advice(looks)
    assert line.startswith(
        "2 programs have many sessions at once, e.g. c (5). Agents that share a name are one origin"
    )
    assert "FLEET_MEMORY_PROGRAM" in line
    assert names_advice(looks[:1]) == ()


def test_little_junk_gives_no_advice() -> None:
    few = PatternCounts(total=1, active=1, stale=0, promoted=0, archived=JUNK_OF - 1)
    assert State(rates=WORST.rates, counts=few).advice() == ()


HUNDRED = HealthLists(
    missing=[MissingQuestion(text="\N{MEMO}" * 1_000, times=MANY, programs=MANY)] * 100,
    contested=[ContestedAnswer(key="k" * 220, pattern="x" * 1_000)] * 100,
    relearnt=[RelearntEntry(key="k" * 220, pattern="x" * 1_000, relearnt=MANY)] * 100,
    unwell=[ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY)]
    * 100,
)
LARGEST = FleetHealthAnswer(
    similarity_engine="lexical",
    verdict="unreinforced",
    advice=(
        *people_advice(WAITING),
        *missing_advice(HUNDRED.missing),
        *programs_advice(WAITING),
        *curation_advice(MANY, HUNDRED.relearnt),
        *names_advice([Look("a" * 100, Signs(sessions=MANY), "healthy", ())] * 100),
        *WORST.advice(),
    ),
    judging=judging_answer(WAITING),
    programs=MANY,
    patterns=PatternCounts(total=MANY, active=MANY, stale=MANY, promoted=MANY, archived=MANY),
    rates=FleetRates(junk=0.1234, echo=0.1234, duplicate=0.1234, never_reinforced=0.1234),
    knowledge=KnowledgeCounts(
        fresh=MANY, verify=MANY, contested=MANY, retired=MANY, constitutional=MANY
    ),
    verdicts=dict.fromkeys(get_args(HealthVerdict), MANY),
    ledger=dict.fromkeys(get_args(ChangeEvent), MANY),
    forecast=tuple(Forecast(days=until, stale=MANY, verify=MANY) for until in HORIZONS),
    freshness=freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2)),
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
)


@pytest.mark.parametrize("character", ["\N{MEMO}", '"', "\\"])
def test_the_largest_answer_keeps_the_least_budget(character: str) -> None:
    quoting = missing_advice([MissingQuestion(text=character * 1_000, times=MANY, programs=MANY)])
    advice = [line for line in LARGEST.advice if not line.startswith("Memory could not answer")]
    answer = with_lists(
        replace(LARGEST, advice=(*advice, *quoting)), HUNDRED, MIN_FLEET_HEALTH_TOKENS
    )
    assert tokens(answer.wire()) <= MIN_FLEET_HEALTH_TOKENS
    assert answer.omitted == {"missing": 100, "contested": 100, "relearnt": 100, "unwell": 100}


def test_of_a_hundred_of_each_kind_25_are_named_5_questions_and_the_others_counted() -> None:
    answer = with_lists(LARGEST, HUNDRED, 100_000)
    shown = [
        len(items or ())
        for items in (answer.missing, answer.contested, answer.relearnt, answer.unwell)
    ]
    assert shown == [5, 25, 25, 25]
    assert answer.omitted == {"missing": 95, "contested": 75, "relearnt": 75, "unwell": 75}


def test_lists_without_an_item_are_absent() -> None:
    answer = with_lists(LARGEST, HealthLists([], [], [], []), 2_000)
    assert answer == LARGEST
    assert not {"missing", "contested", "relearnt", "unwell", "omitted"} & answer.wire().keys()


@pytest.mark.anyio
async def test_an_agent_that_is_bound_to_one_program_is_refused() -> None:
    store = SqliteStore("never-opened.db")
    agent = Fleet.on(store, "f", Lexical(), lambda: NOW, Caller("basher"))
    with pytest.raises(ForbiddenError, match="Call memory_health for your own"):
        await fleet_health(agent)
