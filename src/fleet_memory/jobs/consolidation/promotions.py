"""Carrying out what consolidation decided: atomic commits under the lease, whole or absent after a kill."""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

import anyio

from fleet_memory.errors import ConflictError
from fleet_memory.repositories.batching import batches
from fleet_memory.repositories.entry_codec import VersionedEntry
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.leases import Lease, refreshed
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.rules.consensus.waiting import considered, touched
from fleet_memory.rules.knowledge.promotion import Waiting, attached, entry_of, independent_origins, is_echo, returned
from fleet_memory.rules.knowledge.status import confirmed_by_echo
from fleet_memory.rules.text.keys import digest, text_hash
from fleet_memory.schemas.knowledge import Entry, LedgerEvent, LedgerLine
from fleet_memory.schemas.patterns import Verdict
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.schemas.waiting import Learnt
from fleet_memory.stores import Write

CONSOLIDATOR: Final = "consolidation"
PROMOTIONS_PER_COMMIT: Final = 20  # promotions in one commit; each of them is whole or absent all the same
PROGRAMS_PER_COMMIT: Final = 50  # programs in one commit
_RETRY_FOR_S: Final = 20.0  # seconds of losing races


class Decided(NamedTuple):
    """A group to promote: its lessons, the position of the one that speaks, each one's cosine to it, and why."""

    members: Sequence[Learnt]
    text: int
    similarities: Sequence[float]
    why: str


class Seen(NamedTuple):
    """A program as a run read it, and with the vectors that the run made for it."""

    held: VersionedProgram
    program: Program


class Promoted(NamedTuple):
    """An entry that was made, from which group."""

    entry: Entry
    decided: Decided


class Attached(NamedTuple):
    """An entry after a lesson met it; `echo` when the lesson confirmed it without a vote."""

    entry: Entry
    echo: bool


class ConsolidatedProgram(NamedTuple):
    """A program after consolidation touched it; nothing is archived."""

    program: Program
    archived: tuple[Archived, ...] = ()


class Promotions:
    """The hands of one consolidation; every commit carries the fence of its lease. Without one nothing is written."""

    def __init__(
        self,
        programs: Programs,
        knowledge: Knowledge,
        lease: Lease | None = None,
        until: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._programs = programs
        self._knowledge = knowledge
        self.lease = lease
        self._until = until  # every commit moves the lease's end there
        self._seen: Mapping[str, Program] = {}  # as the run read them, with the vectors it made
        # as they are, unless somebody wrote meanwhile: then a commit tells
        self._holding: dict[str, VersionedProgram] = {}
        self._known: dict[str, Program] = {}  # as this run wrote them, of a revision that it does not know
        self._imagined: dict[str, Entry] = {}  # what a dry run would have written, so that its answers add up

    def look_at(self, programs: Sequence[Seen]) -> None:
        """Work with these programs from here on, as they were read."""
        self._seen = {seen.program.program_id: seen.program for seen in programs}
        self._holding = {seen.program.program_id: seen.held for seen in programs}

    async def promote(self, decided: Sequence[Decided], *, now: datetime) -> list[Promoted]:
        """Make groups knowledge: the entry, the mark on every contributor and the ledger line, or nothing of it.

        A group of which a lesson changed meanwhile is left to the next run. Raises ConflictError when the lease was
        lost, or every race.
        """
        made: list[Promoted] = []
        for start in range(0, len(decided), PROMOTIONS_PER_COMMIT):
            made += await self._repeated(decided[start : start + PROMOTIONS_PER_COMMIT], now)
        return made

    async def attach(self, lesson: Learnt, key: str, similarity: float, *, now: datetime) -> Attached | None:
        """Attach a lesson to an entry: a contributor if its origin is independent, else an echo that confirms.

        Returns None when the lesson or the entry changed meanwhile. Raises ConflictError when the lease was lost, or
        every race.
        """
        end = time.monotonic() + _RETRY_FOR_S
        while True:
            held = (await self._read_versioned([lesson.program_id]))[0]
            before = await self._read_versioned_entry(key)
            if before.entry is None or before.entry.status == "retired" or not _still_so(held, lesson):
                return None
            fresh = Waiting(lesson.program_id, held.program.patterns[lesson.pattern_id])
            echo = not _independent(before.entry, fresh)
            entry = (
                confirmed_by_echo(before.entry, fresh.pattern)
                if echo
                else attached(before.entry, fresh, similarity, now=now)
            )
            event: LedgerEvent = "confirmed" if echo else "attached"
            why = "echo: no vote" if echo else f"cosine {similarity:.2f}"
            line = LedgerLine(event=event, key=key, at=now, by=CONSOLIDATOR, why=why, patterns=_names([lesson]))
            after = _marked(held.program, lesson, key, echo=echo)
            writes = [*self._knowledge.writes(before, entry, line), *self._programs.writes(held, after)]
            if await self._committed(writes, {lesson.program_id: after}, [entry]):
                return Attached(entry, echo)
            await _pause(end)

    async def clear(self, looked_at: set[str]) -> None:
        """Record that the programs known from this run were considered, in some domains; what changed since waits."""
        names = list(self._seen)
        for start in range(0, len(names), PROGRAMS_PER_COMMIT):
            batch = names[start : start + PROGRAMS_PER_COMMIT]
            held = await self._read_versioned(batch)
            if not await self._cleared(held, looked_at):
                for one in await self._read_versioned(batch):
                    await self._cleared([one], looked_at)  # one that is written at this moment waits for the next run

    async def judge(self, program_id: str, pattern_id: str, other: str, verdict: Verdict) -> None:
        """Record a verdict about a program's pattern and the lesson whose text hash is `other`."""
        await self._programs.update(
            program_id, lambda program: with_verdict(program, pattern_id, other, verdict), verdict.at
        )

    async def publish(self, *, consolidated_at: datetime | None = None) -> None:
        """Bring the snapshot that boot reads up to date; an entry that moves meanwhile makes it start over.

        Raises ConflictError when the lease was lost, or every race.
        """
        end = time.monotonic() + _RETRY_FOR_S
        while self.lease is not None:
            made = await self._knowledge.snapshots.publication(consolidated_at=consolidated_at)
            # A draft may not be missing, and an overtaken worker may not write one over its successor's.
            drafted = all([await self.commit(*drafts) for drafts in batches(made.drafts)])
            if not drafted or not await self.commit(*made.switch):
                await _pause(end)
            elif made.complete:
                return

    async def commit(self, *writes: Write, imagined: Sequence[Entry] = ()) -> bool:
        """Commit under the fence. False when somebody else wrote first; raises ConflictError when the lease is lost."""
        if self.lease is None:
            self._imagined |= {entry.key: entry for entry in imagined}
            return True
        try:
            await self._knowledge.store.commit(self.lease.guard(self._until()), *writes)
        except ConflictError:
            self.lease = await refreshed(self._knowledge.store, self.lease)
            return False
        self.lease = await refreshed(self._knowledge.store, self.lease)
        return True

    async def _repeated(self, batch: Sequence[Decided], now: datetime) -> list[Promoted]:
        end = time.monotonic() + _RETRY_FOR_S
        while True:
            names = sorted({lesson.program_id for decided in batch for lesson in decided.members})
            held = {one.program.program_id: one for one in await self._read_versioned(names)}
            valid = [d for d in batch if all(_still_so(held[lesson.program_id], lesson) for lesson in d.members)]
            made, writes, after = await self._made(valid, {name: one.program for name, one in held.items()}, now)
            writes += [write for name, program in after.items() for write in self._programs.writes(held[name], program)]
            if not made or await self._committed(writes, after, [promoted.entry for promoted in made]):
                return made
            await _pause(end)

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
                after[lesson.program_id] = _marked(after[lesson.program_id], lesson, entry.key)
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
        held = (await self._knowledge.read_versioned(key))[0]
        return VersionedEntry(self._imagined.get(key, held.entry), held.document)

    async def _cleared(self, held: Sequence[VersionedProgram], looked_at: set[str]) -> bool:
        after = {
            one.program.program_id: considered(one.program, self._seen[one.program.program_id], looked_at)
            for one in held
        }
        writes = [write for one in held for write in self._programs.writes(one, after[one.program.program_id])]
        return not writes or await self._committed(writes, after)

    async def _read_versioned(self, names: Iterable[str]) -> list[VersionedProgram]:
        """Return programs as they are. One that this run holds is not read, one it wrote itself is not decoded."""
        wanted = list(names)
        unknown = [name for name in wanted if name not in self._holding]
        read = await self._programs.reread_versioned(self._known, *unknown) if unknown else []
        self._holding |= {held.program.program_id: held for held in read}
        return [self._holding[name] for name in wanted]

    async def _committed(
        self, writes: Sequence[Write], after: Mapping[str, Program], imagined: Sequence[Entry] = ()
    ) -> bool:
        """Commit, and remember the programs as they are now; after a lost race they are read again."""
        done = await self.commit(*writes, imagined=imagined)
        for name in after:
            self._holding.pop(name, None)
        if done:
            self._known |= after
        return done


def with_verdict(program: Program, pattern_id: str, other: str, verdict: Verdict) -> ConsolidatedProgram:
    """Return the program with a verdict about one of its patterns and the text hash `other`."""
    pattern = program.patterns.get(pattern_id)
    if pattern is None or pattern.verdicts.get(other) == verdict:
        return ConsolidatedProgram(program)
    marked = replace(pattern, verdicts={**pattern.verdicts, other: verdict})
    patterns = {**program.patterns, pattern_id: marked}
    return ConsolidatedProgram(replace(program, patterns=patterns, touched=touched(program, pattern.domain)))


def _marked(program: Program, lesson: Learnt, key: str, *, echo: bool = False) -> Program:
    """Return the program with one lesson in an entry. Its domain stays touched until the shards say so too."""
    id_ = lesson.pattern_id
    pattern = program.patterns[id_]
    return replace(
        program,
        patterns={**program.patterns, id_: replace(pattern, knowledge_key=key, echo=echo)},
        pending=tuple(name for name in program.pending if name != id_),
        touched=touched(program, pattern.domain),
    )


def _still_so(held: VersionedProgram, lesson: Learnt) -> bool:
    now = held.program.patterns.get(lesson.pattern_id)
    return now is not None and now.knowledge_key is None and (now.pattern, now.domain) == (lesson.text, lesson.domain)


def _independent(entry: Entry, lesson: Waiting) -> bool:
    if lesson.program_id in entry.value.contributors or is_echo(lesson.pattern, entry.since):
        return False
    if entry.tier == "constitutional":
        return False  # people set it, and need no votes
    before = [(line.program_id, line.session_id) for line in entry.provenance]
    return independent_origins([*before, (lesson.program_id, lesson.pattern.session_id)]) > independent_origins(before)


def _names(lessons: Iterable[Learnt]) -> tuple[str, ...]:
    return tuple("/".join(lesson.place) for lesson in lessons)


async def _pause(end: float) -> None:
    if time.monotonic() > end:
        raise ConflictError("The programs concerned are being written without a pause; call again later.")
    await anyio.sleep(random.uniform(0, 0.05))  # noqa: S311 - jitter between racing writers, not a secret
