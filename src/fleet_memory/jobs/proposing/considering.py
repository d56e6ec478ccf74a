"""The end of a run for each program: its pairs, its vectors, and the stamp that it was considered, in one commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, StoreRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.proposing_memory import KnownLesson, known_lessons
from fleet_memory.repositories.retrying import attempt_each
from fleet_memory.rules.consensus.judging import Questions, questions
from fleet_memory.rules.consensus.renewing import closed
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Write

PROGRAMS_PER_COMMIT: Final = 20  # chosen; only the fields that changed are written


class PairChange(NamedTuple):
    """A pair to open, to renew or to close, and the program that caused it."""

    before: VersionedPair
    after: Pair
    owner: str


class Considered(NamedTuple):
    """A program's lessons as the run compared them, the ids that it considered, and new vectors by pattern id."""

    lessons: Sequence[KnownLesson]
    pending: Sequence[str]
    vectors: Mapping[str, str]


class Stamped(NamedTuple):
    """The programs and pairs as the run left them, and the programs that it skipped, by name."""

    programs: Sequence[Program]
    pairs: Sequence[Pair]
    skipped: Sequence[str]


def with_others_verdicts(change: PairChange, now: VersionedPair) -> PairChange | None:
    """Return the change for a pair that others may have judged since; None once there is nothing left to change."""
    if now.revision == change.before.revision:
        return change
    before = change.before.pair
    if now.pair is None or before is None or now.pair.state != before.state or questions(now.pair) == Questions():
        return None
    after = replace(now.pair, a=change.after.a, b=change.after.b, thirds=change.after.thirds)
    return change._replace(before=now, after=closed(after) if change.after.state == "gone" else after)


async def stamp_considered(
    fleet: Fleet, writer: FencedWriter, seen: Mapping[str, Considered], pairs: Sequence[PairChange], run: int
) -> Stamped:
    """Commit the pairs and stamp the programs with the number of the run.

    A lesson that changed since it was compared stays pending. Programs go together, 20 a commit; when somebody writes
    one of them, or judges one of their pairs, each goes alone with the pairs as they are then, and one that cannot be
    written is skipped and named. Billed 1 read and 1 write for each program, 1 write for each pair. Raises
    LeaseLostError.
    """
    changes: dict[str, list[PairChange]] = {name: [] for name in seen}
    for change in pairs:
        changes.setdefault(change.owner, []).append(change)
    names = sorted(changes)
    stamping = _Stamping(fleet, writer, seen, run, changes)
    skipped: list[str] = []
    for start in range(0, len(names), PROGRAMS_PER_COMMIT):
        batch = names[start : start + PROGRAMS_PER_COMMIT]
        try:
            await stamping.stamp(batch)
        except (ConflictError, StoreRejectedError, InvalidValueError):
            alone = await attempt_each(batch, stamping.stamp_alone, "program {}".format)
            skipped += [one.name for one in alone.skipped]
    return Stamped(stamping.programs, stamping.pairs, skipped)


@dataclass
class _Stamping:
    """The stamping of one run: the changes of pairs by program that are left, and the documents as they are since."""

    fleet: Fleet
    writer: FencedWriter
    seen: Mapping[str, Considered]
    run: int
    changes: dict[str, list[PairChange]]
    programs: list[Program] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)

    async def stamp(self, names: Sequence[str]) -> None:
        """Stamp programs and write their pairs in one commit."""
        owners = [name for name in names if name]  # "" has the pairs of entries that ask no program
        versioned = await self.fleet.programs.read_versioned(*owners)
        after = [_considered(one, self.seen.get(name), self.run) for name, one in zip(owners, versioned, strict=True)]
        changes = [one for name in names for one in self.changes[name]]
        writes: list[Write] = [self.fleet.pairs.write(one.before, one.after) for one in changes]
        for before, program in zip(versioned, after, strict=True):
            writes += self.fleet.programs.writes(before, program)
        await self.writer.commit(*writes)
        self.programs += after
        self.pairs += [one.after for one in changes]

    async def stamp_alone(self, name: str) -> None:
        """Stamp one program, and write its pairs with the verdicts that others gave since."""
        before = self.changes[name]
        found = await self.fleet.pairs.read(*(one.after.pair_id for one in before)) if before else []
        changes = [with_others_verdicts(one, now) for one, now in zip(before, found, strict=True)]
        self.pairs += [now.pair for change, now in zip(changes, found, strict=True) if change is None and now.pair]
        self.changes[name] = [one for one in changes if one is not None]
        await self.stamp([name])


def _considered(versioned: VersionedProgram, seen: Considered | None, run: int) -> Program:
    """Return the program without the pending ids of lessons that are as they were compared."""
    program = versioned.program
    if seen is None:
        return program
    compared = {one.comparable.lesson_id: _compared(one) for one in seen.lessons}
    present = {one.comparable.lesson_id: _compared(one) for one in known_lessons(program)}
    done = {id_ for id_ in seen.pending if compared.get(id_) == present.get(id_)}
    patterns = dict(program.patterns)
    for id_, vector in seen.vectors.items():
        if id_ in done and id_ in patterns:
            patterns[id_] = replace(patterns[id_], vector=vector, embedder=_engine(seen, id_))
    pending = tuple(id_ for id_ in program.pending if id_ not in done)
    return replace(program, patterns=patterns, pending=pending, run=run)


def _compared(lesson: KnownLesson) -> tuple[object, ...]:
    return lesson.comparable, lesson.stale_at, lesson.knowledge_key


def _engine(seen: Considered, pattern_id: str) -> str:
    return next(one.embedder for one in seen.lessons if one.comparable.lesson_id == pattern_id)
