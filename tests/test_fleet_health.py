"""A fleet as numbers: rates by their definitions, what ages next, who is not well, within the budget."""

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
    fleet_advice,
    forecast,
    judging_advice,
    judging_counts,
    knowledge_counts,
    looked_at,
    rates,
    together,
    unwell,
)
from fleet_memory.rules.health.program import Signs
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.schemas.answers.health import FleetHealthAnswer
from fleet_memory.schemas.health import (
    FleetRates,
    Forecast,
    HealthVerdict,
    JudgingCounts,
    KnowledgeCounts,
    PatternCounts,
    ProgramHealth,
)
from fleet_memory.schemas.knowledge import Freshness, KnowledgeRow, LedgerEvent
from fleet_memory.schemas.programs import ArchiveCounts, Archived, ArchiveReason
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.fleet_health import MIN_FLEET_HEALTH_TOKENS, fleet_health
from tests.lessons import START, days, pattern, program

NOW = START + days(200)
SCALE = Scale("e", Lexical().profile)
MANY = 10**9


def look(name: str, verdict: HealthVerdict, total: int, fading: Sequence[float] = ()) -> Look:
    return Look(name, Signs(total=total), verdict, fading)


def row(key: str, age: float, **fields: Any) -> KnowledgeRow:  # noqa: ANN401 of any field; pydantic checks them
    known = KnowledgeRow(key=key, pattern="x", domain="d", confidence=0.8, last_confirmed=NOW - days(age))
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


def test_rates_are_shares_of_what_they_say() -> None:
    seen = Signs(total=30, stale=10, reinforced=12, settled=16, echoes=4, repeats=[Repeat("b", "a")] * 5)
    archived = ArchiveCounts(junk=15, used=5)
    assert rates(seen, archived) == FleetRates(junk=0.3, echo=0.25, duplicate=0.25, never_reinforced=0.6)
    assert rates(Signs(), ArchiveCounts(0, 0)) == FleetRates(junk=0, echo=0, duplicate=0, never_reinforced=0)


def test_one_look_holds_what_the_fleet_s_numbers_need() -> None:
    old = pattern(id="old", last_reinforced=NOW - days(100), knowledge_key="pattern/d/x")
    soon = pattern(id="soon", last_reinforced=NOW - days(80), confirmations=1)
    far = pattern(id="far", last_reinforced=NOW - days(10))
    found = looked_at(program(old, soon, far, pending=("far",)), SCALE, NOW)
    assert (found.signs.promoted, found.signs.pending, found.fading) == (1, 1, [10.0])
    both = together([found, found])
    assert (both.total, both.stale, both.reinforced, both.cap) == (6, 2, 2, 200)
    assert counts(both, ArchiveCounts(3, 4)) == PatternCounts(total=6, active=4, stale=2, promoted=2, archived=7)


def test_programs_add_up_and_none_add_up_to_nothing() -> None:
    one = Signs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, [Repeat("b", "a")])
    added = together([Look(name, one, "healthy", ()) for name in "xyz"])
    assert added == Signs(3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, [Repeat("b", "a")] * 3)
    assert together([]) == Signs(cap=0, repeats=[])


def test_entries_are_counted_by_what_they_ask_for() -> None:
    rows = [
        row("a", 1),
        row("b", 1, tier="constitutional"),
        row("c", 181),
        row("d", 1, state="contested"),
        row("e", 1, state="retired"),
        row("f", 1, state="candidate"),
    ]
    assert knowledge_counts(rows, NOW) == KnowledgeCounts(fresh=2, verify=1, contested=1, retired=1, constitutional=1)


def test_the_forecast_says_what_ages_by_then_and_counts_nothing_twice() -> None:
    rows = [row("a", 175), row("b", 155), row("c", 181), row("d", 175, state="contested")]
    looks = [look("x", "healthy", 4, fading=[0.0, 6.9, 7.0]), look("y", "healthy", 1, fading=[29.0])]
    assert forecast(looks, rows, NOW) == (
        Forecast(days=7, stale=2, verify=1),
        Forecast(days=14, stale=3, verify=1),
        Forecast(days=21, stale=3, verify=1),
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
    assert list(by_verdict(looks).items()) == [("empty", 1), ("forgetting", 2), ("unreinforced", 1), ("healthy", 1)]


class State(NamedTuple):
    """What `fleet_advice` is given; nothing is wrong with the fleet by default."""

    ill: Sequence[ProgramHealth] = ()
    rates: FleetRates = FleetRates(junk=0, echo=0, duplicate=0, never_reinforced=0)
    counts: PatternCounts = PatternCounts(total=MANY, active=MANY, stale=MANY, promoted=MANY, archived=MANY)
    ageing: KnowledgeCounts = KnowledgeCounts(fresh=MANY, verify=0, contested=0, retired=MANY, constitutional=MANY)
    fresh: Freshness = freshness(0, 0, NOW, NOW)

    def advice(self) -> tuple[str, ...]:
        return fleet_advice(self.ill, self.rates, self.counts, self.ageing, self.fresh)


WORST = State(
    ill=[ProgramHealth(program_id="a" * 100, verdict="unreinforced", total=MANY, stale=MANY)] * 500,
    rates=FleetRates(junk=0.9876, echo=0.1234, duplicate=0.1234, never_reinforced=0.1234),
    ageing=KnowledgeCounts(fresh=MANY, verify=MANY, contested=MANY, retired=MANY, constitutional=MANY),
    fresh=freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2)),
)
TROUBLES = [
    State(ill=WORST.ill),
    State(rates=WORST.rates),
    State(ageing=KnowledgeCounts(fresh=MANY, verify=1, contested=0, retired=MANY, constitutional=MANY)),
    State(ageing=KnowledgeCounts(fresh=MANY, verify=0, contested=1, retired=MANY, constitutional=MANY)),
    State(fresh=freshness(MANY, 0, NOW, NOW)),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=["ill", "rates", "verify", "contested", "pending"])
def test_each_trouble_has_its_line_of_advice(trouble: State) -> None:
    assert len(trouble.advice()) == 1
    assert State().advice() == ()


def test_pairs_that_wait_for_people_are_said_first() -> None:
    assert judging_advice(JudgingCounts(people=7, third=1, programs=2)) == (
        "7 pairs wait for people: fleet-memory review",
        "1 pair waits for a third program: one without a lesson in them is asked by commit_session.",
        "2 pairs wait for the programs of their lessons, asked by gsp_bootstrap and commit_session; people answer any "
        "with fleet-memory review.",
    )
    assert judging_advice(JudgingCounts()) == ()


@pytest.mark.parametrize(
    ("programs", "people_judge", "counted"),
    [
        (3, False, JudgingCounts(people=2, third=3, programs=5)),
        (2, False, JudgingCounts(people=5, third=0, programs=5)),
        (3, True, JudgingCounts(people=10)),
    ],
)
def test_a_pair_waits_for_people_where_nobody_else_is_left(
    programs: int, people_judge: bool, counted: JudgingCounts
) -> None:
    waits = judging_counts(
        open_pairs=10, without_side=5, for_people=2, for_third=3, programs=programs, people_judge=people_judge
    )
    assert waits == counted


def test_a_pair_that_waits_though_it_is_not_open_takes_nothing_from_the_others() -> None:
    waits = judging_counts(open_pairs=4, without_side=1, for_people=2, for_third=3, programs=3, people_judge=False)
    assert waits == JudgingCounts(people=2, third=3, programs=3)


def test_little_junk_says_nothing() -> None:
    few = PatternCounts(total=1, active=1, stale=0, promoted=0, archived=JUNK_OF - 1)
    assert State(rates=WORST.rates, counts=few).advice() == ()


def test_the_largest_answer_without_its_list_fits_the_least_budget() -> None:
    frame = FleetHealthAnswer(
        judging=JudgingCounts(people=MANY, third=MANY, programs=MANY),
        similarity_engine="lexical",
        verdict="unreinforced",
        programs=MANY,
        patterns=PatternCounts(total=MANY, active=MANY, stale=MANY, promoted=MANY, archived=MANY),
        rates=FleetRates(junk=0.1234, echo=0.1234, duplicate=0.1234, never_reinforced=0.1234),
        knowledge=KnowledgeCounts(fresh=MANY, verify=MANY, contested=MANY, retired=MANY, constitutional=MANY),
        verdicts=dict.fromkeys(get_args(HealthVerdict), MANY),
        ledger=dict.fromkeys(get_args(LedgerEvent), MANY),
        forecast=tuple(Forecast(days=until, stale=MANY, verify=MANY) for until in HORIZONS),
        advice=(*judging_advice(JudgingCounts(people=MANY, third=MANY, programs=MANY)), *WORST.advice()),
        freshness=freshness(MANY, MANY, NOW + timedelta(milliseconds=1), NOW + days(2)),
        omitted=MANY,
    )
    assert tokens(frame.wire()) <= MIN_FLEET_HEALTH_TOKENS - 200


@pytest.mark.anyio
async def test_an_agent_that_is_bound_to_one_program_is_refused() -> None:
    store = SqliteStore("never-opened.db")
    agent = Fleet.on(store, "f", Lexical(), lambda: NOW, Caller("basher"))
    with pytest.raises(ForbiddenError, match="Call memory_health for your own"):
        await fleet_health(agent)
