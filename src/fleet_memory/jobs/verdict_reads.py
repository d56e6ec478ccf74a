"""The documents that a verdict reads, with the revisions that its commit must expect."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.rules.deciding import VerdictDocuments, moving_programs
from fleet_memory.rules.entries import JoiningLesson, better_text, candidate_of, keys_of
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy


class VerdictReads(NamedTuple):
    """The documents of one verdict with their revisions."""

    pair: VersionedPair
    programs: Mapping[str, VersionedProgram]
    entries: Mapping[str, VersionedEntry]

    def documents(self) -> VerdictDocuments:
        """Return the values alone."""
        known = {
            key: versioned.entry
            for key, versioned in self.entries.items()
            if versioned.entry is not None
        }
        return VerdictDocuments(
            {name: versioned.program for name, versioned in self.programs.items()}, known
        )


async def read_for_verdict(
    fleet: Fleet,
    versioned: VersionedPair,
    pair: Pair,
    judges: Sequence[VersionedProgram],
    policy: Policy,
) -> VerdictReads:
    """Read the documents that a verdict about `pair` may change.

    These are its programs, that of the agent that judges, its entries and the key of a new one; of
    two entries also the programs of the lessons that may move. `judges` has been read: that
    program, none for a person or a model. Billed 1 read each, at most 4 but for two entries.
    """
    sides = (pair.a, pair.b)
    known = {judge.program.program_id: judge for judge in judges}
    names = {side.program_id for side in sides if side.key is None}
    programs = {**known, **await _programs(fleet, names - known.keys())}
    keys = {side.key for side in sides if side.key is not None}
    lessons = [
        (side.program_id, pattern)
        for side in sides
        if side.key is None
        and (pattern := programs[side.program_id].program.patterns.get(side.pattern_id))
    ]
    keys |= {pattern.knowledge_key for _, pattern in lessons if pattern.knowledge_key}
    free = [
        JoiningLesson(name, pattern, "judged")
        for name, pattern in lessons
        if pattern.knowledge_key is None
    ]
    if len(free) == len(sides):
        keys |= set(keys_of(candidate_of(better_text(free), policy)))
    ordered = sorted(keys)
    entries = await fleet.knowledge.read_versioned(*ordered) if ordered else []
    if not free:
        moving = moving_programs(
            [versioned.entry for versioned in entries if versioned.entry is not None], pair.pair_id
        )
        programs |= await _programs(fleet, moving - programs.keys())
    return VerdictReads(versioned, programs, dict(zip(ordered, entries, strict=True)))


async def _programs(fleet: Fleet, names: Iterable[str]) -> dict[str, VersionedProgram]:
    ordered = sorted(set(names))
    programs = await fleet.programs.read_versioned(*ordered) if ordered else []
    return dict(zip(ordered, programs, strict=True))
