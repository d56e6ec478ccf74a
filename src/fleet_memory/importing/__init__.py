"""Store memories of other programs as lessons, for `fleet-memory import --from SOURCE`."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.errors import EmbedderError, InvalidArgumentError
from fleet_memory.extensions import part
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.importing.texts import (
    MAX_ORIGIN_CHARS,
    ForeignLesson,
    ForeignMemory,
    LeftOut,
    fitting_lessons,
    name_of,
)
from fleet_memory.jobs.credentials import require_no_credential
from fleet_memory.jobs.storing import lesson_vectors
from fleet_memory.repositories.records import archive_record
from fleet_memory.repositories.retrying import new_lesson_id
from fleet_memory.rules.lifecycle.admission import SentLesson, admitted
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.text.credentials import credential_in
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import MAX_PATTERNS, Archived, Program

LESSONS_PER_COMMIT: Final = 50  # chosen: a killed import leaves whole commits


class ImportedForeign(NamedTuple):
    """The result of an import: new lessons by program, a count of known ones, and what is left out.

    `faded` of the new ones are so old that they are stale at once. `archived` counts lessons for
    which there was no place left in the program.
    """

    new: Mapping[str, Sequence[ForeignLesson]]
    unchanged: int
    faded: int
    archived: int
    left_out: Sequence[LeftOut]


class _Taken(NamedTuple):
    program: Program
    new: Sequence[ForeignLesson]
    no_room: Sequence[ForeignLesson]
    archived: tuple[Archived, ...]


def read_foreign(source: str, place: Path, origin: str | None = None) -> ForeignMemory:
    """Return another program's memory; `origin` names whose it is, None: this machine's person.

    Raises InvalidArgumentError for a memory that cannot be read and an `origin` that is no name.
    """
    if origin is not None and (
        not origin or len(origin) > MAX_ORIGIN_CHARS or name_of(origin) != origin
    ):
        raise InvalidArgumentError(
            f"--origin: must be a name of at most {MAX_ORIGIN_CHARS} Latin letters, digits and "
            "._:/-, e.g. ana"
        )
    return ForeignMemory(source, list(part("importers", source)(place)), origin or "")


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
    program and archived lesson, and 1 write every 50 lessons. Raises ForbiddenError unless
    the caller may curate, InvalidArgumentError for a name that is a credential.
    """
    fleet.caller.require_curation()
    await require_no_credential(fleet, "--program", program_id)
    refuses = (await fleet.policies.read(fleet.now())).secrets == "refuse"
    rule_of = credential_in if refuses else lambda _text: None
    lessons, left_out = fitting_lessons(memory, program_id, fleet.now(), rule_of)
    groups = defaultdict[str, list[ForeignLesson]](list)
    for lesson in lessons:
        groups[lesson.program_id].append(lesson)
    new = {name: list[ForeignLesson]() for name in groups}
    no_room, faded, archived, count = list[LeftOut](), 0, 0, 0
    for name, of_program in groups.items():
        records = map(archive_record, await fleet.programs.archive.of_program(name))
        gone = frozenset(each.pattern.words for each in records if isinstance(each, Archived))
        size = len(of_program) if dry_run else LESSONS_PER_COMMIT
        for start in range(0, len(of_program), size):
            some = of_program[start : start + size]
            taken = await _take(fleet, memory, name, some, gone, dry_run=dry_run)
            new[name] += taken.new
            no_room += [LeftOut("no room", each.place, f"{name} is full") for each in taken.no_room]
            faded += sum(_is_faded(each, taken.program, fleet) for each in taken.new)
            archived += len(taken.archived)
            count += len(some)
            step(count, len(lessons))
    unchanged = len(lessons) - sum(map(len, new.values())) - len(no_room)
    return ImportedForeign(new, unchanged, faded, archived, [*left_out, *no_room])


async def _take(
    fleet: Fleet,
    memory: ForeignMemory,
    program_id: str,
    lessons: Sequence[ForeignLesson],
    gone: frozenset[str],
    *,
    dry_run: bool,
) -> _Taken:
    """Store these lessons of one program in one commit; only new ones need a vector."""

    def taken(
        some: Sequence[ForeignLesson], vectors: Sequence[LessonVectors], program: Program
    ) -> _Taken:
        after, archived = program, list[Archived]()
        new, no_room = list[ForeignLesson](), list[ForeignLesson]()
        for lesson, made in zip(some, vectors, strict=True):
            if _known(after, lesson) or text_hash(lesson.pattern.pattern) in gone:
                continue
            if len(after.patterns) >= MAX_PATTERNS:
                no_room.append(lesson)
                continue
            engine = fleet.embedder.name if made.vector else ""
            sent = SentLesson(lesson.pattern, new_lesson_id(), made, engine, memory.lesson_source)
            profile, now = fleet.embedder.profile, fleet.now()
            admission = admitted(after, sent, profile=profile, on_duplicate="keep", now=now)
            after = admission.program
            archived += admission.archived
            new.append(lesson)
        return _Taken(after, new, no_room, tuple(archived))

    preview = taken(
        lessons, [LessonVectors()] * len(lessons), await fleet.programs.read(program_id)
    )
    if dry_run or not preview.new:
        return preview
    some = [lesson for lesson in lessons if lesson in preview.new or lesson in preview.no_room]
    texts = [(each.pattern.pattern, each.pattern.domain, each.pattern.evidence) for each in some]
    try:
        vectors = await lesson_vectors(fleet.embedder, texts)
    except EmbedderError:  # the maintainer makes them later
        vectors = [LessonVectors()] * len(some)
    return await fleet.programs.update(program_id, partial(taken, some, vectors), fleet.now())


def _known(program: Program, lesson: ForeignLesson) -> Pattern | None:
    return next(
        (
            pattern
            for pattern in program.patterns.values()
            if (pattern.words, pattern.project_id) == lesson.words
        ),
        None,
    )


def _is_faded(lesson: ForeignLesson, program: Program, fleet: Fleet) -> bool:
    stored = _known(program, lesson)
    return stored is not None and is_stale(stored, fleet.now(), program.decay)
