"""The toolset `curation`: set rules, retire and reinstate entries, restore from the archive."""

from typing import Annotated, Final

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError, UnknownNameError
from fleet_memory.fleet import Fleet, JsonObject, Tool, Toolset
from fleet_memory.jobs.auditing import allow_read
from fleet_memory.jobs.curation import (
    keyed_seeds,
    reinstate_entry,
    retire_entry,
    seed_rules,
)
from fleet_memory.jobs.restoration import list_archive, restore_archived
from fleet_memory.schemas.fields import Key, Name, QueryText
from fleet_memory.schemas.knowledge import Seed
from fleet_memory.schemas.value import Value
from fleet_memory.tools.core.lessons import Evicting
from fleet_memory.tools.shared import AnyProgram, EntryStanding


class SeedAnswer(Value):
    """The keys of the rules by their change; `kept` are not among those sent, and stay."""

    dry_run: bool
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class CuratedAnswer(EntryStanding):
    """An entry's state, and whether the call changed it."""

    changed: bool


class RestoreAnswer(Evicting):
    """A program's archive, or the item that the call brought back.

    `archive` has lessons and notes, each with `id`, `at`, `reason`, `text`, `patternId` or
    `noteId`, `why`; `omitted` counts the items not shown. `was`: the lesson's id before, which
    another has now. `reason`: why it could not be restored.
    """

    program_id: str
    archive: tuple[JsonObject, ...] | None = None
    restored: bool | None = None
    pattern_id: str | None = None
    note_id: str | None = None
    was: str | None = None
    reason: str | None = None


async def seed_knowledge(
    fleet: Fleet,
    entries: Annotated[
        tuple[Seed, ...], Field(min_length=1, max_length=500, description="The rules")
    ],
    prune: Annotated[bool, Field(description="Retire the rules that are not among them")] = False,
    dry_run: Annotated[
        bool, Field(description="Say what would change, and change nothing")
    ] = False,
) -> SeedAnswer:
    """When a person asks you to, and only then: set rules that every agent of the fleet reads at
    its next boot.

    A rule has a text, a domain, and if you like a key and a reason (why). The same rules again
    change nothing.
    """
    plan = await seed_rules(fleet, keyed_seeds(entries), prune=prune, dry_run=dry_run)
    return SeedAnswer.from_fields({"dryRun": dry_run, **plan.keys()})


async def retire_knowledge(
    fleet: Fleet,
    key: Annotated[Key, Field(description="The key of an entry")],
    why: Annotated[QueryText, Field(description="The reason; the entry's history keeps it")],
) -> CuratedAnswer:
    """When a person asks you to, and only then: take an entry out of use. reinstate_knowledge
    brings it back.
    """
    curated = await retire_entry(fleet, key, why)
    return CuratedAnswer(key=curated.key, status=curated.state, changed=curated.changed)


async def reinstate_knowledge(
    fleet: Fleet,
    key: Annotated[Key, Field(description="The key of a retired entry")],
    why: Annotated[QueryText, Field(description="The reason; the entry's history keeps it")],
) -> CuratedAnswer:
    """When a person asks you to, and only then: bring a retired entry back, confirmed now and
    without contradictions.
    """
    curated = await reinstate_entry(fleet, key, why)
    return CuratedAnswer(key=curated.key, status=curated.state, changed=curated.changed)


MAX_ITEMS: Final = 25  # of the archive in one answer; chosen


async def restore_memory(
    fleet: Fleet,
    program_id: AnyProgram,
    item_id: Annotated[
        Name | None, Field(description="Of the archive, or the lesson's or note's own")
    ] = None,
) -> RestoreAnswer:
    """When a person asks you to, and only then: bring back a lesson or a note that was archived, of
    any program; without itemId, list the newest of its archive.
    """
    fleet.caller.require_curation()
    await allow_read(fleet, program_id, "restore_memory")
    if item_id is None:
        rows = await list_archive(fleet, program_id)
        omitted = len(rows[MAX_ITEMS:]) or None
        return RestoreAnswer.from_fields(
            {"programId": program_id, "archive": rows[:MAX_ITEMS], "omitted": omitted}
        )
    try:
        row = await restore_archived(fleet, program_id, item_id)
    except UnknownNameError:
        raise InvalidArgumentError(
            f"itemId: the archive of {program_id} has no {item_id!r}; call without itemId to "
            "list it"
        ) from None
    return RestoreAnswer.from_fields({"programId": program_id, **row})


_TOOLS: Final = (
    Tool(seed_knowledge, "Set rules", "write rules of people", "replaces", "curation"),
    Tool(retire_knowledge, "Retire an entry", "take wrong knowledge back", "replaces", "curation"),
    Tool(
        reinstate_knowledge, "Reinstate an entry", "undo retiring knowledge", "writes", "curation"
    ),
    Tool(restore_memory, "Restore a lesson", "bring an archived lesson back", "writes", "curation"),
)
CURATION_TOOLS: Final = Toolset(
    "curation",
    _TOOLS,
    instructions=(
        "When a person asks you to, and only then: set rules (seed_knowledge), retire and "
        "reinstate entries, bring back lessons that were archived.",
    ),
)
