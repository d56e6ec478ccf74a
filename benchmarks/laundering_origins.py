"""Ways by which one origin could look like two, by handovers, names, sessions, connections and
copies.
"""

from typing import Final

from laundering_fleet import World
from laundering_scenario import CHECK, LATE, LOG, LOOK, STARTS, THREE, TWO, Scenario, Story

COPIED: Final = "CLAUDE.md of the repository, section on tasks"
UNBOUND: Final = "an unbound process may read every program's memory: bind it with --program"
NEVER_SHOWN: Final = "the server never sees it; the calls are those of the honest story"
STATED: Final = "a stated session counts before the client's, and an agent may state any"
OWN_EVIDENCE: Final = "evidence in other words is other evidence"
OWN_WORDS: Final = (
    "only lessons of equal words are copies; judged the same, other words are another "
    "agent's finding"
)
NAMES: Final = "unbound, each process is taken at its word: bind it with --program, or use tokens"
BY_NAME: Final = "by default origins are programs; policy origins: connection counts two"
SHOWN_TO: Final = (
    "a showing is remembered for the program that was shown it, not for its connection"
)


async def handed_over(world: World, *, honest: bool) -> None:
    """Play a bound program that tries to read another's handover, lessons and boot; honest: it
    works alone.
    """
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK)
    await basher.commits(handover=LOOK)
    if honest:
        await iso.stores(CHECK)
    else:
        await iso.reads_memory_of("basher")


def handed_over_unbound(iso_over: str) -> Story:
    """Return the story of an unbound process that reads another program's memory, and stores the
    texts.
    """

    async def story(world: World, *, honest: bool) -> None:
        basher = world.agent("basher", over=None if honest else "first")
        iso = world.agent("iso", over=None if honest else iso_over)
        await basher.stores(LOOK)
        await basher.commits(handover=LOOK)
        if not honest:
            await iso.reads_memory_of("basher")
        await iso.stores(CHECK)

    return story


async def handed_over_outside(world: World, *, honest: bool) -> None:
    """Play iso, who has it from basher by a message that the server never sees."""
    basher, iso = world.agents("basher", "iso")
    await basher.stores(LOOK)
    if not honest:
        await world.night()
    await iso.stores(CHECK)


async def names_of_two_cases(world: World, *, honest: bool) -> None:
    """Play three spellings of one name, each a program."""
    names = ("basher", "iso", "sark") if honest else ("basher", "Basher", "BASHER")
    for name, text in zip(names, (LOOK, CHECK, LATE), strict=True):
        await world.agent(name).stores(text)


async def names_of_two_forms(world: World, *, honest: bool) -> None:
    """Play a name in full-width letters, which one normal form makes ASCII."""
    await world.agent("basher").stores(LOOK)
    other = world.agent("iso") if honest else world.agent_if_named("\uff42asher")
    if other is not None:
        await other.stores(CHECK)


async def program_and_its_subagents(world: World, *, honest: bool) -> None:
    """Play a program and its subagents, each in a session of its own; honest: two of other
    programs.
    """
    names = ("shop/basher", "team/iso") if honest else ("basher", "basher/iso", "basher/iso/sark")
    for name in names:
        await world.agent(name, session=f"session of {name}").stores(LOOK)


async def one_session_in_two_programs(world: World, *, honest: bool) -> None:
    """Play two programs of one session; the second sends its lesson again from its next session."""
    basher = world.agent("basher", session="monday")
    iso = world.agent("iso", session="tuesday" if honest else "monday")
    await basher.stores(LOOK, id="lesson")
    await iso.stores(CHECK, id="lesson")
    await world.night()
    await world.agent("iso", session="later").stores(
        CHECK, id="lesson", sure=0.9, sessionId="later"
    )


async def one_session_under_two_ids(world: World, *, honest: bool) -> None:
    """Play two programs in one session of the client; the second states a session of its own."""
    basher = world.agent("basher", session="monday")
    iso = world.agent("iso", session="tuesday" if honest else "monday")
    await basher.stores(LOOK)
    await iso.stores(CHECK, sessionId="of-my-own")


def copied_file(evidence: str) -> Story:
    """Return the story of three agents that store a line of one file; honest: each has evidence of
    its own.
    """

    async def story(world: World, *, honest: bool) -> None:
        for agent in world.agents("basher", "iso", "sark"):
            await agent.stores(LOOK, evidence=None if honest else evidence)

    return story


async def copied_file_with_other_evidence(world: World, *, honest: bool) -> None:
    """Play three agents that store a line of one file, and each names that in words of its own."""
    for agent in world.agents("basher", "iso", "sark"):
        await agent.stores(
            LOOK, evidence=None if honest else f"CLAUDE.md says so, read by {agent.program_id}"
        )


async def copied_file_reworded(world: World, *, honest: bool) -> None:
    """Play three agents that store a line of one file, each in its own words and with equal
    evidence.
    """
    for agent, text in zip(
        world.agents("basher", "iso", "sark"), (LOOK, CHECK, STARTS), strict=True
    ):
        await agent.stores(text, evidence=None if honest else COPIED)


def two_names_over_one(origins: str = "program") -> Story:
    """Return the story of an unbound process that stores and judges under two names; honest: two
    processes.
    """

    async def story(world: World, *, honest: bool) -> None:
        await world.set_policy("origins", origins)
        await world.agent("basher", over="first").stores(LOOK)
        await world.agent("iso", over="second" if honest else "first").stores(CHECK)

    return story


def three_names_over_two(origins: str = "program") -> Story:
    """Return the story of two unbound processes with three names, where it takes three."""

    async def story(world: World, *, honest: bool) -> None:
        await world.set_policy("origins", origins, "threshold", "3")
        await world.agent("basher", over="first").stores(LOOK)
        await world.agent("iso", over="third" if honest else "first").stores(LOOK)
        await world.agent("sark", over="second").stores(LOOK)

    return story


async def two_names_in_turn(world: World, *, honest: bool) -> None:
    """Play one agent that starts its unbound process again, and gives another name."""
    await world.agent("basher", over=None if honest else "monday").stores(LOOK)
    await world.agent("iso", over=None if honest else "tuesday").stores(CHECK)


async def confirmed_by_its_next_process(world: World, *, honest: bool) -> None:
    """Play an unbound process that stores under two names; the next confirms the entry with
    evidence.
    """
    await world.agent("basher", over="monday").stores(LOOK)
    await world.agent("iso", over="other" if honest else "monday").stores(LOOK)
    await world.settle()
    await world.agent("basher", over="tuesday").confirms()


async def shown_to_one_stored_by_another(world: World, *, honest: bool) -> None:
    """Play one unbound connection over which ram is shown a lesson, and iso stores it."""
    basher, shown = world.agent("basher", over="first"), world.agent("ram", over="second")
    iso = world.agent("iso", over="third" if honest else "second")
    world.others |= {LOG}
    await basher.stores(LOOK)
    await shown.stores(LOG)
    await world.night()
    await shown.judges()
    await iso.stores(CHECK)


ONE_ORIGIN: Final = (
    Scenario("handover, bound", handed_over, "3 refused; nothing"),
    Scenario("handover, one unbound process", handed_over_unbound("first"), "nothing"),
    Scenario("handover, two unbound processes", handed_over_unbound("second"), TWO, TWO, UNBOUND),
    Scenario("handover outside the server", handed_over_outside, TWO, TWO, NEVER_SHOWN),
    Scenario("names that differ in case", names_of_two_cases, "nothing", THREE),
    Scenario("names that differ in Unicode form", names_of_two_forms, "1 refused; nothing"),
    Scenario(
        "a program and its subagents",
        program_and_its_subagents,
        "nothing",
        "fresh, discovered by shop/basher, team/iso",
    ),
    Scenario(
        "one session in two programs",
        one_session_in_two_programs,
        "candidate, discovered by basher = iso",
    ),
    Scenario("one session under two ids", one_session_under_two_ids, TWO, TWO, STATED),
    Scenario(
        "one file in three, as evidence",
        copied_file(COPIED),
        "candidate, discovered by basher = iso = sark",
        THREE,
    ),
    Scenario(
        "one file in three, no evidence",
        copied_file(""),
        "candidate, discovered by basher = iso = sark",
        THREE,
    ),
    Scenario(
        "one file in three, own evidence",
        copied_file_with_other_evidence,
        THREE,
        THREE,
        OWN_EVIDENCE,
    ),
    Scenario("one file in three, own words", copied_file_reworded, THREE, THREE, OWN_WORDS),
    Scenario("two names over one connection", two_names_over_one(), "nothing"),
    Scenario(
        "two over one, origins: connection",
        two_names_over_one("connection"),
        "nothing",
    ),
    Scenario("three names over two, threshold 3", three_names_over_two(), THREE, THREE, BY_NAME),
    Scenario(
        "three over two, origins: connection",
        three_names_over_two("connection"),
        "candidate, discovered by basher = iso, sark",
        THREE,
    ),
    Scenario("one agent, a name for each process", two_names_in_turn, TWO, TWO, NAMES),
    Scenario(
        "two names, confirmed by the next process", confirmed_by_its_next_process, TWO, TWO, NAMES
    ),
    Scenario(
        "shown to one name, stored by another", shown_to_one_stored_by_another, TWO, TWO, SHOWN_TO
    ),
)
