"""Store people's notes and memories of other programs as lessons, for `fleet-memory import`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from fleet_memory.errors import EmbedderError, InvalidArgumentError
from fleet_memory.extensions import part
from fleet_memory.fleet import Fleet
from fleet_memory.importing.texts import (
    MARK,
    ForeignLesson,
    ForeignMemory,
    LeftOut,
    fitting_lessons,
)
from fleet_memory.jobs.credentials import require_no_credential
from fleet_memory.jobs.storing import lesson_vectors
from fleet_memory.repositories.programs import MAX_PROGRAM_BYTES, document_size
from fleet_memory.repositories.records import archive_record
from fleet_memory.repositories.retrying import new_lesson_id
from fleet_memory.rules.lifecycle.admission import SentLesson, admitted, twin_of
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.rules.text.credentials import credential_in
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.patterns import Source
from fleet_memory.schemas.programs import MAX_PATTERNS, Archived, Program

STATE_BYTES: Final = 64  # of a new lesson beside its text: its id among those that wait; chosen


class ImportedForeign(NamedTuple):
    """The result of an import: new lessons, a count of known ones, and what is left out. `faded` of
    the new ones are so old that they are stale at once.
    """

    new: Sequence[ForeignLesson]
    unchanged: int
    faded: int
    left_out: Sequence[LeftOut]


class _Taken(NamedTuple):
    program: Program
    new: Sequence[ForeignLesson]
    no_room: Sequence[ForeignLesson]
    archived: tuple[Archived, ...] = ()


def read_foreign(source: str, *places: Path) -> ForeignMemory:
    """Return a memory of other files. Raises InvalidArgumentError if it cannot be read."""
    read = part("importers", source)
    return ForeignMemory(source, [each for place in places for each in read(place)])


async def import_foreign(
    fleet: Fleet, memory: ForeignMemory, program_id: str, *, dry_run: bool
) -> ImportedForeign:
    """Store a memory as lessons of a program, all in one commit; running it again changes nothing.
    With `dry_run` it writes nothing.

    Lessons that the program has or had are left as they are. Billed 1 read of the policy, the
    program and each archived lesson, and 1 write. Raises ForbiddenError unless the caller may
    curate, InvalidArgumentError where a text or the program's name holds a credential.
    """
    fleet.caller.require_curation()
    await require_no_credential(fleet, "--program", program_id)
    refuses = (await fleet.policies.read(fleet.now())).secrets == "refuse"
    rule_of = credential_in if refuses else lambda _text: None
    lessons, left_out = fitting_lessons(memory, fleet.now(), rule_of)
    if held := [f"  {each.place}: {each.why}" for each in left_out if each.kind == "credential"]:
        raise InvalidArgumentError(
            f"FILE: {len(held)} of its texts hold a credential, which memory never keeps; nothing "
            "was written. Take them out there, or where they are none allow them: fleet-memory "
            "policy set secrets allow\n" + "\n".join(held)
        )
    records = map(archive_record, await fleet.programs.archive.of_program(program_id))
    gone = frozenset(each.pattern.words for each in records if isinstance(each, Archived))

    def taken(
        some: Sequence[ForeignLesson], vectors: Sequence[LessonVectors], program: Program
    ) -> _Taken:
        after, new, no_room = program, list[ForeignLesson](), list[ForeignLesson]()
        room = MAX_PROGRAM_BYTES - document_size(program)  # so that no lesson leaves for these
        for lesson, made in zip(some, vectors, strict=True):
            if twin_of(after, *lesson.words) or text_hash(lesson.pattern.pattern) in gone:
                continue
            engine = fleet.embedder.name if made.vector else ""
            source = Source(connection=MARK, client=memory.source)
            sent = SentLesson(lesson.pattern, new_lesson_id(), made, engine, source)
            profile, now = fleet.embedder.profile, fleet.now()
            admission = admitted(after, sent, profile=profile, on_duplicate="keep", now=now)
            bytes_ = admission.pattern.stored_bytes + STATE_BYTES
            if len(after.patterns) >= MAX_PATTERNS or bytes_ > room:
                no_room.append(lesson)
            else:
                after, room = admission.program, room - bytes_
                new.append(lesson)
        return _Taken(after, new, no_room)

    done = taken(lessons, [LessonVectors()] * len(lessons), await fleet.programs.read(program_id))
    if done.new and not dry_run:
        some = [*done.new, *done.no_room]
        patterns = [each.pattern for each in some]
        texts = [(each.pattern, each.domain, each.evidence) for each in patterns]
        try:
            vectors = await lesson_vectors(fleet.embedder, texts)
        except EmbedderError:  # the maintainer makes them later
            vectors = [LessonVectors()] * len(some)
        storing = partial(taken, some, vectors)
        done = await fleet.programs.update(program_id, storing, fleet.now())
    left_out += [LeftOut("no room", each.place, f"{program_id} is full") for each in done.no_room]
    faded = sum(_is_faded(each, done.program, fleet) for each in done.new)
    unchanged = len(lessons) - len(done.new) - len(done.no_room)
    return ImportedForeign(done.new, unchanged, faded, left_out)


def _is_faded(lesson: ForeignLesson, program: Program, fleet: Fleet) -> bool:
    stored = twin_of(program, *lesson.words)
    return stored is not None and is_stale(stored, fleet.now(), program.decay)
