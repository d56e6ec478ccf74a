"""Store one lesson."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import EmbedderError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.embedding import lesson_vectors
from fleet_memory.jobs.storing import store_lesson
from fleet_memory.jobs.together import start
from fleet_memory.rules.lifecycle.admission import OnDuplicate
from fleet_memory.rules.lifecycle.sent import SentLesson, timestamp_problem
from fleet_memory.schemas.answers.memory import StoreAnswer
from fleet_memory.schemas.fields import Name
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.views.lessons import store_answer


async def store_memory(
    fleet: Fleet,
    program_id: Annotated[Name, Field(description="Your program, e.g. basher")],
    pattern: NewPattern,
    on_duplicate: Annotated[
        OnDuplicate, Field(description="What to do when you already know it")
    ] = "reinforce",
) -> StoreAnswer:
    """Store a lesson as soon as work has taught you one: what to do or avoid, and what you saw.

    The same words again reinforce it. The answer names your close lessons (`related`; to rewrite
    one, and only then, store under its id), those over the cap, which only a question finds
    (`evicted`), a better-known name of the domain (`domainHint`), and with `toJudge` asks about a
    rewrite of a shared lesson.
    """
    fleet.caller.require_write(program_id)
    now = fleet.now()
    if problem := timestamp_problem(pattern, now):
        raise InvalidArgumentError(problem)

    async def embed() -> SentLesson:
        return (await embed_lessons(fleet, [pattern]))[0]

    async with start(embed) as embedding:
        admission = await store_lesson(fleet, program_id, embedding, on_duplicate, now)
    return store_answer(admission, fleet.degraded_engine, fleet.knowledge.snapshots.known_domains())


async def embed_lessons(fleet: Fleet, sent: Sequence[NewPattern]) -> list[SentLesson]:
    """Return the caller's lessons with their vectors, without when the engine does not answer."""
    if not sent:
        return []
    source, session_id = fleet.caller.source, fleet.caller.session_id
    try:
        vectors = await lesson_vectors(
            fleet.embedder, [(lesson.pattern, lesson.domain, lesson.evidence) for lesson in sent]
        )
    except EmbedderError:
        # they matter more than vectors: the maintainer makes those later
        return [SentLesson(lesson, source=source, session_id=session_id) for lesson in sent]
    name = fleet.embedder.name
    return [
        SentLesson(lesson, made, name, source, session_id)
        for lesson, made in zip(sent, vectors, strict=True)
    ]
