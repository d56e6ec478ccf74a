"""The end of a run for each program: its pairs, its vectors, and the stamp that it was considered,
in one commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from anyio import to_thread

from fleet_memory.errors import ConflictError, StoreRejectedError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.fenced_writer import FencedWriter
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.proposing_memory import KnownLesson, known_lessons
from fleet_memory.repositories.retrying import attempt_each
from fleet_memory.repositories.room import with_fitting_search_vectors
from fleet_memory.rules.pairs import Questions, closed, questions
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import Write

PROGRAMS_PER_COMMIT: Final = 5  # a call waits for one commit; chosen


class PairChange(NamedTuple):
    """A pair to open, to renew or to close, and the program that caused it."""

    before: VersionedPair
    after: Pair
    owner: str


class Considered(NamedTuple):
    """A program's lessons as the run compared them, the ids that it considered, and new vectors by
    pattern id.

    With a `stamp` the program is as it was read, and nothing else is to be written: it needs no
    second reading.
    """

    lessons: Sequence[KnownLesson]
    pending: Sequence[str]
    vectors: Mapping[str, LessonVectors]
    stamp: Sequence[Write] | None = None


class Stamped(NamedTuple):
    """The pairs as the run left them, and the programs that it skipped, by name."""

    pairs: Sequence[Pair]
    skipped: Sequence[str]


def stamp(programs: Programs, versioned: VersionedProgram, run: int) -> Sequence[Write]:
    """Return the writes that stamp a program as it was read, all its lessons considered.

    None where it has the stamp of a run that died before its note.
    """
    after = replace(versioned.program, pending=(), run=run)
    return [_with_nothing_waiting(write) for write in programs.writes(versioned, after)]


def _with_nothing_waiting(write: Write) -> Write:
    """Return the same write with the whole map of waiting lessons instead of each: a run keeps one
    for each program.
    """
    fields = write.fields or {}
    others = {name: value for name, value in fields.items() if not name.startswith("waiting.")}
    return write._replace(
        fields=others if len(others) == len(fields) else {**others, "waiting": {}}
    )


def with_others_verdicts(change: PairChange, now: VersionedPair) -> PairChange | None:
    """Return the change for a pair that others may have judged since; None once there is nothing
    left to change.
    """
    if now.revision == change.before.revision:
        return change
    before = change.before.pair
    if (
        now.pair is None
        or before is None
        or now.pair.state != before.state
        or questions(now.pair) == Questions()
    ):
        return None
    after = replace(now.pair, a=change.after.a, b=change.after.b, thirds=change.after.thirds)
    return change._replace(
        before=now, after=closed(after) if change.after.state == "gone" else after
    )


async def stamp_considered(
    fleet: Fleet,
    writer: FencedWriter,
    seen: Mapping[str, Considered],
    pairs: Sequence[PairChange],
    run: int,
) -> Stamped:
    """Commit the pairs and stamp the programs with the number of the run.

    A lesson that changed since it was compared stays pending. Programs go together, five a commit;
    when somebody writes one of them, or judges one of their pairs, each goes alone with the pairs
    as they are then, and one that cannot be written is skipped and named. The fleet's memory
    follows. Billed 1 write for each program and each pair, 1 read for each program without a stamp.
    Raises LeaseLostError.
    """
    changes: dict[str, list[PairChange]] = {name: [] for name in seen}
    for change in pairs:
        changes.setdefault(change.owner, []).append(change)
    names = sorted(changes)
    stamping = _Stamping(fleet, writer, dict(seen), run, changes)
    skipped: list[str] = []
    for start in range(0, len(names), PROGRAMS_PER_COMMIT):
        batch = names[start : start + PROGRAMS_PER_COMMIT]
        try:
            await stamping.stamp(batch)
        except (ConflictError, StoreRejectedError, InvalidValueError):
            alone = await attempt_each(batch, stamping.stamp_alone, "program {}".format)
            skipped += [attempt.name for attempt in alone.skipped]
    return Stamped(stamping.pairs, skipped)


@dataclass
class _Stamping:
    """The stamping of one run: the changes of pairs by program that are left, and the pairs as they
    are since.
    """

    fleet: Fleet
    writer: FencedWriter
    seen: dict[str, Considered]
    run: int
    changes: dict[str, list[PairChange]]
    pairs: list[Pair] = field(default_factory=list)

    async def stamp(self, names: Sequence[str]) -> None:
        """Stamp programs and write their pairs in one commit."""
        seen = {name: self.seen[name] for name in names if name in self.seen}
        changed = [name for name, considered in seen.items() if considered.stamp is None]
        versioned = await self.fleet.programs.read_many(*changed) if changed else []
        after = await to_thread.run_sync(
            lambda: [
                _considered(program, seen[name], self.run, self.fleet.now())
                for name, program in zip(changed, versioned, strict=True)
            ]
        )
        changes = [change for name in names for change in self.changes[name]]
        writes: list[Write] = [
            self.fleet.pairs.write(change.before, change.after) for change in changes
        ]
        writes += [
            write
            for considered in seen.values()
            if considered.stamp is not None
            for write in considered.stamp
        ]
        for before, program in zip(versioned, after, strict=True):
            writes += self.fleet.programs.writes(before, program)
        await self.writer.commit(*writes)
        self.pairs += [change.after for change in changes]
        for program in after:
            self.fleet.memory.remember(program)

    async def stamp_alone(self, name: str) -> None:
        """Stamp one program, and write its pairs with the verdicts that others gave since."""
        if name in self.seen:
            self.seen[name] = self.seen[name]._replace(stamp=None)
        before = self.changes[name]
        present = (
            await self.fleet.pairs.read(*(pair_change.after.pair_id for pair_change in before))
            if before
            else []
        )
        changes = [
            with_others_verdicts(pair_change, now)
            for pair_change, now in zip(before, present, strict=True)
        ]
        self.pairs += [
            now.pair
            for change, now in zip(changes, present, strict=True)
            if change is None and now.pair
        ]
        self.changes[name] = [change for change in changes if change is not None]
        await self.stamp([name])


def _considered(versioned: VersionedProgram, seen: Considered, run: int, now: datetime) -> Program:
    """Return the program without the pending ids of lessons that are as they were compared."""
    program = versioned.program
    compared = {lesson.comparable.lesson_id: _compared(lesson) for lesson in seen.lessons}
    present = {lesson.comparable.lesson_id: _compared(lesson) for lesson in known_lessons(program)}
    unchanged = {id_ for id_ in seen.pending if compared.get(id_) == present.get(id_)}
    patterns = dict(program.patterns)
    for id_, vectors in seen.vectors.items():
        if id_ in unchanged and id_ in patterns:
            patterns[id_] = replace(patterns[id_], **vectors._asdict(), embedder=_engine(seen, id_))
    pending = tuple(id_ for id_ in program.pending if id_ not in unchanged)
    after = replace(program, patterns=patterns, pending=pending, run=run)
    return with_fitting_search_vectors(program, after, now)


def _compared(lesson: KnownLesson) -> tuple[object, ...]:
    return lesson.comparable, lesson.stale_at, lesson.knowledge_key


def _engine(seen: Considered, pattern_id: str) -> str:
    return next(
        lesson.embedder for lesson in seen.lessons if lesson.comparable.lesson_id == pattern_id
    )
