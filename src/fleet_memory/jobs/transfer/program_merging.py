"""Reads the store's copy of a program and merges it with the one that comes in, and the words of
both about lessons.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.transfer.incoming import Incoming
from fleet_memory.repositories.archive import archive_record
from fleet_memory.repositories.batching import groups_of
from fleet_memory.repositories.history import MAX_SUMMARIES
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.unreadable import iter_readable
from fleet_memory.rules.consensus.merging import merged_pair
from fleet_memory.rules.knowledge.grounds import Grounds, pairs_behind
from fleet_memory.rules.lifecycle.merging import (
    MergedProgram,
    Merging,
    merged_program,
    with_other_keys,
)
from fleet_memory.rules.lifecycle.merging_states import Stating
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import PastSummary, Program

_PAIRS_AT_ONCE: Final = 50  # chosen, as `jobs.transfer.merging` writes


class ProgramMerging:
    """Merges programs of one import with those of the fleet."""

    def __init__(self, fleet: Fleet, now: datetime, *, overwrite: bool) -> None:
        self._programs = fleet.programs
        self._now = now
        self._overwrite = overwrite

    async def merged(self, theirs: Stating) -> tuple[VersionedProgram, MergedProgram]:
        """Return a program as it is in the store, and merged. Billed 1 read, and 1 each page,
        summary and record.
        """
        programs, name = self._programs, theirs.program.program_id
        (before,) = await programs.read_many(name)
        mine = Stating(before.program, await programs.history.newest(before.program, MAX_SUMMARIES))
        archive = list(iter_readable(await programs.archive.of_program(name), archive_record))
        return before, merged_program(
            mine, theirs, Merging(archive, self._now, self._overwrite, MAX_SUMMARIES)
        )


def stated_programs(incoming: Incoming, keys: Mapping[str, str]) -> dict[str, Stating]:
    """Return the incoming programs by id, with the keys that their entries have here."""
    summaries: dict[str, list[PastSummary]] = {}
    for past in incoming.history:
        summaries.setdefault(past.program_id, []).append(past)
    return {
        program.program_id: Stating(
            with_other_keys(program, keys), summaries.get(program.program_id, ())
        )
        for program in incoming.programs
    }


def concerned(
    entries: Iterable[Entry], stated: Mapping[str, Stating], pairs: Mapping[str, Pair]
) -> list[Entry]:
    """Return the entries with a contribution of a program that comes in, or with a pair about
    one.
    """
    return [
        entry
        for entry in entries
        if any(line.program_id in stated for line in entry.provenance)
        or pairs_behind(entry) & pairs.keys()
    ]


async def read_grounds(
    fleet: Fleet,
    entries: Sequence[Sequence[Entry]],
    stated: Mapping[str, Stating],
    pairs: Mapping[str, Pair],
    merging: ProgramMerging,
) -> Grounds:
    """Return both stores' knowledge of the lessons behind `entries`, each with its copies; of
    programs only these.

    `stated` are incoming programs by id, `pairs` incoming pairs by id. Billed as
    `ProgramMerging.merged` for each program, and 1 read for each pair.
    """
    named: dict[str, set[str]] = {}
    for line in (line for copies in entries for copy in copies for line in copy.provenance):
        named.setdefault(line.program_id, set()).add(line.pattern_id)
    programs: dict[str, Program] = {}
    here: dict[str, Mapping[str, datetime]] = {}
    there: dict[str, Mapping[str, datetime]] = {}
    for name, ids in named.items():
        theirs = stated.get(name, Stating(Program(program_id=name)))
        before, merged = await merging.merged(theirs)
        here[name], there[name] = before.program.shown, theirs.program.shown
        lessons = {id_: pattern for id_, pattern in merged.program.patterns.items() if id_ in ids}
        programs[name] = Program(program_id=name, patterns=lessons, shown=merged.program.shown)
    wanted = {id_ for copies in entries for id_ in pairs_behind(*copies)}
    known = {id_: pairs[id_] for id_ in wanted & pairs.keys()}
    for some in groups_of(_PAIRS_AT_ONCE, sorted(wanted)):
        for versioned in await fleet.pairs.read(*some):
            if versioned.pair is not None:
                theirs_too = pairs.get(versioned.pair_id)
                known[versioned.pair_id] = (
                    merged_pair(versioned.pair, theirs_too) if theirs_too else versioned.pair
                )
    return Grounds(programs, known, here, there)
