"""Stores texts of another memory as lessons of programs, for `fleet-memory import --from`."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.errors import EmbedderError, InvalidArgumentError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.credentials import require_no_credential
from fleet_memory.jobs.embedding import lesson_vectors
from fleet_memory.jobs.transfer.foreign.basic_memory import read_basic_memory
from fleet_memory.jobs.transfer.foreign.cerebro import read_cerebro
from fleet_memory.jobs.transfer.foreign.memory_service import read_memory_service
from fleet_memory.jobs.transfer.foreign.server_memory import read_server_memory
from fleet_memory.repositories.archive import archive_record
from fleet_memory.rules.lifecycle.foreign import (
    MAX_ORIGIN_CHARS,
    ForeignLesson,
    Taken,
    faded_lessons,
    fitting_lessons,
    name_of,
    source_of,
    with_foreign_lessons,
)
from fleet_memory.rules.lifecycle.paging import require_whole
from fleet_memory.rules.lifecycle.sent import SentLesson
from fleet_memory.rules.text.context import LessonVectors
from fleet_memory.rules.text.credentials import credential_in
from fleet_memory.schemas.foreign import ForeignMemory, ForeignSource, LeftOut
from fleet_memory.schemas.programs import Archived, Program

LESSONS_PER_COMMIT: Final = (
    50  # chosen: a killed import leaves whole commits, and each embeds its lessons at once
)
READERS: Final[Mapping[ForeignSource, Callable[[Path], ForeignMemory]]] = {
    "server-memory": read_server_memory,
    "mcp-memory-service": read_memory_service,
    "cerebro": read_cerebro,
    "basic-memory": read_basic_memory,
}


class ImportedForeign(NamedTuple):
    """Another memory after its import: the lessons that are new by program, and those that were
    there before.

    `faded` of the new ones are so old that they are stale at once. `archived` counts lessons for
    which there was no place left in its pages. `left_out` are the parts that became no lesson.
    """

    new: Mapping[str, Sequence[ForeignLesson]]
    unchanged: int
    faded: int
    archived: int
    left_out: Sequence[LeftOut]


def read_foreign(source: ForeignSource, place: Path, origin: str | None = None) -> ForeignMemory:
    """Return another program's memory; `origin` names whose it is.

    Memories of different names are different origins; those without a name are one origin for each
    source. Raises InvalidArgumentError for a memory that cannot be read and an `origin` that is no
    name.
    """
    if origin is not None and (
        not origin or len(origin) > MAX_ORIGIN_CHARS or name_of(origin) != origin
    ):
        raise InvalidArgumentError(
            f"--origin: must be a name of at most {MAX_ORIGIN_CHARS} Latin letters, digits and "
            "._:/-, e.g. ana"
        )
    return READERS[source](place)._replace(origin=origin or "")


async def import_foreign(
    fleet: Fleet,
    memory: ForeignMemory,
    program_id: str | None,
    *,
    dry_run: bool,
    step: CountProgress,
) -> ImportedForeign:
    """Store another program's memory as lessons; running it again changes nothing. With `dry_run`
    it writes nothing.

    Lessons that a program has or had are left as they are. Billed 1 read of the policy and each
    program, page and archived lesson, and 1 write every 50 lessons. Raises ForbiddenError unless
    the caller may curate, InvalidArgumentError for a name that is a credential.
    """
    fleet.caller.require_curation()
    await require_no_credential(fleet, "--program", program_id)
    refuses = (await fleet.policies.read(fleet.now())).secrets == "refuse"
    fitting = fitting_lessons(
        memory, program_id, fleet.now(), credential_in if refuses else _no_credential
    )
    groups = defaultdict[str, list[ForeignLesson]](list)
    for lesson in fitting.lessons:
        groups[lesson.program_id].append(lesson)
    new, no_room, faded, archived, count = (
        dict[str, list[ForeignLesson]](),
        list[LeftOut](),
        0,
        0,
        0,
    )
    for name, lessons in groups.items():
        taking = _Taking(fleet, memory, name, await _gone(fleet, name))
        size = len(lessons) if dry_run else LESSONS_PER_COMMIT
        for start in range(0, len(lessons), size):
            some = lessons[start : start + size]
            taken = await (taking.preview(some) if dry_run else taking.take(some))
            new.setdefault(name, []).extend(taken.new)
            no_room += [
                LeftOut("no room", lesson.place, f"{name} is full") for lesson in taken.no_room
            ]
            faded += faded_lessons(taken.new, taken.program, fleet.now())
            archived += len(taken.archived)
            count += len(some)
            step(count, len(fitting.lessons))
    unchanged = len(fitting.lessons) - sum(map(len, new.values())) - len(no_room)
    return ImportedForeign(new, unchanged, faded, archived, [*fitting.left_out, *no_room])


class _Taking(NamedTuple):
    """One program that takes lessons of a memory; `gone` are the words of those that it has
    forgotten.
    """

    fleet: Fleet
    memory: ForeignMemory
    program_id: str
    gone: frozenset[str]

    async def preview(self, lessons: Sequence[ForeignLesson]) -> Taken:
        """Return the result that taking these lessons would have."""
        program = await self.fleet.programs.read_whole(self.program_id)
        return self._taken(lessons, [(LessonVectors(), "")] * len(lessons), program)

    async def take(self, lessons: Sequence[ForeignLesson]) -> Taken:
        """Store these lessons in one commit; only new ones need a vector."""
        known = await self.preview(lessons)
        if not known.new:
            return known
        lessons = [lesson for lesson in lessons if lesson in known.new or lesson in known.no_room]
        vectors = await self._vectors(lessons)
        return await self.fleet.programs.update(
            self.program_id, partial(self._taken, lessons, vectors), self.fleet.now()
        )

    def _taken(
        self,
        lessons: Sequence[ForeignLesson],
        vectors: Sequence[tuple[LessonVectors, str]],
        program: Program,
    ) -> Taken:
        require_whole(program)
        source = source_of(self.memory)
        sent = [
            (lesson, SentLesson(lesson.pattern, made, engine, source))
            for lesson, (made, engine) in zip(lessons, vectors, strict=True)
        ]
        profile, now = self.fleet.embedder.profile, self.fleet.now()
        return with_foreign_lessons(program, sent, self.gone, profile=profile, now=now)

    async def _vectors(self, lessons: Sequence[ForeignLesson]) -> list[tuple[LessonVectors, str]]:
        """Return each lesson's vectors and their engine, empty while there is none: then the
        maintainer makes them.
        """
        try:
            texts = [
                (lesson.pattern.pattern, lesson.pattern.domain, lesson.pattern.evidence)
                for lesson in lessons
            ]
            vectors = await lesson_vectors(self.fleet.embedder, texts)
        except EmbedderError:
            return [(LessonVectors(), "")] * len(lessons)
        return [(made, self.fleet.embedder.name) for made in vectors]


def _no_credential(_text: str) -> None:
    """Find no credential, where the policy allows them."""


async def _gone(fleet: Fleet, program_id: str) -> frozenset[str]:
    records = map(archive_record, await fleet.programs.archive.of_program(program_id))
    return frozenset(record.pattern.words for record in records if isinstance(record, Archived))
