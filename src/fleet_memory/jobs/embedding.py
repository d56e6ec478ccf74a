"""The vectors of lessons, and moving a memory to another embedder, `maintain --reembed`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final, NamedTuple

from fleet_memory.errors import EXIT_UNAVAILABLE, EmbedderError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.storing import lesson_vectors
from fleet_memory.repositories.programs import VersionedProgram, with_fitting_vectors
from fleet_memory.repositories.retrying import attempt_each
from fleet_memory.rules.lifecycle.stamping import ProgramChange
from fleet_memory.rules.text.vectors import LessonVectors, packed
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.patterns import Pattern, context_text
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity import Embedder


async def missing_vectors(
    embedder: Embedder, lessons: Sequence[ComparableLesson]
) -> dict[tuple[str, str], LessonVectors]:
    """Return the vectors of the lessons that have none of this engine, by place; of none while it
    does not answer.

    A stand-in replaces no vector of another engine: those lessons wait for a server that has it.
    """

    def lacking() -> list[ComparableLesson]:
        stands_in = bool(embedder.degraded)
        missing = (lesson for lesson in lessons if lesson.embedder != embedder.name)
        return [lesson for lesson in missing if not (stands_in and lesson.embedder)]

    await embedder.check()
    if lacking():
        await embedder.ready()
    asked = lacking()
    try:
        texts = [(lesson.text, lesson.domain, lesson.evidence) for lesson in asked]
        rows = await lesson_vectors(embedder, texts) if asked else []
    except EmbedderError:
        return {}
    return {lesson.place: row for lesson, row in zip(asked, rows, strict=True)}


_INSTEAD: Final = (
    "Nothing was changed: run this on a machine that has the model, or with --embedder "
    "lexical to go over to letters."
)


class ModelMissingError(EmbedderError):
    """The embedder that the memory would move to does not load here. Nothing was changed."""

    code: ClassVar[str] = "model_missing"
    exit_code: ClassVar[int] = EXIT_UNAVAILABLE


class Moved(NamedTuple):
    """How much got a new vector, and the programs that were left out with the reasons, e.g.
    "program basher: full".
    """

    embedder: str
    patterns: int
    entries: int
    skipped: tuple[str, ...] = ()


async def reembed_fleet(fleet: Fleet, step: CountProgress) -> Moved:
    """Give everything a vector of the configured embedder; a program that cannot be written is left
    out and named.

    A program whose document has no room for the vectors keeps those that it has. Raises
    EmbedderError when the embedder cannot load or answer, ForbiddenError unless the caller may
    curate.
    """
    fleet.caller.require_curation()
    await fleet.embedder.ready()
    if fleet.embedder.degraded:
        raise ModelMissingError(f"{fleet.embedder.degraded} {_INSTEAD}")
    programs = await fleet.programs.all()
    entries = await fleet.knowledge.all()
    numbered = [*enumerate(programs, 1)]

    async def program(item: tuple[int, VersionedProgram]) -> int:
        count, versioned = item
        step(count, len(programs) + len(entries))
        return await _program(fleet, versioned)

    attempted = await attempt_each(
        numbered, program, lambda item: f"program {item[1].program.program_id}"
    )
    behind = [
        versioned.entry.key
        for versioned in entries
        if versioned.entry and versioned.entry.embedder != fleet.embedder.name
    ]
    for count, key in enumerate(behind, 1):
        await _entry(fleet, key)
        step(len(programs) + count, len(programs) + len(entries))
    skipped = tuple(f"{attempt.name}: {attempt.error}" for attempt in attempted.skipped)
    return Moved(fleet.embedder.name, sum(attempted.results), len(behind), skipped)


async def _program(fleet: Fleet, versioned: VersionedProgram) -> int:
    """Give patterns new vectors, and return how many got some; a text that changes meanwhile has
    its own by then.
    """
    name = fleet.embedder.name
    old = [
        pattern
        for pattern in versioned.program.patterns.values()
        if _lacks_vectors(pattern, fleet.embedder)
    ]
    if not old:
        return 0
    made = await lesson_vectors(
        fleet.embedder, [(lesson.pattern, lesson.domain, lesson.evidence) for lesson in old]
    )
    await fleet.programs.update(
        versioned.program.program_id,
        lambda program: _changed(program, old, made, name),
        fleet.now(),
    )
    present = (await fleet.programs.read(versioned.program.program_id)).patterns
    lacking = {id_ for id_, lesson in present.items() if _lacks_vectors(lesson, fleet.embedder)}
    return sum(before.embedder != name or before.id not in lacking for before in old)


def _changed(
    program: Program, old: Sequence[Pattern], made: Sequence[LessonVectors], embedder: str
) -> ProgramChange:
    renewed = {
        before.id: replace(pattern, **vectors._asdict(), embedder=embedder)
        for before, vectors in zip(old, made, strict=True)
        if (pattern := program.patterns.get(before.id)) and pattern.pattern == before.pattern
    }
    if not renewed:
        return ProgramChange(program)
    # The maintainer compares those of another engine with all others again: new vectors, new
    # neighbours.
    moved = [id_ for id_ in renewed if program.patterns[id_].embedder != embedder]
    pending = tuple(dict.fromkeys((*program.pending, *moved)))
    after = replace(program, patterns={**program.patterns, **renewed}, pending=pending)
    return ProgramChange(with_fitting_vectors(program, after))


def _lacks_vectors(pattern: Pattern, embedder: Embedder) -> bool:
    """Whether it has no vector of this engine, or no search vector although questions would meet
    one.
    """
    if pattern.embedder != embedder.name:
        return True
    is_met = embedder.profile.context_share and context_text(pattern.domain, pattern.evidence)
    return bool(is_met) and not pattern.search_vector


async def _entry(fleet: Fleet, key: str) -> None:
    """Give an entry's text a new vector; one that people reword meanwhile has its own by then."""
    versioned = (await fleet.knowledge.read_versioned(key))[0]
    if versioned.entry is None:
        return
    text = versioned.entry.value.pattern
    vector = packed((await fleet.embedder.vectors([text]))[0])

    def change(entry: Entry) -> Entry:
        if entry.value.pattern != text:
            return entry
        return replace(entry, vector=vector, embedder=fleet.embedder.name, unpublished=True)

    await fleet.knowledge.update_without_ledger(key, change)
