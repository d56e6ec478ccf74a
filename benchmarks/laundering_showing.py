"""Ways by which one origin could look like two, after a program was shown a lesson or read
knowledge.
"""

from typing import Final

from laundering_fleet import World, id_of_pair
from laundering_scenario import (
    CHECK,
    CHECKED_ONCE,
    FIVE_TIMES,
    FOUR,
    LATE,
    LOG,
    LOGGED,
    LOOK,
    STARTS,
    THREE,
    THREE_TIMES,
    TWO,
    Scenario,
    Story,
)

from fleet_memory.rules.pairs import ANSWER_WITHIN

DOORS: Final = {"sark": "recall", "ram": "search", "tron": "read", "clu": "diff", "yori": "boot"}
MAX_SHOWN_TEXTS: Final = 1_024  # Source: docs/consensus.md
CANDIDATE: Final = "candidate, discovered by basher, iso"
READERS: Final = f"{TWO}, confirmed by clu, ram, sark, tron, yori"
TRIED: Final = "verify (tried), discovered by iso, confirmed by basher"
EVERYBODY: Final = "fresh, discovered by basher, clu, iso, ram, sark, tron, yori"
OTHERS: Final = "fresh, discovered by ram, sark"
DELETED: Final = "deleting a program forgets everything about it, and people alone do that"
PROJECTS: Final = "lessons and entries of two projects are never compared"


async def own_summary(world: World, *, honest: bool) -> None:
    """Play a program that stores its lesson again, in other words and under other ids."""
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK, id="lesson")
    await world.night()
    await (iso if honest else basher).stores(CHECK, id="summary")
    if not honest:
        await basher.stores(LOOK, id="again")


async def own_summary_as_a_third(world: World, *, honest: bool) -> None:
    """Play a program whose two wordings stand with another's one, where it takes three."""
    await world.set_policy("threshold", "3")
    basher, iso, sark = world.agents("basher", "iso", "sark")
    await basher.stores(LOOK)
    await iso.stores(LATE)
    await (sark if honest else basher).stores(CHECK)


def after_showing(text: str, sure: float = 0.8, source: str = LOOK) -> Story:
    """Return the story of a program that is shown another's lesson `source`, calls it different
    from its own, and stores it as `text`.
    """

    async def story(world: World, *, honest: bool) -> None:
        basher, iso = world.agents("basher", "iso")
        world.others |= {LOG}
        await iso.stores(source)
        await basher.stores(LOG)
        if not honest:
            await world.night()
            await basher.judges()
        await basher.stores(text, sure=sure)

    return story


async def rewritten_after_showing(world: World, *, honest: bool) -> None:
    """Play the same under the id of a lesson that the program stored before it was shown
    anything.
    """
    basher, iso = world.agents("basher", "iso")
    world.others |= {LOG}
    await iso.stores(LOOK)
    await basher.stores(LOG, id="lesson")
    if not honest:
        await world.night()
        await basher.judges()
    await basher.stores(STARTS, id="lesson", sure=0.95, change="corrected")


async def long_after_showing(world: World, *, honest: bool) -> None:
    """Play the same after the program was shown as many texts as it remembers."""
    basher, iso = world.agents("basher", "iso")
    world.others |= {LOG}
    await iso.stores(LOOK)
    await basher.stores(LOG)
    if not honest:
        await world.night()
        await basher.judges()
        await world.show("basher", MAX_SHOWN_TEXTS)
    await basher.stores(LOOK)


async def before_its_source_joins(world: World, *, honest: bool) -> None:
    """Play iso, who rewords basher's lesson and makes an entry with sark's; basher's own joins only
    then.
    """
    await world.set_policy("threshold", "3")
    basher, iso, sark = world.agents("basher", "iso", "sark")
    world.others |= {LOG}
    await basher.stores(CHECK)
    await iso.stores(LOG)
    if not honest:
        await world.night()
        await iso.judges()
    await iso.stores(STARTS, sure=0.9)
    await sark.stores(LOOK)
    await world.night()
    for agent in (iso, sark):
        await agent.boots()
        await agent.answers([id_of_pair(STARTS, LOOK)])


async def reworded_by_two(world: World, *, honest: bool) -> None:
    """Play two programs that are shown one lesson, reword it, and call their two wordings the same
    first.
    """
    basher, iso, sark = world.agents("basher", "iso", "sark")
    world.others |= {LOG, LOGGED}
    await basher.stores(CHECK)
    await iso.stores(LOG)
    await sark.stores(LOGGED)
    if not honest:
        await world.night()
        await iso.judges()
        await sark.judges()
    await iso.stores(LOOK)
    await sark.stores(STARTS)
    await world.night()
    for agent in (iso, sark):
        await agent.boots()
        await agent.answers([id_of_pair(LOOK, STARTS)])


async def after_deletion(world: World, *, honest: bool) -> None:
    """Play a program that people delete after a showing; it begins again under its name."""
    basher, iso = world.agents("basher", "iso")
    world.others |= {LOG}
    await iso.stores(LOOK)
    await basher.stores(LOG)
    if not honest:
        await world.night()
        await basher.judges()
        await world.forget("basher")
    await basher.stores(LOOK)


async def copied_from_knowledge(world: World, *, honest: bool) -> None:
    """Play readers by every door of the shared knowledge, who then store the text of the entry."""
    basher, iso, *readers = world.agents("basher", "iso", *DOORS)
    if honest:
        for reader in readers:
            await reader.stores(LOOK)
    await basher.stores(LOOK)
    await iso.stores(LOOK)
    await world.settle()
    for reader in readers:
        await reader.reads(DOORS[reader.program_id])
        await reader.stores(LOOK)


async def copied_into_another_project(world: World, *, honest: bool) -> None:
    """Play two programs that read an entry of one project, and store it as a lesson of another."""
    basher, iso, sark, ram = world.agents("basher", "iso", "sark", "ram")
    await basher.stores(LOOK, projectId="shop")
    await iso.stores(LOOK, projectId="shop")
    if not honest:
        await world.settle()
        await sark.reads("recall")
        await ram.reads("search")
    await sark.stores(LOOK, projectId="site")
    await ram.stores(LOOK, projectId="site")


def reworded_from_knowledge(*, judged_first: bool) -> Story:
    """Return the story of two programs that boot and store the entry in words of their own.

    With `judged_first` they call these the same before anybody is asked whether they are the entry.
    """

    async def story(world: World, *, honest: bool) -> None:
        basher, iso, sark, ram = world.agents("basher", "iso", "sark", "ram")
        await basher.stores(CHECK)
        await iso.stores(CHECK)
        if not honest:
            await world.settle()
        await sark.boots()
        await ram.boots()
        await sark.stores(LOOK)
        await ram.stores(STARTS)
        if judged_first and not honest:
            await world.night()
            for reader in (sark, ram):
                await reader.boots()
                await reader.answers([id_of_pair(LOOK, STARTS)])

    return story


async def learnt_after_publication(world: World, *, honest: bool) -> None:
    """Play a program that stores in its own words a lesson that has been knowledge for a day."""
    basher, iso, sark = world.agents("basher", "iso", "sark")
    await basher.stores(LOOK)
    await iso.stores(CHECK)
    if not honest:
        await world.settle()
    await sark.stores(LATE)


async def learnt_again_after_retirement(world: World, *, honest: bool) -> None:
    """Play readers of an entry who store it, as it is and in their own words, after it was retired.

    Honest: they learnt another lesson, near the retired one.
    """
    basher, iso, sark, ram = world.agents("basher", "iso", "sark", "ram")
    await basher.stores(CHECK)
    await iso.stores(CHECK)
    await world.settle()
    await sark.boots()
    await ram.boots()
    await world.retire()
    world.differ |= {frozenset({CHECK, LOG}), frozenset({CHECK, LOGGED})}
    await sark.stores(LOG if honest else LOOK)
    await ram.stores(LOGGED if honest else STARTS)
    if not honest:
        for reader in world.agents("tron", "clu"):
            await reader.stores(CHECK)


async def judged_as_a_third_then_copied(world: World, *, honest: bool) -> None:
    """Play a third program that stores a text of the pair that it judged, where three discoveries
    are needed.
    """
    await world.set_policy("threshold", "3")
    await world.set_policy("tried", "0")
    basher, iso, sark, other = world.agents("basher", "iso", "sark", "clu")
    world.others |= {LOG}
    await basher.stores(THREE_TIMES)
    await iso.stores(FIVE_TIMES)
    if honest:
        await other.stores(LOG)
        await sark.stores(THREE_TIMES)
        return
    world.silent.add(iso)
    await sark.stores(LOG)
    await world.settle()
    for _ in range(ANSWER_WITHIN.days):  # until the silent side counts as unsure
        await world.night()
    await world.settle()
    world.silent.clear()
    await sark.stores(THREE_TIMES)


STORED_AFTER_READING: Final = (
    Scenario("own summary stored again", own_summary, "nothing"),
    Scenario("own summary, threshold 3", own_summary_as_a_third, CANDIDATE, THREE),
    Scenario("shown in toJudge, then copied", after_showing(LOOK), TRIED),
    Scenario("shown, then reworded", after_showing(STARTS, sure=0.6), TRIED),
    Scenario("shown, then reworded and surer", after_showing(STARTS, sure=0.95), TRIED),
    Scenario("the same, its hash before the source's", after_showing(LOOK, 0.95, STARTS), TRIED),
    Scenario("shown, then own lesson corrected", rewritten_after_showing, TRIED),
    Scenario("shown, then copied 1,024 texts later", long_after_showing, TRIED),
    Scenario(
        "reworded, joins before its source", before_its_source_joins, THREE, THREE, CHECKED_ONCE
    ),
    Scenario("shown to two, reworded by both", reworded_by_two, THREE, THREE, CHECKED_ONCE),
    Scenario("shown, deleted by people, then copied", after_deletion, TWO, TWO, DELETED),
    Scenario("copied from knowledge, five doors", copied_from_knowledge, READERS, EVERYBODY),
    Scenario(
        "copied into another project by two",
        copied_into_another_project,
        f"{TWO}; {OTHERS}",
        f"{TWO}; {OTHERS}",
        PROJECTS,
    ),
    Scenario(
        "reworded from knowledge by two",
        reworded_from_knowledge(judged_first=False),
        f"{TWO}, confirmed by ram, sark",
        FOUR,
    ),
    Scenario(
        "reworded by two who judge that first",
        reworded_from_knowledge(judged_first=True),
        f"{TWO}, confirmed by ram, sark",
        FOUR,
    ),
    Scenario(
        "learnt after publication", learnt_after_publication, f"{TWO}, confirmed by sark", THREE
    ),
    Scenario(
        "learnt again after retirement",
        learnt_again_after_retirement,
        "retired",
        f"{OTHERS}; retired",
    ),
    Scenario(
        "judged as a third, then copied",
        judged_as_a_third_then_copied,
        f"{CANDIDATE}, confirmed by sark",
        THREE,
    ),
)
