"""Ways by which one origin could look like two where agents read each other's lessons before they
are knowledge, and confirm them.
"""

from typing import Final

from laundering_fleet import QUESTION, World, id_of_pair
from laundering_scenario import (
    CHECK,
    CHECKED_ONCE,
    LOOK,
    STARTS,
    THREE,
    TWO,
    Scenario,
    Story,
)

from fleet_memory.rules.text.keys import knowledge_key

KEY: Final = knowledge_key("tasks", LOOK)
ONE: Final = "candidate, discovered by basher = iso = sark"
TRIED: Final = "verify (tried), discovered by basher, confirmed by iso"
CONFIRMED: Final = "fresh, discovered by basher, confirmed by iso, sark"
BY_PROGRAM: Final = (
    "a showing is remembered for the program that was shown it, not for all of its origin"
)
BOUND: Final = "each name that people bind a process to is taken for an agent of its own"
TAKEN_AT_WORD: Final = (
    "no rule looks at what a confirmation says: two programs that confirm all they read are two"
)


def shown_by(door: str, text: str) -> Story:
    """Return the story of a program that reads another's lesson, and stores it as `text`."""

    async def story(world: World, *, honest: bool) -> None:
        await world.set_policy("sharing", "lessons")
        basher, iso = world.agents("basher", "iso")
        await basher.stores(LOOK)
        await world.night()
        if not honest:
            await (iso.asks() if door == "recall" else iso.boots(QUESTION))
        await iso.stores(text)

    return story


async def shown_to_two(world: World, *, honest: bool) -> None:
    """Play two programs that read one lesson, reword it, and call their wordings the same first."""
    await world.set_policy("sharing", "lessons")
    basher, iso, sark = world.agents("basher", "iso", "sark")
    await basher.stores(CHECK)
    await world.night()
    for agent, text in ((iso, LOOK), (sark, STARTS)):
        if not honest:
            await agent.asks()
        await agent.stores(text)
    await world.night()
    for agent in (iso, sark):
        await agent.boots()
        await agent.answers([id_of_pair(LOOK, STARTS)])


async def shown_to_its_subagent(world: World, *, honest: bool) -> None:
    """Play a program whose subagent asks, and that stores what this was shown."""
    await world.set_policy("sharing", "lessons")
    basher, explorer, iso = world.agents("basher", "iso/explorer", "iso")
    await basher.stores(LOOK)
    await world.night()
    if not honest:
        await explorer.asks()
    await iso.stores(LOOK)


def confirmed_by(*names: str, evidence: str = "seen again") -> Story:
    """Return the story of one agent that stores as basher and confirms under other names, each
    bound; honest: these store what they learnt.
    """

    async def story(world: World, *, honest: bool) -> None:
        await world.set_policy("sharing", "lessons")
        await world.agent("basher").stores(LOOK, evidence="the board said so twice on Monday")
        await world.night()
        for name in ("iso", "sark")[: len(names)] if honest else names:
            if honest:
                await world.agent(name).stores(LOOK)
            else:
                await world.agent(name).confirms(KEY, evidence=evidence)

    return story


def confirmed_over(over: str, session: str | None = None) -> Story:
    """Return the story of an unbound process that stores as basher and confirms under two more
    names over the connection `over`, which begins at a restart where it is another.
    """

    async def story(world: World, *, honest: bool) -> None:
        await world.set_policy("sharing", "lessons")
        await world.agent("basher", over="monday", session=session).stores(LOOK)
        await world.night()
        for name in ("iso", "sark"):
            if honest:
                await world.agent(name, over=name).stores(LOOK)
            else:
                await world.agent(name, over=over, session=session).confirms(KEY)

    return story


SHARING: Final = (
    Scenario("shown by recall, then copied", shown_by("recall", LOOK), TRIED),
    Scenario("shown by recall, then reworded", shown_by("recall", CHECK), TRIED),
    Scenario("shown at boot, then copied", shown_by("boot", LOOK), TRIED),
    Scenario(
        "shown by recall to two, reworded",
        shown_to_two,
        f"{TWO}, confirmed by sark",
        THREE,
        CHECKED_ONCE,
    ),
    Scenario("shown to its subagent, then stored", shown_to_its_subagent, TWO, TWO, BY_PROGRAM),
    Scenario("confirmed by itself", confirmed_by("basher"), "1 refused; nothing"),
    Scenario("confirmed by its subagent", confirmed_by("basher/iso"), "1 refused; nothing"),
    Scenario(
        "confirmed without evidence",
        confirmed_by("iso", "sark", evidence=""),
        "candidate, discovered by basher",
        THREE,
    ),
    Scenario("confirmed by its second name", confirmed_by("iso"), TRIED),
    Scenario("confirmed by two more names", confirmed_by("iso", "sark"), CONFIRMED, THREE, BOUND),
    Scenario(
        "confirmed with its own evidence",
        confirmed_by("iso", "sark", evidence="the board said so twice on Monday"),
        CONFIRMED,
        THREE,
        TAKEN_AT_WORD,
    ),
    Scenario("confirmed over its connection", confirmed_over("monday"), ONE, THREE),
    Scenario("confirmed after a restart", confirmed_over("tuesday"), f"{TRIED} = sark", THREE),
    Scenario("confirmed in its session", confirmed_over("tuesday", "one"), ONE, THREE),
)
