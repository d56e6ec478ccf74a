"""Moves a memory to the configured embedder: what `fleet-memory reembed` does.

It can be stopped at any moment and run again: what has a vector of the embedder already is left alone. Until it is
done, lessons without one are found by their words; the next run compares all that got one with each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from fleet_memory.errors import EmbedderError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity import Embedder
from fleet_memory.stores import Query


class Moved(NamedTuple):
    """How much got a new vector."""

    embedder: str
    patterns: int
    entries: int


async def reembed_fleet(fleet: Fleet, step: CountProgress) -> Moved:
    """Give everything a vector of the configured embedder. Raises EmbedderError when it cannot load or answer."""
    await fleet.embedder.ready()
    if fleet.embedder.degraded:
        raise EmbedderError(f"{fleet.embedder.degraded} Nothing was changed.")
    programs = await fleet.programs.all()
    entries = await fleet.knowledge.store.find(Query(fleet.knowledge.paths.entries))
    patterns = 0
    for done, versioned in enumerate(programs, 1):
        patterns += await _program(fleet, versioned)
        step(done, len(programs) + len(entries))
    behind = [str(document.fields["key"]) for document in entries if _behind(document.fields, fleet.embedder)]
    for done, key in enumerate(behind, 1):
        await _entry(fleet, key)
        step(len(programs) + done, len(programs) + len(entries))
    return Moved(fleet.embedder.name, patterns, len(behind))


def _behind(fields: Mapping[str, object], embedder: Embedder) -> bool:
    return fields.get("embedder") != embedder.name


async def _program(fleet: Fleet, versioned: VersionedProgram) -> int:
    """Give one program's patterns new vectors; one whose text changes meanwhile has its own by then."""
    name = fleet.embedder.name
    old = [pattern for pattern in versioned.program.patterns.values() if pattern.embedder != name]
    if not old:
        return 0
    made = [packed(row) for row in await fleet.embedder.vectors([pattern.pattern for pattern in old])]
    await fleet.programs.update(
        versioned.program.program_id, lambda program: _changed(program, old, made, name), fleet.now()
    )
    return len(old)


def _changed(program: Program, old: Sequence[Pattern], made: Sequence[str], embedder: str) -> ProgramChange:
    renewed = {
        before.id: replace(pattern, vector=vector, embedder=embedder)
        for before, vector in zip(old, made, strict=True)
        if (pattern := program.patterns.get(before.id)) and pattern.pattern == before.pattern
    }
    if not renewed:
        return ProgramChange(program)
    # The maintainer compares them with all others again: new vectors, new neighbours.
    return ProgramChange(
        replace(program, patterns={**program.patterns, **renewed}, pending=(*program.pending, *renewed))
    )


async def _entry(fleet: Fleet, key: str) -> None:
    versioned = (await fleet.knowledge.read_versioned(key))[0]
    if versioned.entry is not None:
        vector = packed((await fleet.embedder.vectors([versioned.entry.value.pattern]))[0])
        await fleet.knowledge.update_without_ledger(key, lambda entry: _with_vector(entry, vector, fleet.embedder.name))


def _with_vector(entry: Entry, vector: str, embedder: str) -> Entry:
    return replace(entry, vector=vector, embedder=embedder, unpublished=True)
