"""Reads for a run: the programs that changed, or all of them when the server is cold; the entries;
the open pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from anyio import to_thread

from fleet_memory.fleet import Fleet, Progress
from fleet_memory.jobs.proposing.considering import stamp
from fleet_memory.jobs.proposing.yielding import leave_out_known
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.last_run import LastRun, VersionedLastRun
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.rules.entries import is_empty, oldest_contributor
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import Write

MAX_RUNS_BEHIND: Final = (
    20  # runs of other servers that a warm one reads up on; behind more it starts again. Chosen
)
# a warm server finds answers that are overdue, and reinforcements, which no run waits for, no
# later. Chosen
READ_AGAIN_AFTER: Final = timedelta(days=1)
PROGRAMS_PER_READ: Final = 10  # chosen: a call waits for one read, and 10 programs are some 15 ms


@dataclass(frozen=True)
class KnownEntry:
    """An entry as comparing needs it. `asked` is the program that is asked about its pairs."""

    comparable: ComparableLesson
    vector: bytes
    embedder: str
    is_retired: bool
    asked: str


@dataclass
class FleetView:
    """The input of a run: the lessons to consider, by program; every entry, and the candidates
    among them.

    No candidates while nothing has changed that could publish one. `stamps` are those of programs
    that are as read.
    """

    last: VersionedLastRun
    pending: dict[str, Sequence[str]] = field(default_factory=dict)
    entries: dict[str, KnownEntry] = field(default_factory=dict)
    candidates: list[VersionedEntry] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    stamps: dict[str, Sequence[Write]] = field(default_factory=dict)

    @property
    def run(self) -> int:
        """The number of this run."""
        return self.last.last.run + 1

    @property
    def is_whole(self) -> bool:
        """Whether this run considers every lesson, because some came from another fleet's store."""
        return self.last.last.considered != self.last.last.epoch

    def new_keys(self, memory: ProposingMemory) -> set[str]:
        """Return the keys of the entries that lessons to be considered have joined since."""
        return {
            lesson.knowledge_key
            for name, pending in self.pending.items()
            for lesson in memory.lessons[name]
            if lesson.knowledge_key is not None and lesson.comparable.lesson_id in pending
        }


async def read_fleet(
    fleet: Fleet, memory: ProposingMemory, policy: Policy, progress: Progress
) -> FleetView:
    """Bring the memory up to date, and return the lessons to consider.

    Billed 1 read for each program that changed or that another server's run considered since, all
    of them on a cold server and once a day; 2 queries and their pairs for each of these, 3 queries
    for all pairs where all programs are read; 1 query for the entries that the snapshot is behind,
    and 1 read for each candidate if a program, an entry or the policy has changed since the last
    run.
    """
    view = FleetView(await fleet.last_runs.read())
    last = view.last.last
    behind = last.run - memory.run
    is_old = memory.pairs_at is not None and fleet.now() - memory.pairs_at >= READ_AGAIN_AFTER
    if view.is_whole or memory.epoch != last.epoch or is_old or not 0 <= behind <= MAX_RUNS_BEHIND:
        memory.forget()
    if memory.is_cold:
        await _read_everything(fleet, memory, view, progress)
    elif await _read_changes(fleet, memory, view, last) or policy != memory.policy:
        memory.candidates = None
    memory.epoch, memory.run = last.epoch, last.run
    await _read_entries(fleet, memory, view)
    return view


async def _read_everything(
    fleet: Fleet, memory: ProposingMemory, view: FleetView, progress: Progress
) -> None:
    """Read every program; report whenever twice as many were read as at the report before."""
    reported = PROGRAMS_PER_READ
    async for block in fleet.programs.in_blocks(PROGRAMS_PER_READ):
        view.unreadable += [str(unreadable) for unreadable in block.unreadable]
        await _take_up(fleet, block.programs, memory, view)
        del block
        if len(memory.lessons) >= 2 * reported:
            await progress(
                1 - reported / len(memory.lessons), 4, f"reading: {len(memory.lessons)} programs"
            )
            reported = len(memory.lessons)
        leave_out_known()
    await _read_pairs(fleet, memory)


async def _read_pairs(fleet: Fleet, memory: ProposingMemory) -> None:
    memory.pairs = {pair.pair_id: pair for pair in await fleet.pairs.waiting()}
    memory.pairs_at = fleet.now()


async def _read_changes(
    fleet: Fleet, memory: ProposingMemory, view: FleetView, last: LastRun
) -> bool:
    """Take up the programs that changed; return whether there are any."""
    changed = list(await fleet.programs.dirty())
    for run in range(
        memory.run + 1, last.run + 2
    ):  # a run that ended before its note stamped with the next number
        changed += await fleet.programs.considered_in(run)
    names = sorted({versioned.program.program_id for versioned in changed})
    for start in range(0, len(changed), PROGRAMS_PER_READ):
        await _take_up(fleet, changed[start : start + PROGRAMS_PER_READ], memory, view)
    waiting = [pair for name in names for pair in await fleet.pairs.waiting_of(name)]
    memory.remember_pairs(names, (versioned.pair for versioned in waiting if versioned.pair))
    return bool(changed)


async def _take_up(
    fleet: Fleet, block: Sequence[VersionedProgram], memory: ProposingMemory, view: FleetView
) -> None:
    """Remember programs in a thread: other calls go on meanwhile."""
    await to_thread.run_sync(_remember, fleet.programs, block, memory, view)


def _remember(
    programs: Programs, block: Sequence[VersionedProgram], memory: ProposingMemory, view: FleetView
) -> None:
    for versioned in block:
        program = versioned.program
        memory.remember(program)
        every = program.patterns if view.is_whole else ()
        if pending := tuple(dict.fromkeys((*program.pending, *every))):
            view.pending[program.program_id] = pending
            view.stamps[program.program_id] = stamp(programs, versioned, view.run)


async def _read_entries(fleet: Fleet, memory: ProposingMemory, view: FleetView) -> None:
    rows = (await fleet.knowledge.snapshots.read()).rows
    view.entries = {row.key: _of_row(row) for row in rows if row.state != "candidate"}
    behind = await fleet.knowledge.behind()
    if memory.candidates is None or behind:
        memory.candidates = view.candidates = await fleet.knowledge.in_state("candidate")
    remembered = [
        candidate
        for candidate in memory.candidates
        if candidate.entry and candidate.entry.key not in view.entries
    ]
    for versioned in (*remembered, *behind, *view.candidates):
        if versioned.entry is not None and is_empty(versioned.entry):
            view.entries.pop(versioned.entry.key, None)
        elif versioned.entry is not None:
            view.entries[versioned.entry.key] = known_entry(versioned.entry)


def _of_row(row: KnowledgeRow) -> KnownEntry:
    lesson = ComparableLesson(
        "", row.key, row.domain, row.pattern, text_hash(row.pattern), row.project_id
    )
    return KnownEntry(
        lesson, vector_bytes(row.vector), row.embedder, row.state == "retired", row.asked
    )


def known_entry(entry: Entry) -> KnownEntry:
    """Return an entry as comparing needs it."""
    value = entry.value
    lesson = ComparableLesson(
        "", entry.key, value.domain, value.pattern, text_hash(value.pattern), entry.project_id
    )
    return KnownEntry(
        lesson,
        vector_bytes(entry.vector),
        entry.embedder,
        entry.retired_at is not None,
        oldest_contributor(entry),
    )


def by_words(entries: Mapping[str, KnownEntry]) -> dict[str, list[ComparableLesson]]:
    """Return the entries by the hash of their words."""
    comparables: dict[str, list[ComparableLesson]] = {}
    for entry in entries.values():
        comparables.setdefault(entry.comparable.words, []).append(entry.comparable)
    return comparables
