"""Pairs as documents: whom they ask can be asked for, as long as anybody is asked."""

from dataclasses import replace

import pytest

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.rules.pairs import SIDES, awaits_model, with_judgement
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, Side, Verdict
from fleet_memory.stores import ABSENT, Json
from tests.lessons import START

pytestmark = pytest.mark.anyio


def side(program_id: str, text: str = "Pin it") -> Side:
    return Side(program_id=program_id, pattern_id="p1", domain="ci", text=text)


def pair(pair_id: str, a: str, b: str, margin: float = 0.5) -> Pair:
    return Pair(
        pair_id=pair_id, a=side(a), b=side(b, "Pin every action"), margin=margin, opened_at=START
    )


def judged(before: Pair, program_id: str | None, verdict: Verdict) -> Pair:
    sides = tuple(name for name in SIDES if getattr(before, name).program_id == program_id)
    said = Judgement(verdict=verdict, program_id=program_id, at=START, sides=sides)
    return with_judgement(before, said)


async def put(fleet: Fleet, *pairs: Pair) -> None:
    before = await fleet.pairs.read(*(one.pair_id for one in pairs))
    writes = [fleet.pairs.write(old, new) for old, new in zip(before, pairs, strict=True)]
    await fleet.programs.store.commit(*writes)


async def asked_for(fleet: Fleet, pair_id: str) -> dict[str, Json]:
    """Return the fields of a pair's document that can be asked for."""
    (document,) = await fleet.programs.store.get(fleet.pairs.paths.pair(pair_id))
    assert document is not None
    return {name: value for name, value in document.fields.items() if name != "text"}


async def test_a_pair_comes_back_as_it_was(fleet: Fleet) -> None:
    one = replace(
        judged(pair("1", "basher", "iso"), "iso", "unsure"), margin=0.2, steering="answer same"
    )
    await put(fleet, one)
    known, unknown = await fleet.pairs.read("1", "2")
    assert (known.pair, known.pair_id) == (one, "1")
    assert unknown == VersionedPair("2", None, ABSENT)


async def test_a_pair_is_asked_of_those_that_have_not_judged_it(fleet: Fleet) -> None:
    one = pair("1", "basher", "iso", margin=0.7)
    await put(fleet, one)
    assert await asked_for(fleet, "1") == {
        "state": "open",
        "askA": "basher",
        "askB": "iso",
        "waits": "programs",
    }
    half = judged(one, "basher", "same")
    await put(fleet, half)
    assert await asked_for(fleet, "1") == {
        "state": "open",
        "askB": "iso",
        "waits": "programs",
    }
    await put(fleet, judged(half, "iso", "same"))
    assert await asked_for(fleet, "1") == {"state": "same"}


async def test_a_pair_of_one_program_asks_it_once(fleet: Fleet) -> None:
    await put(fleet, pair("1", "basher", "basher"))
    assert await asked_for(fleet, "1") == {
        "state": "open",
        "askA": "basher",
        "waits": "programs",
    }
    assert await fleet.pairs.count_asked_of("basher") == 1


async def test_the_likeliest_pairs_come_first_and_closed_ones_not_at_all(fleet: Fleet) -> None:
    low, high, other = (
        pair("1", "basher", "iso", 0.1),
        pair("2", "sark", "basher", 0.9),
        pair("3", "iso", "sark", 0.5),
    )
    closed = judged(pair("4", "basher", "iso", 1.0), None, "different")
    nobody_left = judged(judged(pair("5", "basher", "iso"), "basher", "unsure"), "iso", "unsure")
    await put(fleet, low, high, other, closed, nobody_left)
    assert [one.pair for one in await fleet.pairs.asked_of("basher")] == [high, low]
    assert await fleet.pairs.waiting() == [high, other, nobody_left, low]
    assert (await fleet.pairs.count_open(), await fleet.pairs.count_asked_of("iso")) == (4, 2)


def test_a_model_may_judge_open_pairs_until_it_has_or_they_are_for_people() -> None:
    low, high = pair("1", "basher", "iso", 0.1), pair("2", "sark", "iso", 0.9)
    unsure = judged(pair("3", "basher", "sark"), "basher", "unsure")
    said = judged(pair("4", "basher", "sark"), MODEL_NAME, "unsure")
    same = judged(pair("5", "basher", "sark"), "basher", "same")
    speaking = replace(pair("6", "basher", "sark"), steering="answer same")
    every = (low, high, unsure, said, same, speaking)
    assert [*filter(awaits_model, every)] == [low, high, unsure, same]


async def test_a_call_reads_at_most_12_pairs_for_each_side_of_a_program(fleet: Fleet) -> None:
    await put(fleet, *(pair(f"a{n:02}", "basher", "iso") for n in range(14)))
    await put(fleet, *(pair(f"b{n:02}", "sark", "basher") for n in range(13)))
    assert len(await fleet.pairs.asked_of("basher")) == 24
