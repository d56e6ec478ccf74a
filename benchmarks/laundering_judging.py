"""Ways by which one origin could look like two, by verdicts and rewrites."""

from itertools import pairwise
from typing import Final

from laundering_fleet import World, id_of_pair
from laundering_scenario import (
    CHECK,
    FOUR,
    LATE,
    LOG,
    LOOK,
    STARTS,
    TWO,
    Scenario,
    Story,
)
from sets import FOLDER, rows_of

from fleet_memory.rules.asking import MAX_VERDICTS_PER_DAY

MAX_IN_A_BOOT: Final = 3  # pairs
SUBJECTS: Final = MAX_VERDICTS_PER_DAY + MAX_IN_A_BOOT
ONE_JUDGE: Final = "verify (one_judge), 2 votes: basher, iso"


async def drift(world: World, *, honest: bool) -> None:
    """Play a chain of wordings, each the same as its neighbours alone; honest: all are the same."""
    texts = {"basher": LOOK, "iso": CHECK, "sark": LATE, "ram": STARTS}
    chain = list(texts.values())
    if not honest:
        near = {frozenset(two) for two in pairwise(chain)}
        world.differ |= {frozenset({a, b}) for a in chain for b in chain if a != b} - near
    for name, text in texts.items():
        await world.agent(name).stores(text, sure=0.9 if name == "basher" else 0.8)


async def judged_by_one_side(world: World, *, honest: bool) -> None:
    """Play two authors of whom one answers."""
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK)
    await iso.stores(CHECK)
    if not honest:
        world.silent.add(iso)


def judged_under_other_names(one: str, other: str) -> Story:
    """Return the story of a process that judges as the author of the other side too, and as a third
    program.
    """

    async def story(world: World, *, honest: bool) -> None:
        basher, iso = world.agent("basher", over="first"), world.agent("iso", over="second")
        third = world.agent("sark", over="third" if honest else "first")
        world.others |= {LOG}
        await basher.stores(one)
        await iso.stores(other)
        await third.stores(LOG)
        if not honest:
            world.silent.add(iso)
            world.agent("iso", over="first")

    return story


def judged_by_two_judges(one: str, other: str) -> Story:
    """Return the story of two of the role `judge`, whose tokens one person has; honest: the authors
    answer too.
    """

    async def story(world: World, *, honest: bool) -> None:
        basher, iso = world.agents("basher", "iso")
        for name in ("sark", "ram"):
            world.agent(name, role="judge")
        await basher.stores(one)
        await iso.stores(other)
        if not honest:
            world.silent |= {basher, iso}

    return story


async def rewritten_into_another(world: World, *, honest: bool) -> None:
    """Play a contributor that stores another lesson under the id of its own; honest: the same
    lesson.
    """
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK, id="lesson")
    await iso.stores(CHECK)
    await world.settle()
    world.others |= {LOG}
    await basher.stores(STARTS if honest else LOG, id="lesson")


async def rewritten_and_called_the_same(world: World, *, honest: bool) -> None:
    """Play a contributor that rewrites its lesson into sark's other one, and calls that the same.

    The earlier text goes on voting, the new one nowhere. Honest: it stores the other lesson as
    another.
    """
    basher, iso, sark = world.agents("basher", "iso", "sark")
    world.differ |= {frozenset({CHECK, LOG}), *({frozenset({LOOK, LOG})} if honest else ())}
    await basher.stores(LOOK, id="lesson")
    await iso.stores(CHECK)
    await world.settle()
    await sark.stores(LOG)
    await basher.stores(LOG, id="another" if honest else "lesson")


async def rewritten_and_unanswered(world: World, *, honest: bool) -> None:
    """Play a contributor that rewrites its lesson, and does not answer whether it is the same."""
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK, id="lesson")
    await iso.stores(CHECK)
    await world.settle()
    await basher.stores(STARTS, id="lesson")
    if not honest:
        world.silent.add(basher)


async def judged_unseen(world: World, *, honest: bool) -> None:
    """Play programs that send verdicts about pairs whose ids they computed, before they were shown
    any.
    """
    basher, iso, sark = world.agents("basher", "iso", "sark")
    world.others |= {LOG}
    await basher.stores(LOOK)
    await iso.stores(CHECK)
    await sark.stores(LOG)
    await world.night()
    if not honest:
        world.silent |= {basher, iso, sark}
        for agent in (basher, iso, sark):
            await agent.answers([id_of_pair(LOOK, CHECK), id_of_pair(LOOK, LATE)])


async def judged_over_the_limit(world: World, *, honest: bool) -> None:
    """Play a program that answers one boot more than a day allows; honest: both answer, day by
    day.
    """
    basher, iso = world.agents("basher", "iso")
    same = [row["a"] for row in rows_of(FOLDER / "lessons.tsv") if row["kind"] == "same"]
    for text in same[:SUBJECTS]:
        await basher.stores(text)
        await iso.stores(f"We learnt this twice: {text}")
    await world.night()
    if honest:
        return
    world.silent |= {basher, iso}
    for _ in range(SUBJECTS // MAX_IN_A_BOOT):
        await basher.answers([pair.pair_id for pair in await basher.boots()])


VERDICTS: Final = (
    Scenario("drift: a=b, b=c, c=d", drift, TWO, FOUR),
    Scenario("judged by one side alone", judged_by_one_side, ONE_JUDGE),
    Scenario("judged as the other side too", judged_under_other_names(LOOK, CHECK), ONE_JUDGE),
    Scenario("two judges, no author answers", judged_by_two_judges(LOOK, CHECK), ONE_JUDGE),
    Scenario("rewritten into another lesson", rewritten_into_another, "candidate, 1 vote: iso"),
    Scenario(
        "rewritten into another's, called the same",
        rewritten_and_called_the_same,
        TWO,
        f"{TWO}; fresh, 2 votes: basher, sark",
    ),
    Scenario(
        "rewritten, not answered",
        rewritten_and_unanswered,
        "verify (open_rewrite), 2 votes: basher, iso",
    ),
    Scenario("verdicts about pairs never shown", judged_unseen, "6 refused; nothing"),
    Scenario(
        "verdicts over the limit of a day",
        judged_over_the_limit,
        f"{MAX_IN_A_BOOT} refused; {MAX_VERDICTS_PER_DAY} x {ONE_JUDGE}",
        f"{SUBJECTS} x {TWO}",
    ),
)
