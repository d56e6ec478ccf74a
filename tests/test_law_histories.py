"""Every history of what once went wrong comes out as wanted, in every order in which it can happen.

By day the package takes some of the orders, the same ones each time; the plain model takes all.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.bounds import AT_NIGHT
from tests.law_histories import A2, A3, A, B, D
from tests.law_histories import HISTORIES as OF_ENTRIES
from tests.law_histories_of_readers import HISTORIES as OF_READERS
from tests.law_sentences import HISTORIES as OF_SENTENCES
from tests.law_steps import (
    LESSONS,
    RUN,
    History,
    Step,
    confirms,
    entry,
    judges,
    named,
    orders,
    pair,
    recalls,
    stores,
)
from tests.law_worlds import WORLDS

pytestmark = pytest.mark.anyio
MAX_ORDERS = 4  # of a history that the package takes by day
HISTORIES = [*OF_ENTRIES, *OF_READERS, *OF_SENTENCES]


def orders_for(kind: str, history: History) -> Sequence[Sequence[Step]]:
    every = list(orders(history))
    if AT_NIGHT or kind == "plain" or len(every) <= MAX_ORDERS:
        return every
    return Random(history.title).sample(every, MAX_ORDERS)  # noqa: S311 the same each time


@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("history", HISTORIES, ids=lambda one: f"{one.number} {one.title}")
async def test_a_history_ends_as_wanted_in_every_order(
    history: History, kind: str, tmp_path: Path
) -> None:
    for number, steps in enumerate(orders_for(kind, history)):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with WORLDS[kind](history.near, folder) as world:
            await world.set_policy(history.policy)
            try:
                for step in steps:
                    await step.happen(world)
                await history.end(world)
            except BaseException as error:
                error.add_note("in this order: " + "; ".join(step.name for step in steps))
                raise


@pytest.mark.parametrize("kind", WORLDS)
async def test_31_two_laptops_merge_into_one_view(kind: str, tmp_path: Path) -> None:
    near = [[A, A2, B]]
    async with WORLDS[kind](near, tmp_path) as one:
        await one.set_policy(LESSONS)
        for step in (stores("a", A, confidence=0.9), stores("b", B), RUN):
            await step.happen(one)
        two = await one.fork()
        for step in (
            judges("b", A, B, "different"),
            stores("a", A3, own=A, change="corrected"),
            stores("c", A),
            recalls("d", A),
            confirms("d", A),
        ):
            await step.happen(one)
        await two.later(days=1)
        for step in (
            judges("a", A, B, "same"),
            judges("b", A, B, "same"),
            stores("a", A2, own=A, change="reworded"),
            stores("e", D),
        ):
            await step.happen(two)
        for _ in range(2):
            await one.take_in(two)
            await two.take_in(one)
        for world in (one, two):
            await world.run()
            found = await entry(world, A)
            assert (found.discovered, found.contradicted) == (named("a", "b", "c"), named())
            assert found.confirmed == named("d")
            assert (await pair(world, A, B)).state == "same"
            assert A2 in await world.everything()
            assert A3 in await world.everything()
            assert D in await world.everything()
        assert list(await one.entries()) == list(await two.entries())
        assert {each.texts: each for each in await one.pairs()} == {
            each.texts: each for each in await two.pairs()
        }
