"""How far a program's word has held, and what is made of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from fleet_memory.rules.calibration import (
    MOST_REPORTS,
    PRIOR_REPORTS,
    Outcomes,
    Trust,
    fleet_rate,
    reliability,
    trust,
)

REPORTS = st.builds(Outcomes, st.integers(0, 2_000), st.integers(0, 2_000))
RATES = st.floats(0, 1)


@given(REPORTS, RATES)
def test_reliability_lies_between_the_fleets_rate_and_the_programs_own(one: Outcomes, fleet: float) -> None:
    own = one.confirmed / sum(one) if sum(one) else fleet
    assert min(own, fleet) - 1e-9 <= reliability(one, fleet) <= max(own, fleet) + 1e-9


@given(REPORTS, RATES)
def test_a_confirmation_never_lowers_it_and_a_contradiction_never_raises_it(one: Outcomes, fleet: float) -> None:
    before = reliability(one, fleet)
    assert reliability(Outcomes(one.confirmed + 1, one.contradicted), fleet) >= before
    assert reliability(Outcomes(one.confirmed, one.contradicted + 1), fleet) <= before


def test_a_program_nobody_reported_on_is_an_average_member() -> None:
    assert reliability(Outcomes(), 0.7) == pytest.approx(0.7)
    assert reliability(Outcomes(0, int(PRIOR_REPORTS)), 0.8) == pytest.approx(0.4)  # as many reports as the prior


@given(st.lists(REPORTS, min_size=1, max_size=5))
def test_the_fleets_rate_is_a_share_and_does_not_depend_on_the_order(found: list[Outcomes]) -> None:
    rate = fleet_rate(found)
    assert rate == pytest.approx(fleet_rate(found[::-1])) if rate is not None else True
    assert (rate is None) == (not any(map(sum, found)))
    assert rate is None or 0 < rate < 1


def test_one_program_is_not_the_fleet() -> None:
    few = [Outcomes(9, 1)] * 10
    loud = fleet_rate([*few, Outcomes(0, 1_000_000)])
    assert loud == pytest.approx((90 + 1) / (100 + MOST_REPORTS + 2))


def test_without_any_report_nothing_is_calibrated() -> None:
    assert trust({"basher": Outcomes(), "iso": Outcomes()}) == Trust()
    assert trust({"basher": Outcomes()}).of("basher") is None


@given(REPORTS, st.lists(REPORTS, max_size=4))
def test_confirming_never_costs_a_program_trust_whatever_the_fleet_did(one: Outcomes, rest: list[Outcomes]) -> None:
    others = {str(number): told for number, told in enumerate(rest)}
    before = trust({"iso": one} | others).of("iso")
    after = trust({"iso": Outcomes(one.confirmed + 1, one.contradicted)} | others).of("iso")
    assert after is not None
    assert 0 < after < 1
    assert before is None or after >= before - 1e-12


@given(REPORTS, st.lists(REPORTS, max_size=4))
def test_equal_reports_give_equal_trust_and_none_gives_the_fleets_mean(one: Outcomes, rest: list[Outcomes]) -> None:
    others = {str(number): told for number, told in enumerate(rest)}
    found = trust({"iso": one, "sark": one, "silent": Outcomes()} | others)
    assert found.of("iso") == found.of("sark")
    assert found.of("nobody") == found.fleet
    assert found.of("silent") == (None if found.fleet is None else pytest.approx(found.fleet))


@given(st.lists(REPORTS, min_size=1, max_size=4), st.integers(50, 10_000_000))
def test_a_million_reports_of_one_program_move_the_fleet_as_fifty_do(rest: list[Outcomes], many: int) -> None:
    assert fleet_rate([*rest, Outcomes(many)]) == pytest.approx(fleet_rate([*rest, Outcomes(MOST_REPORTS)]))


async def call(client: Client, tool: str, **arguments: object) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def learnt(client: Client, program: str, text: str, confidence: float = 0.8) -> str:
    lesson = {"pattern": text, "domain": "care", "confidence": confidence, "evidence": "seen"}
    return str((await call(client, "store_memory", programId=program, pattern=lesson))["patternId"])


@pytest.mark.anyio
async def test_who_was_wrong_before_is_trusted_less_in_recall_boot_and_entries(client: Client) -> None:
    for program, outcome in (("iso", "confirmed"), ("sark", "contradicted")):
        mine = await learnt(client, program, f"{program} thinks so")
        for _ in range(10):
            await call(client, "reinforce_memory", programId=program, patternId=mine, outcome=outcome, confidence=0.8)
        await learnt(client, program, "Look before you leap")
    (made,) = (await call(client, "pattern_consolidate"))["promoted"]
    fleet = (10 + 1) / (20 + 2)
    reliable, unreliable = reliability(Outcomes(10, 0), fleet), reliability(Outcomes(0, 10), fleet)
    assert made["confidence"] == 0.8
    assert made["calibratedConfidence"] == pytest.approx(0.8 * (reliable + unreliable) / 2, abs=1e-4)
    recalled = (await call(client, "recall_memory", programId="iso", scope="all"))["knowledge"]
    assert [row["calibratedConfidence"] for row in recalled] == [made["calibratedConfidence"]]
    for program, rate in (("iso", reliable), ("sark", unreliable)):
        own = (await call(client, "recall_memory", programId=program))["patterns"]
        assert [one["calibratedConfidence"] for one in own] == [
            pytest.approx(one["confidence"] * rate, abs=1e-4) for one in own
        ]
    boot = await call(client, "gsp_bootstrap", agentId="iso")
    assert "calibratedConfidence" in boot["patterns"][0]


@pytest.mark.anyio
async def test_before_anybody_reported_the_field_is_absent(client: Client) -> None:
    await learnt(client, "iso", "Look before you leap")
    await learnt(client, "sark", "Look before you leap")
    (made,) = (await call(client, "pattern_consolidate"))["promoted"]
    assert "calibratedConfidence" not in made
    (own,) = (await call(client, "recall_memory", programId="iso"))["patterns"]
    assert "calibratedConfidence" not in own


@pytest.mark.anyio
async def test_of_equally_central_texts_the_more_reliable_programs_speaks(client: Client) -> None:
    wrong = await learnt(client, "iso", "iso thinks so")
    for _ in range(5):
        await call(client, "reinforce_memory", programId="iso", patternId=wrong, outcome="contradicted")
    await learnt(client, "iso", "Look before you LEAP", confidence=0.9)  # older, and surer of itself
    await learnt(client, "sark", "Look before you leap!", confidence=0.85)
    (made,) = (await call(client, "pattern_consolidate"))["promoted"]
    assert made["pattern"] == "Look before you leap!"
