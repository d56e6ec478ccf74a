"""Ways by which one origin could look like two by imports, which people alone do."""

import json
from typing import Final

from laundering_fleet import World
from laundering_scenario import LOOK, TWO, Scenario

from fleet_memory.jobs.transfer.files import Fields, Line

GRAPH: Final = json.dumps(
    {"type": "entity", "name": "Tasks", "entityType": "board", "observations": [LOOK]}
)
NOTE: Final = f"---\ntitle: Tasks\n---\n- [rule] {LOOK}\n"
COPIED: Final = "CLAUDE.md of the repository, section on tasks"
ONE: Final = "candidate, discovered by basher = iso"
NOTED: Final = "fresh, discovered by basher, notes"
OF_NOBODY: Final = "notes do not say who learnt them: import an agent's own with its --program"
FORGED: Final = "the facts of a file are taken as they are, and people alone import one"


async def notes_of_two_tools(world: World, *, honest: bool) -> None:
    """Play one person's note that two tools have; honest: an agent learns it too."""
    await world.takes_notes("server-memory", "memory.json", GRAPH)
    if honest:
        await world.agent("iso").stores(LOOK)
    else:
        await world.takes_notes("notes", "tasks.md", NOTE)


async def own_notes(world: World, *, honest: bool) -> None:  # noqa: ARG001 the calls are the same
    """Play an agent whose own note is imported under another name; honest: somebody else's."""
    await world.agent("basher").stores(LOOK)
    await world.takes_notes("notes", "tasks.md", NOTE)


async def own_export_renamed(world: World, *, honest: bool) -> None:
    """Play an export that comes back with the program renamed; honest: iso's own comes in."""
    await world.agent("iso" if honest else "basher").stores(LOOK)
    lines = await world.export()
    if honest:
        await world.agent("basher").stores(LOOK)
    else:
        text = json.dumps(lines).replace('"basher"', '"iso"')
        lines = [Line(*line) for line in json.loads(text)]
    await world.import_lines(lines)


async def forged_standing(world: World, *, honest: bool) -> None:
    """Play an export whose candidate says that it was published; honest: it was."""
    for agent in world.agents("basher", "iso"):
        await agent.stores(LOOK, evidence=None if honest else COPIED)
    await world.settle()
    lines = await world.export()
    published: Fields = {
        "at": world.at.isoformat(),
        "threshold": 1,
        "tried": 0,
        "origins": "program",
    }
    for line in lines:
        if line.collection == "gsp" and not honest:
            line.fields["publications"] = [published]
            line.fields["threshold"] = 1
    await world.import_lines(lines)


async def forged_programs(world: World, *, honest: bool) -> None:
    """Play an export with a program that never was, and its lesson; honest: it was."""
    await world.agent("basher").stores(LOOK)
    lines = await world.export()
    if honest:
        await world.agent("iso").stores(LOOK)
    else:
        text = json.dumps(lines).replace("basher", "iso").replace("iso saw it", "I saw it at iso")
        await world.import_lines(Line(*line) for line in json.loads(text))


IMPORTS: Final = (
    Scenario(
        "one note from two tools",
        notes_of_two_tools,
        "candidate, discovered by notes = server-memory",
        "fresh, discovered by iso, server-memory",
    ),
    Scenario("an agent's own note", own_notes, NOTED, NOTED, OF_NOBODY),
    Scenario("an export with its program renamed", own_export_renamed, ONE),
    Scenario("an export with a forged standing", forged_standing, ONE),
    Scenario("an export with a forged program", forged_programs, TWO, TWO, FORGED),
)
