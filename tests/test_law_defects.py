"""Defects of version 0.2.0, each as the behaviour wanted of any `World`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack

import pytest

from tests.law_fleet import FleetWorld
from tests.law_world import EntryView, World

pytestmark = pytest.mark.anyio

Make = Callable[..., Awaitable[World]]

A = "Retry a refused push three times"
B = "Push again up to three times when it was refused"
C = "A refused push deserves two more attempts"


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes a world in which the texts of each set are near each other."""
    async with AsyncExitStack() as worlds:

        async def made(*near: Collection[str]) -> World:
            return await worlds.enter_async_context(FleetWorld(near))

        yield made


def seen_by(program: str) -> str:
    """Return evidence that is the program's own."""
    return f"{program} lost an hour to it on a machine of its own"


async def learn(world: World, text: str, *programs: str, project: str | None = None) -> None:
    for program in programs:
        await world.store(program, text, evidence=seen_by(program), project=project)
        await world.later(minutes=20)


async def entry(world: World, text: str) -> EntryView | None:
    """Return the entry that says a text; None without one."""
    return next((one for one in await world.entries() if one.text == text), None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Delete it with git branch -d after the merge", "Delete it with git branch -D after the merge"),
        ("Name the header file Config and not config", "Name the header file config and not Config"),
        ("Fetch it with curl -o and a name", "Fetch it with curl -O and a name"),
        ("Copy it with cp -r a/. b", "Copy it with cp -r a/ b"),
        ("The limit is 5 Mb a second", "The limit is 5 MB a second"),
    ],
)  # fmt: skip
async def test_an_own_lesson_that_differs_by_case_or_a_dot_is_a_second_lesson(
    make: Make, one: str, other: str
) -> None:
    world = await make()
    await learn(world, one, "a")
    await learn(world, other, "a")
    assert {one, other} <= {*(await world.boot("a")).own}


async def test_equal_words_are_one_lesson_in_any_spacing_and_with_a_final_stop(make: Make) -> None:
    world = await make()
    for text in (A, A.replace(" ", "  "), f"{A}.", A[0].lower() + A[1:]):
        await learn(world, text, "a")
    assert (await world.boot("a")).own == [A]


async def test_a_fleet_of_two_publishes_what_both_call_the_same(make: Make) -> None:
    """Objections by figures waited for a third program that such a fleet has not."""
    one = "The linker ends with exit code 137 when the node has 6 Gi"
    other = "Out of memory at link time shows as 137, seen with 4 Gi"
    world = await make({one, other})
    await learn(world, one, "a")
    await learn(world, other, "b")
    await world.run()
    await world.verdict("a", one, other, "same")
    await world.verdict("b", one, other, "same")
    await world.run()
    [found] = await world.entries()
    assert (found.state, found.discovered) == ("fresh", frozenset({"a", "b"}))


async def test_a_question_about_another_lesson_costs_no_discovery(
    make: Make,
) -> None:
    """A vote was lost where the author had been shown the text in a question about another pair."""
    world = await make({A, B, C})
    await learn(world, A, "a")
    await learn(world, B, "b")
    await learn(world, C, "b")
    await world.run()
    await world.verdict("b", A, C, "different")
    await world.verdict("a", A, B, "same")
    await world.verdict("b", A, B, "same")
    await world.run()
    found = await entry(world, A)
    assert found is not None
    assert found.discovered == {"a", "b"}


@pytest.mark.parametrize("age", [91, 200, 400])
async def test_a_question_finds_a_lesson_of_any_age(make: Make, age: int) -> None:
    world = await make({A, "What to do about a refused push"})
    await learn(world, A, "a")
    await world.later(days=age)
    await world.run()
    assert (await world.recall("a", "What to do about a refused push")).own == [A]
    assert (await world.boot("a", task="What to do about a refused push")).own == [A]


async def test_a_boot_without_a_task_leaves_faded_lessons_out(make: Make) -> None:
    world = await make()
    await learn(world, A, "a")
    await world.later(days=91)
    await learn(world, "Something else", "a")
    assert (await world.boot("a")).own == ["Something else"]


async def test_a_boot_with_a_task_looks_at_every_lesson(make: Make) -> None:
    """A boot looked at the 100 strongest lessons alone."""
    task = "What to do about a refused push"
    world = await make({A, task})
    await world.store("a", A, confidence=0.1)
    for number in range(110):
        await world.store("a", f"Lesson {number} of something else", confidence=0.9)
    assert (await world.boot("a", task=task)).own[0] == A


async def test_the_nearest_five_come_where_nothing_fits_well(make: Make) -> None:
    """Half of a newcomer's right answers were cut off below a cosine of .30."""
    world = await make()
    for number in range(7):
        await learn(world, f"Lesson {number} of something else", "a")
    assert len((await world.recall("a", "Which port does the proxy use")).own) >= 5
