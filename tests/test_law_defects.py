"""Defects of version 0.2.0, each as the behaviour wanted of any `World`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import AsyncExitStack, suppress
from itertools import permutations

import pytest

from tests.law_fleet import FleetWorld
from tests.law_world import EntryView, RefusedError, World

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


async def two_learn(make: Make, a: str, b: str, *near: Collection[str]) -> World:
    """Let programs a and b learn near texts, and a run open their pair."""
    world = await make({a, b}, *near)
    await learn(world, a, "a")
    await learn(world, b, "b")
    await world.run()
    return world


async def both_say_same(world: World, a: str, b: str) -> None:
    for program in ("a", "b"):
        await world.verdict(program, a, b, "same")


async def entry(world: World, text: str) -> EntryView:
    """Return the entry that says a text."""
    [found] = [one for one in await world.entries() if one.text == text]
    return found


async def asked(world: World, a: str, b: str) -> frozenset[str]:
    """Return the programs that would be asked about two texts."""
    wanted = frozenset({a, b})
    return frozenset().union(*(one.asked for one in await world.pairs() if one.texts == wanted))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Delete it with git branch -d after the merge",
            "Delete it with git branch -D after the merge",
        ),
        (
            "Name the header file Config and not config",
            "Name the header file config and not Config",
        ),
        ("Fetch it with curl -o and a name", "Fetch it with curl -O and a name"),
        ("Copy it with cp -r a/. b", "Copy it with cp -r a/ b"),
        ("The limit is 5 Mb a second", "The limit is 5 MB a second"),
    ],
)
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


async def test_a_verdict_counts_after_the_judge_reworded_its_lesson(make: Make) -> None:
    world = await make({A, B, C})
    await learn(world, A, "a")
    await learn(world, B, "b")
    await world.run()
    await world.boot("b")
    await world.store("b", C, own=B, change="reworded", evidence=seen_by("b"))
    await world.verdict("b", A, B, "same")
    await world.verdict("a", A, B, "same")
    await world.run()
    [found] = [one for one in await world.entries() if one.state == "fresh"]
    assert found.discovered == {"a", "b"}


async def test_two_entries_are_read_as_one_after_their_lessons_left(make: Make) -> None:
    world = await make({A, B})
    await learn(world, A, "a", "b")
    await learn(world, B, "c", "d")
    await world.run()
    await world.run()
    await world.later(days=400)
    await world.run()
    await world.verdict(None, A, B, "same")
    await world.run()
    assert (await world.boot("reader")).knowledge == [A]


@pytest.mark.parametrize("order", [*permutations([("a", "x"), ("b", "y"), ("c", None)])])
async def test_a_lesson_of_no_project_helps_two_projects_in_any_order(
    make: Make, order: tuple[tuple[str, str | None], ...]
) -> None:
    world = await make()
    for program, project in order:
        await learn(world, A, program, project=project)
        await world.run()
    await world.run()
    found = {one.project: one.discovered for one in await world.entries()}
    assert found == {"x": {"a", "c"}, "y": {"b", "c"}}


async def test_nobody_stands_behind_an_entry_that_both_contributors_forgot(make: Make) -> None:
    world = await make()
    await learn(world, A, "a", "b")
    await world.run()
    await world.forget("a", A)
    await world.forget("b", A)
    await world.run()
    assert {one.state for one in await world.entries()} <= {"candidate"}
    assert (await world.boot("reader")).knowledge == []


async def test_a_run_a_year_ahead_lets_no_reader_discover(make: Make) -> None:
    world = await make()
    await learn(world, A, "a", "b")
    await world.run(now_ahead_days=365)
    assert (await world.boot("c")).knowledge == [A]
    await learn(world, A, "c")
    await world.run()
    found = await entry(world, A)
    assert found.discovered == {"a", "b"}


@pytest.mark.parametrize("verdicts", [("same", "contradict"), ("contradict", "same")])
@pytest.mark.parametrize("authors", [("a", "b"), ("b", "a")])
async def test_both_authors_are_asked_whoever_answers_first(
    make: Make, authors: tuple[str, str], verdicts: tuple[str, str]
) -> None:
    """One wrong entry was fresh: after an objection an author's and a third program's `same` was
    enough.
    """
    world = await make({A, "Never retry a refused push"})
    await learn(world, A, "a")
    await learn(world, "Never retry a refused push", "b")
    await world.run()
    pair = A, "Never retry a refused push"
    assert await asked(world, *pair) == {"a", "b"}
    first, second = authors
    await world.verdict(first, *pair, verdicts[0])
    assert second in await asked(world, *pair)
    await world.verdict(second, *pair, verdicts[1])
    with suppress(RefusedError):
        await world.verdict("c", *pair, "same")
    await world.run()
    assert (await world.boot("reader")).knowledge == []


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
    await both_say_same(world, A, B)
    await world.run()
    found = await entry(world, A)
    assert found.discovered == {"a", "b"}


@pytest.mark.parametrize("age", [91, 200, 400])
async def test_a_question_finds_a_lesson_of_any_age(make: Make, age: int) -> None:
    world = await make({A, "What to do about a refused push"})
    await learn(world, A, "a")
    await world.later(days=age)
    await world.run()
    assert (await world.recall("a", "What to do about a refused push")).own == [A]
    assert (await world.boot("a", task="What to do about a refused push")).own == [A]


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


# Seen on random histories of the new law


@pytest.mark.parametrize("again", ["a", "c"])
async def test_a_pair_whose_lesson_was_forgotten_is_asked_of_who_learns_its_words_again(
    make: Make, again: str
) -> None:
    world = await two_learn(make, A, B)
    await world.forget("a", A)
    await learn(world, A, again)
    await world.run()
    assert await asked(world, A, B) == {"b", again}


async def test_what_a_program_confirmed_goes_with_the_lesson_that_it_forgets(make: Make) -> None:
    world = await make()
    await learn(world, A, "a", "b")
    await world.store("b", A, evidence="b saw it once more on Tuesday")
    await world.run()
    await world.forget("b", A)
    found = await entry(world, A)
    assert (found.state, found.discovered, found.confirmed) == (
        "candidate",
        frozenset({"a"}),
        frozenset(),
    )


async def test_a_word_about_a_lesson_leaves_an_entry_with_it(make: Make) -> None:
    world = await make({A, B})
    await learn(world, A, "a")
    await learn(world, B, "b")
    await world.store("b", B, evidence="b saw it once more on Tuesday")
    await world.run()
    await world.verdict(None, A, B, "same")
    assert (await entry(world, A)).state == "fresh"
    await world.word("b", B, "confirmed", "b saw it on Wednesday, too")
    await world.verdict(None, A, B, "different")
    await world.run()
    assert (await world.boot("reader")).knowledge == []


async def test_an_author_that_learns_its_lesson_again_takes_its_contradiction_back(
    make: Make,
) -> None:
    world = await make()
    await learn(world, A, "a", "b")
    await world.run()
    await world.word("b", A, "contradicted", "b pushed four times in vain")
    assert (await entry(world, A)).state == "candidate"
    await world.later(days=1)
    await world.store("b", A, evidence="b had a broken cable, the third push went through")
    assert (await entry(world, A)).state == "fresh"


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("pairs", [*permutations([(A, B), (B, C)])])
async def test_what_joins_the_youngest_of_three_entries_read_as_one_counts_in_the_oldest(
    make: Make, pairs: Collection[tuple[str, str]], *, by_word: bool
) -> None:
    world = await make({A, B}, {B, C})
    await learn(world, A, "a", "b")
    await learn(world, B, "c", "d")
    await learn(world, C, "e", "f")
    await world.run()
    await world.run()
    for pair in pairs:
        await world.verdict(None, *pair, "same")
    if by_word:
        await world.word("e", C, "contradicted", evidence=seen_by("e"))
    else:
        await learn(world, C, "late")
    await world.run()
    found = await entry(world, A)
    assert found.state == ("contested" if by_word else "fresh")
    assert by_word or "late" in found.discovered | found.confirmed


async def test_a_same_that_holds_by_a_side_that_ignored_its_pair_is_carried_out_at_once(
    make: Make,
) -> None:
    world = await two_learn(make, A, B)
    await world.verdict("a", A, B, "same")
    await world.verdict("j", A, B, "same", role="judge")
    for _ in range(4):
        await world.boot("b")
        await world.later(minutes=120)
    found = await entry(world, A)
    assert found.discovered == {"a", "b"}


async def test_an_author_of_both_texts_may_say_that_they_contradict(make: Make) -> None:
    world = await two_learn(make, A, B)
    await learn(world, A, "b")
    await world.verdict("b", A, B, "contradict")
    assert {one.text for one in await world.entries()} == {A}  # its word is against the other's


async def test_a_lesson_that_leaves_an_entry_read_through_another_is_free_to_join_again(
    make: Make,
) -> None:
    world = await make({A, B}, {B, C})
    await learn(world, A, "a", "b")
    await learn(world, B, "c", "d")
    await learn(world, C, "e")
    await world.run()
    await world.run()
    await world.verdict(None, B, C, "same")
    await world.verdict(None, A, B, "same")
    await world.verdict(None, B, C, "different")
    await learn(world, C, "f")
    await world.run()
    found = await entry(world, C)
    assert (found.state, found.discovered) == ("fresh", frozenset({"e", "f"}))


async def test_a_text_whose_key_had_another_text_before_has_one_entry(make: Make) -> None:
    start = "Delete the merged branch with a small letter on the hosts of"  # makes their key
    erased, text = f"{start} ada", f"{start} bob"
    world = await make({text, B})
    await learn(world, erased, "a", "b")
    await world.run()
    await learn(world, text, "c", "d")
    await world.run()
    await world.word("e", text, "contradicted", seen_by("e"))
    await world.forget("c", text)
    await world.forget("d", text)
    await world.purge(erased)
    await learn(world, text, "f")
    await learn(world, B, "g")
    await world.run()
    await world.verdict("f", text, B, "same")
    await world.verdict("g", text, B, "same")
    [found] = await world.entries()
    assert (found.text, found.contradicted) == (text, frozenset({"e"}))


async def test_another_author_of_an_entry_is_asked_where_the_first_is_silent(make: Make) -> None:
    world = await two_learn(make, A, B, {A, C})
    await both_say_same(world, A, B)
    await learn(world, C, "c")
    await world.run()
    await world.verdict("c", A, C, "same")
    await world.later(days=15)
    await world.run()
    assert "b" in await asked(world, A, C)
    await world.verdict("b", A, C, "same")
    found = await entry(world, A)
    assert found.confirmed == {"c"}


async def test_a_word_about_a_lesson_of_two_entries_counts_in_both(make: Make) -> None:
    world = await make()
    await learn(world, A, "a")
    await learn(world, A, "b", project="x")
    await learn(world, A, "c", project="y")
    await world.run()
    await world.word("a", A, "contradicted", seen_by("a"))
    found = {one.project: one.contradicted for one in await world.entries()}
    assert found == {"x": {"a"}, "y": {"a"}}


async def test_lessons_that_joined_by_a_verdict_are_free_when_it_falls(make: Make) -> None:
    world = await two_learn(make, A, B)
    await both_say_same(world, A, B)
    await learn(world, B, "c")
    await world.run()
    await world.verdict("a", A, B, "different")
    await world.run()
    found = await entry(world, B)
    assert found.discovered == {"b", "c"}
