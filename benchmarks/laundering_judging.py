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
    change, text = ("reworded", STARTS) if honest else ("corrected", LOG)
    await basher.stores(text, id="lesson", change=change)


async def rewritten_and_called_the_same(world: World, *, honest: bool) -> None:
    """Play a contributor that gives its lesson sark's other text, and calls that `reworded`.

    It counts for the earlier text alone. Honest: it stores the other lesson as another.
    """
    basher, iso, sark = world.agents("basher", "iso", "sark")
    world.differ |= {frozenset({CHECK, LOG}), *({frozenset({LOOK, LOG})} if honest else ())}
    await basher.stores(LOOK, id="lesson")
    await iso.stores(CHECK)
    await world.settle()
    await sark.stores(LOG)
    if honest:
        await basher.stores(LOG, id="another")
    else:
        await basher.stores(LOG, id="lesson", change="reworded")


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


VERDICTS: Final = (
    Scenario("drift: a=b, b=c, c=d", drift, TWO, FOUR),
    Scenario("judged by one side alone", judged_by_one_side, "nothing"),
    Scenario("judged as the other side too", judged_under_other_names(LOOK, CHECK), "nothing"),
    Scenario("two judges, no author answers", judged_by_two_judges(LOOK, CHECK), "nothing"),
    Scenario(
        "rewritten into another lesson",
        rewritten_into_another,
        "candidate, discovered by iso, contradicted by basher",
    ),
    Scenario(
        "rewritten into another's, called the same",
        rewritten_and_called_the_same,
        f"{TWO}, confirmed by sark",
        f"{TWO}; fresh, discovered by basher, sark",
    ),
    Scenario("verdicts about pairs never shown", judged_unseen, "6 refused; nothing"),
)
