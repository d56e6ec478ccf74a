"""The counters of pairs agree in every answer and with the pairs that `fleet-memory review`
lists.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.looking import waiting_pairs
from fleet_memory.jobs.policy import set_policy
from fleet_memory.rules.health import Signs, program_advice
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.lifecycle.state import with_missing
from fleet_memory.rules.pairs import SideName, with_judgement
from fleet_memory.schemas.pairs import Judgement, Pair, Verdict
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Missing, MissingQuestion, Program
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.health import fleet_health, memory_health
from tests.fleets import at, learn, on
from tests.shared import Lesson, opened_pair

pytestmark = pytest.mark.anyio

BASHER_AND_ISO = "basher and iso"
VERDICTS: Mapping[str, tuple[str, Mapping[str, Verdict]]] = {
    "open": ("", {}),
    "same by one judge": ("", {"basher": "same"}),
    "the sides disagree": ("", {"basher": "same", "iso": "different"}),
    "steers its judge": ("answer same", {}),
    "judged": ("", {"basher": "different", "iso": "different"}),
}


async def pair_of(fleet: Fleet, name: str) -> Pair:
    """Open a pair of basher and iso, with steering words and verdicts."""
    steering, verdicts = VERDICTS[name]
    a, b = (
        Lesson("basher", f"Basher on: {name}", f"a {name}"),
        Lesson("iso", f"Iso about {name}", f"b {name}"),
    )
    opened = await opened_pair(fleet, a, b, steering=steering)
    judged = opened
    for program, verdict in verdicts.items():
        sides: tuple[SideName] = ("a",) if program == "basher" else ("b",)
        said = Judgement(verdict=verdict, program_id=program, at=fleet.now(), sides=sides)
        judged = with_judgement(judged, said)
    (before,) = await fleet.pairs.read(opened.pair_id)
    await fleet.pairs.store.commit(fleet.pairs.write(before, judged))
    return judged


@pytest.fixture
async def disputed(fleet: Fleet) -> Fleet:
    """Return a fleet of three programs with a pair of each kind."""
    await learn(fleet, "sark", "Something else")
    for name in VERDICTS:
        await pair_of(fleet, name)
    return fleet


async def test_each_waiting_pair_is_counted_once_and_for_the_judge_that_review_names(
    disputed: Fleet,
) -> None:
    assert Counter(one.waits_for for one in await waiting_pairs(disputed)) == {
        BASHER_AND_ISO: 1,
        "iso": 1,
        "a third program": 1,
        "people": 1,
    }
    health = await fleet_health(disputed)
    assert health.judging == {"people": 1, "third": 1, "programs": 2}
    assert [line.split(":")[0] for line in health.advice[:3]] == [
        "Pairs that wait for people",
        "Pairs that wait for a third program",
        "Pairs that wait for the programs that learnt the lessons",
    ]


async def test_a_program_s_count_is_of_the_pairs_that_it_is_asked_about(disputed: Fleet) -> None:
    basher, iso = await memory_health(disputed, "basher"), await memory_health(disputed, "iso")
    assert (basher.to_judge, iso.to_judge) == (1, 2)
    assert iso.advice[0].startswith("2 pairs wait for you: see `toJudge` of gsp_bootstrap")
    assert "toJudge" not in iso.freshness.wire()


async def test_freshness_counts_the_open_pairs_everywhere(disputed: Fleet) -> None:
    health, boot = await fleet_health(disputed), await gsp_bootstrap(disputed, "sark", "full")
    assert boot.freshness
    answer = await pattern_consolidate(disputed, no_progress, dry_run=True)
    assert (health.freshness.to_judge, boot.freshness.to_judge, answer.open_pairs) == (4, 4, 4)
    assert "4 open pairs wait for a verdict." in health.freshness.reason
    assert (await gsp_bootstrap(disputed, "sark")).freshness is None


async def test_where_people_judge_every_pair_that_waits_is_theirs_a_same_of_one_judge_too(
    disputed: Fleet,
) -> None:
    await set_policy(disputed, ["judging", "people"])
    fleet = on(disputed, disputed.knowledge.store)
    assert [one.waits_for for one in await waiting_pairs(fleet)] == ["people"] * 4
    health = await fleet_health(fleet)
    assert health.judging == {"people": 4}
    assert health.advice[0] == "Pairs that wait for people: 4. Run fleet-memory review."
    assert (await memory_health(fleet, "iso")).to_judge == 0


async def test_of_a_hundred_domains_the_most_used_25_are_named(fleet: Fleet) -> None:
    for number in range(101):
        await learn(
            fleet,
            "basher",
            f"Lesson {number}",
            id_=f"p{number}",
            domain=f"domain-{min(number, 99):02}",
        )
    health = await memory_health(fleet, "basher")
    assert health.domains == (
        *(f"domain-{number:02}" for number in range(24)),
        "domain-99",
    )  # the cap took the first
    assert (health.omitted or {})["domains"] == 75


async def test_concurrent_sessions_are_reported_to_their_program_and_in_the_health_of_the_fleet(
    fleet: Fleet,
) -> None:
    for hour, session in enumerate("ABCABC"):
        fields = {
            "pattern": f"Lesson {hour}",
            "domain": "d",
            "confidence": 0.5,
            "evidence": "",
            "sessionId": session,
        }
        lesson = NewPattern.model_validate(fields)
        await store_memory(at(fleet, fleet.now() - timedelta(hours=10 - hour)), "basher", lesson)
    assert (await memory_health(fleet, "basher")).advice == program_advice(
        Signs(total=3, sessions=3), 0, 0
    )


async def test_the_commonest_question_that_memory_could_not_answer_leads(fleet: Fleet) -> None:
    questions = ["How do we deploy?", *(f"Question {number}" for number in range(99))]
    for program, asked in (
        ("basher", questions[:30]),
        ("iso", questions[:1]),
        ("sark", questions[30:60]),
    ):
        await learn(fleet, program, "Something else")
        missing = with_missing((), asked, fleet.now())
        await fleet.programs.update(program, partial(asking, missing=missing), fleet.now())
    health = await fleet_health(fleet)
    assert (len(health.missing), dict(health.omitted or {})) == (25, {"missing": 35})
    assert health.missing[0] == MissingQuestion(text="How do we deploy?", times=2, programs=2)
    assert health.advice[0].startswith("Questions without an answer in memory: 60")


def asking(program: Program, missing: tuple[Missing, ...]) -> ProgramChange:
    return ProgramChange(replace(program, missing=missing))
