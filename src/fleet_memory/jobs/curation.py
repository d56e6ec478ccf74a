"""What people do to shared knowledge: set rules, retire an entry, bring it back. Published at once."""

import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from pydantic import ValidationError

from fleet_memory.errors import ConflictError, EmbedderError, InvalidArgumentError, KnowledgeNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import ANOTHER_CHANGE_RUNS, FencedWriter, leased
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.knowledge.seeding import Seeding, key_of, seed_differences, seeded
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.knowledge import Entry, EntryStatus, LedgerEvent, LedgerLine
from fleet_memory.schemas.seeds import Seed, SeedFile
from fleet_memory.stores import Query

OPERATOR: Final = "operator"  # what the ledger calls a person at the command line

SeedingPlan: TypeAlias = Seeding
"""What seeding does: seeds by key that are added or changed, keys that stay or that the file lacks."""

EntryChange: TypeAlias = Callable[[Entry | None], tuple[Entry, LedgerEvent] | None]
"""What becomes of an entry, None for nothing."""


class Retired(NamedTuple):
    """An entry after a person's word; `changed` tells whether it was not so before."""

    key: str
    status: EntryStatus
    changed: bool


def read_seeds(file: Path) -> dict[str, Seed]:
    """Return a file's rules by key: TOML, or JSON by its suffix. Raises InvalidArgumentError with the row and field."""
    try:
        text = file.read_text(encoding="utf-8")
        content = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"FILE: {file.name} cannot be read as UTF-8 text") from error
    except ValueError as error:
        raise InvalidArgumentError(f"FILE: {file.name}: {error}") from error
    try:
        return _keyed(SeedFile.model_validate_json(json.dumps(content, default=str), strict=True).entry)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "FILE"
        raise InvalidArgumentError(f"{place}: {first['msg']} (in {file.name})") from error


def _keyed(seeds: Iterable[Seed]) -> dict[str, Seed]:
    found: dict[str, Seed] = {}
    for position, one in enumerate(seeds):
        key = key_of(one)
        if key in found:
            raise InvalidArgumentError(f"entry.{position}.key: {key!r} is an earlier entry's too; give one another key")
        found[key] = one
    return found


async def plan_seeding(fleet: Fleet, wanted: dict[str, Seed]) -> SeedingPlan:
    """Return what seeding these rules would do. Nothing is written."""
    found = await fleet.knowledge.store.find(Query(fleet.knowledge.paths.entries, {"tier": "constitutional"}))
    return seed_differences(wanted, [Entry.from_fields(document.fields) for document in found])


async def seed_rules(fleet: Fleet, wanted: dict[str, Seed], *, prune: bool) -> SeedingPlan:
    """Set these rules, each whole or not at all; with `prune` those that are not among them retire.

    Running it again changes nothing. Raises ForbiddenError unless the caller may curate, ConflictError while another
    change of shared knowledge runs, LeaseLostError when another run has taken over.
    """
    fleet.caller.require_curation()
    async with leased(fleet) as writer:
        if writer is None:
            raise ConflictError(ANOTHER_CHANGE_RUNS)
        plan = await plan_seeding(fleet, wanted)
        for key, one in {**plan.added, **plan.changed}.items():
            await _change_entry(fleet, writer, key, await _setting(fleet, key, one), why=one.why)
        for key in plan.missing if prune else ():
            await _change_entry(fleet, writer, key, partial(_turned, key, "retired"), why="no longer in the seed file")
        await _publish_if_behind(fleet, writer)
        return plan


async def retire_entry(fleet: Fleet, key: str, why: str, *, undo: bool = False) -> Retired:
    """Retire an entry, or bring a retired one back.

    Raises KnowledgeNotFoundError, ForbiddenError unless the caller may curate, ConflictError while another change of
    shared knowledge runs, LeaseLostError when another run has taken over.
    """
    fleet.caller.require_curation()
    status: EntryStatus = "active" if undo else "retired"
    await fleet.knowledge.found(key)
    async with leased(fleet) as writer:
        if writer is None:
            raise ConflictError(ANOTHER_CHANGE_RUNS)
        changed = await _change_entry(fleet, writer, key, partial(_turned, key, status), why=why)
        await _publish_if_behind(fleet, writer)
        return Retired(key, status, changed)


async def _publish_if_behind(fleet: Fleet, writer: FencedWriter) -> None:
    """Publish the changes of this call, and those that an earlier call stored but could not publish."""
    if await fleet.knowledge.snapshots.behind():
        await writer.publish()


async def _setting(fleet: Fleet, key: str, one: Seed) -> EntryChange:
    """Return the change that makes an entry say what a seed says; its vector is made once, before any race."""
    try:
        vector, engine = packed((await fleet.embedder.vectors([one.text]))[0]), fleet.embedder.name
    except EmbedderError:
        vector, engine = "", ""  # words still find it, and the next consolidation makes the vector
    now = fleet.now()

    def change(before: Entry | None) -> tuple[Entry, LedgerEvent] | None:
        return replace(seeded(key, one, before, now), vector=vector, embedder=engine), "seeded"

    return change


def _turned(key: str, status: EntryStatus, before: Entry | None) -> tuple[Entry, LedgerEvent] | None:
    if before is None:
        raise KnowledgeNotFoundError(key)
    if before.status == status:
        return None
    against = before.contradictions if status == "retired" else ()
    after = replace(before, status=status, contradictions=against, version=before.version + 1, unpublished=True)
    return after, "retired" if status == "retired" else "returned"


async def _change_entry(fleet: Fleet, writer: FencedWriter, key: str, change: EntryChange, *, why: str) -> bool:
    """Apply a change to an entry under the lease, with its line in the ledger; False when nothing changes."""

    async def attempt() -> bool:
        (versioned,) = await fleet.knowledge.read_versioned(key)
        changed = change(versioned.entry)
        if changed is None:
            return False
        after, event = changed
        line = LedgerLine(event=event, key=key, at=fleet.now(), by=fleet.caller.program_id or OPERATOR, why=why)
        await writer.commit(*fleet.knowledge.writes(versioned, after, line))
        return True

    return await retry_conflicts(attempt, f"entry {key}")
