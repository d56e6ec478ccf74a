"""Store one lesson."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import EmbedderError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.lifecycle.admission import Admission, OnDuplicate, SentLesson, admitted, timestamp_problem
from fleet_memory.rules.text.vectors import packed
from fleet_memory.schemas.answers.memory import EvictedPattern, RelatedPattern, StoreAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.patterns import NewPattern


async def store_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program, e.g. basher; its memory outlives sessions")],
    pattern: NewPattern,
    on_duplicate: Annotated[OnDuplicate, Field(description="What to do when you already know it")] = "reinforce",
) -> StoreAnswer:
    """Store a lesson as soon as work has taught you one: what to do or avoid, and what you saw.

    Storing what you already know reinforces it. The answer names lessons that are close (`related`: reinforce one of
    them if it says the same) and lessons that the cap archived (`evicted`). Lessons that several programs learn
    independently become knowledge that every agent reads at boot.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    if problem := timestamp_problem(pattern, now):
        raise InvalidArgumentError(problem)
    (lesson,) = await embedded(fleet, [pattern])
    profile = fleet.embedder.profile
    done = await fleet.programs.update(
        program_id, lambda program: admitted(program, lesson, profile=profile, on_duplicate=on_duplicate, now=now), now
    )
    return _answer(program_id, done, fleet.degraded_engine)


async def embedded(fleet: Fleet, sent: Sequence[NewPattern]) -> list[SentLesson]:
    """Return lessons with their vectors, without when the engine does not answer."""
    try:
        vectors = await fleet.embedder.vectors([one.pattern for one in sent])
    except EmbedderError:
        # they matter more than vectors: consolidation makes those later
        return [SentLesson(one, "", "") for one in sent]
    return [SentLesson(one, packed(vector), fleet.embedder.name) for one, vector in zip(sent, vectors, strict=True)]


def _answer(program_id: str, done: Admission, similarity_engine: str | None) -> StoreAnswer:
    return StoreAnswer(
        similarity_engine=similarity_engine,
        status=done.status,
        program_id=program_id,
        pattern_id=done.pattern.id,
        duplicate_of=done.duplicate.pattern.id if done.duplicate else None,
        similarity=done.duplicate.similarity if done.duplicate else None,
        related=tuple(
            RelatedPattern(
                id=near.pattern.id, domain=near.pattern.domain, pattern=near.pattern.pattern, similarity=near.similarity
            )
            for near in done.related
        ),
        evicted=tuple(
            EvictedPattern(id=gone.pattern.id, domain=gone.pattern.domain, pattern=gone.pattern.pattern)
            for gone in done.archived
        ),
        patterns_count=len(done.program.patterns),
    )
