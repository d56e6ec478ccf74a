"""Carrying out what consolidation decided: atomic commits under the lease, whole or absent after a kill."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.consensus.marks import is_as_compared, with_entry
from fleet_memory.rules.consensus.waiting import considered
from fleet_memory.rules.knowledge.promotion import Waiting, attached, entry_of, is_independent, returned
from fleet_memory.rules.knowledge.status import confirmed_by_echo
from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.waiting import Learnt
from fleet_memory.stores import Write

CONSOLIDATOR: Final = "consolidation"
PROMOTIONS_PER_COMMIT: Final = 20  # chosen; each promotion is whole or absent, however many share a commit
MAX_NAMED: Final = 3  # programs that a message names; chosen
PROGRAMS_PER_COMMIT: Final = 50  # chosen; only the fields that changed are written


class Decided(NamedTuple):
    """A group to promote: its lessons, the position of the one that speaks, each one's cosine to it, and why."""

    members: Sequence[Learnt]
    text: int
    similarities: Sequence[float]
    why: str


class Seen(NamedTuple):
    """A program as a run read it, and with the vectors that the run made for it."""

    versioned: VersionedProgram
    program: Program


class Promoted(NamedTuple):
    """An entry that was made, from which group."""

    entry: Entry
    decided: Decided


class Attached(NamedTuple):
    """An entry after a lesson met it; `echo` when the lesson confirmed it without a vote."""

    entry: Entry
    echo: bool


class Promoter:
    """Carries out the decisions of one consolidation by its writer; a dry run gives the same answers."""

    def __init__(self, writer: FencedWriter, programs: Programs, knowledge: Knowledge) -> None:
        self._writer = writer
        self._programs = programs
        self._knowledge = knowledge
        self._seen: Mapping[str, Program] = {}  # as the run read them, with the vectors it made
        # as they are, unless somebody wrote since: then a commit fails
        self._current: dict[str, VersionedProgram] = {}
        self._written: dict[str, Program] = {}  # as this run wrote them, of a revision that it does not know
        self._unwritten: dict[str, Entry] = {}  # the entries that a dry run would have written

    def look_at(self, programs: Sequence[Seen]) -> None:
        """Work with these programs from here on, as they were read."""
        self._seen = {seen.program.program_id: seen.program for seen in programs}
        self._current = {seen.program.program_id: seen.versioned for seen in programs}

    async def promote(self, decided: Sequence[Decided], *, now: datetime) -> list[Promoted]:
        """Make groups knowledge: the entry, the mark on every contributor and the ledger line, or nothing of it.

        A group of which a lesson changed since is left to the next run. Raises LeaseLostError, and ConflictError when
        every race was lost.
        """
        made: list[Promoted] = []
        for start in range(0, len(decided), PROMOTIONS_PER_COMMIT):
            batch = decided[start : start + PROMOTIONS_PER_COMMIT]
            names = sorted({lesson.program_id for group in batch for lesson in group.members})
            made += await retry_conflicts(partial(self._promote_once, batch, names, now), named_programs(names))
        return made

    async def attach(self, lesson: Learnt, key: str, similarity: float, *, now: datetime) -> Attached | None:
        """Attach a lesson to an entry: a contributor if its origin is independent, else an echo that confirms.

        Returns None when the lesson or the entry changed since. Raises LeaseLostError, and ConflictError when every
        race was lost.
        """
        document = f"entry {key} or program {lesson.program_id}"
        return await retry_conflicts(partial(self._attach_once, lesson, key, similarity, now), document)

    async def clear(self, looked_at: set[str]) -> None:
        """Record that the programs known from this run were considered, in some domains; what changed since waits."""
        names = list(self._seen)
        for start in range(0, len(names), PROGRAMS_PER_COMMIT):
            batch = names[start : start + PROGRAMS_PER_COMMIT]
            if not await self._clear_once(await self._read_versioned(batch), looked_at):
                for versioned in await self._read_versioned(batch):
                    # one that is written at this moment waits for the next run
                    await self._clear_once([versioned], looked_at)

    async def _promote_once(self, batch: Sequence[Decided], names: Sequence[str], now: datetime) -> list[Promoted]:
        before = {versioned.program.program_id: versioned for versioned in await self._read_versioned(names)}
        valid = [
            group
            for group in batch
            if all(is_as_compared(before[lesson.program_id].program, lesson) for lesson in group.members)
        ]
        programs = {name: versioned.program for name, versioned in before.items()}
        made, writes, after = await self._made(valid, programs, now)
        writes += [write for name, program in after.items() for write in self._programs.writes(before[name], program)]
        if made:
            await self._commit(writes, after, [promoted.entry for promoted in made])
        return made

    async def _attach_once(self, lesson: Learnt, key: str, similarity: float, now: datetime) -> Attached | None:
        (versioned,) = await self._read_versioned([lesson.program_id])
        before = await self._read_versioned_entry(key)
        known = before.entry
        if known is None or known.status == "retired" or not is_as_compared(versioned.program, lesson):
            return None
        fresh = Waiting(lesson.program_id, versioned.program.patterns[lesson.pattern_id])
        echo = not is_independent(known, fresh)
        entry = confirmed_by_echo(known, fresh.pattern) if echo else attached(known, fresh, similarity, now=now)
        event: LedgerEvent = "confirmed" if echo else "attached"
        why = "echo: no vote" if echo else f"cosine {similarity:.2f}"
        line = LedgerLine(event=event, key=key, at=now, by=CONSOLIDATOR, why=why, patterns=_names([lesson]))
        after = with_entry(versioned.program, lesson.pattern_id, key, echo=echo)
        writes = [*self._knowledge.writes(before, entry, line), *self._programs.writes(versioned, after)]
        await self._commit(writes, {lesson.program_id: after}, [entry])
        return Attached(entry, echo)

    async def _made(
        self, batch: Sequence[Decided], programs: Mapping[str, Program], now: datetime
    ) -> tuple[list[Promoted], list[Write], dict[str, Program]]:
        """Return the entries of a batch, the writes of entries and ledger lines, and the programs with their marks."""
        made: list[Promoted] = []
        writes: list[Write] = []
        after = dict(programs)
        for decided in batch:
            fresh = [
                Waiting(member.program_id, after[member.program_id].patterns[member.pattern_id])
                for member in decided.members
            ]
            drafted = entry_of(fresh, decided.text, decided.similarities, now=now)
            before, entry, event = await self._entry(drafted, made)
            names = _names(decided.members)
            line = LedgerLine(event=event, key=entry.key, at=now, by=CONSOLIDATOR, why=decided.why, patterns=names)
            writes += self._knowledge.writes(before, entry, line)
            for lesson in decided.members:
                after[lesson.program_id] = with_entry(after[lesson.program_id], lesson.pattern_id, entry.key)
            made.append(Promoted(entry, decided))
        return made, writes, after

    async def _entry(self, entry: Entry, made: Sequence[Promoted]) -> tuple[VersionedEntry, Entry, LedgerEvent]:
        """Return the entry to write and what its key holds: nothing, or a retired entry of the same words."""
        before = await self._read_versioned_entry(entry.key)
        words = text_hash(entry.value.pattern)
        if before.entry and before.entry.status == "retired" and text_hash(before.entry.value.pattern) == words:
            return before, returned(before.entry, entry), "returned"
        if before.entry is None and all(entry.key != other.entry.key for other in made):
            return before, entry, "promoted"
        sources = [f"{line.program_id}/{line.pattern_id}" for line in entry.provenance]
        other = replace(entry, key=f"{entry.key}-{digest(entry.value.pattern, *sources)[:6]}")
        return await self._read_versioned_entry(other.key), other, "promoted"

    async def _read_versioned_entry(self, key: str) -> VersionedEntry:
        (versioned,) = await self._knowledge.read_versioned(key)
        return VersionedEntry(self._unwritten.get(key, versioned.entry), versioned.revision)

    async def _clear_once(self, before: Sequence[VersionedProgram], looked_at: set[str]) -> bool:
        """Record these programs as considered; False when somebody else wrote one of them first."""
        after = {
            program.program_id: considered(program, self._seen[program.program_id], looked_at) for program, _ in before
        }
        writes = [
            write
            for versioned in before
            for write in self._programs.writes(versioned, after[versioned.program.program_id])
        ]
        try:
            if writes:
                await self._commit(writes, after)
        except ConflictError:
            return False
        return True

    async def _read_versioned(self, names: Sequence[str]) -> list[VersionedProgram]:
        """Return programs as they are. A current one is not read, one that this run wrote itself is not decoded."""
        unknown = [name for name in names if name not in self._current]
        fresh = await self._programs.reread_versioned(self._written, *unknown) if unknown else []
        self._current |= {versioned.program.program_id: versioned for versioned in fresh}
        return [self._current[name] for name in names]

    async def _commit(
        self, writes: Sequence[Write], after: Mapping[str, Program], entries: Sequence[Entry] = ()
    ) -> None:
        """Commit, and remember the programs as they are now; after a lost race they are read again."""
        for name in after:
            self._current.pop(name, None)
        await self._writer.commit(*writes)
        self._written |= after
        if self._writer.is_dry_run:
            self._unwritten |= {entry.key: entry for entry in entries}


def _names(lessons: Iterable[Learnt]) -> tuple[str, ...]:
    return tuple("/".join(lesson.place) for lesson in lessons)


def named_programs(names: Sequence[str]) -> str:
    """Return names for a message, e.g. "programs a, b, c and 17 more"."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return f"program{'s' if len(names) > 1 else ''} {', '.join(names[:MAX_NAMED])}{more}"
