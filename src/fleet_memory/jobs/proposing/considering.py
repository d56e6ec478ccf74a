"""The end of a run for each program: its pairs, its vectors, and the stamp that it was considered, in one commit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, StoreRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.proposing_memory import KnownLesson, known_lessons
from fleet_memory.repositories.retrying import attempt_each
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Write

PROGRAMS_PER_COMMIT: Final = 20  # chosen; only the fields that changed are written


class PairChange(NamedTuple):
    """A pair to open, to renew or to close, and the program whose consideration brought that about."""

    before: VersionedPair
    after: Pair
    owner: str


class Considered(NamedTuple):
    """A program's lessons as the run compared them, the ids that it considered, and new vectors by pattern id."""

    lessons: Sequence[KnownLesson]
    pending: Sequence[str]
    vectors: Mapping[str, str]


class Stamped(NamedTuple):
    """The programs as the run left them, and those that it skipped, each with the reason."""

    programs: Sequence[Program]
    skipped: Sequence[str]


async def stamp_considered(
    fleet: Fleet, writer: FencedWriter, seen: Mapping[str, Considered], pairs: Sequence[PairChange], run: int
) -> Stamped:
    """Commit the pairs and stamp the programs with the number of the run.

    A lesson that changed since it was compared stays pending. Programs go together, 20 a commit; when somebody writes
    one of them, each goes alone, and one that cannot be written is skipped and named. Billed 1 read and 1 write for
    each program, 1 write for each pair. Raises LeaseLostError.
    """
    by_owner: dict[str, list[PairChange]] = {name: [] for name in seen}
    for change in pairs:
        by_owner.setdefault(change.owner, []).append(change)
    names = sorted(by_owner)
    stamped: list[Program] = []

    async def stamp(batch: Sequence[str]) -> None:
        versioned = await fleet.programs.read_versioned(*batch)
        after = [_considered(one, seen.get(name), run) for name, one in zip(batch, versioned, strict=True)]
        writes: list[Write] = [fleet.pairs.write(one.before, one.after) for name in batch for one in by_owner[name]]
        for before, program in zip(versioned, after, strict=True):
            writes += fleet.programs.writes(before, program)
        await writer.commit(*writes)
        stamped.extend(after)

    skipped: list[str] = []
    for start in range(0, len(names), PROGRAMS_PER_COMMIT):
        batch = names[start : start + PROGRAMS_PER_COMMIT]
        try:
            await stamp(batch)
        except (ConflictError, StoreRejectedError, InvalidValueError):
            alone = await attempt_each([[name] for name in batch], stamp, lambda one: f"program {one[0]}")
            skipped += [one.name for one in alone.skipped]
    return Stamped(stamped, skipped)


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
