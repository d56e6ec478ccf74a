"""The lessons that fit a person's prompt, for a client that hands its prompts over."""

from collections.abc import Sequence

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.lifecycle.decay import living
from fleet_memory.rules.retrieval.prompting import fitting
from fleet_memory.rules.retrieval.ranking import stand_ins
from fleet_memory.rules.text.steering import steering_words
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern


async def lessons_for_prompt(
    fleet: Fleet, program_id: str, prompt: str
) -> Sequence[Pattern | KnowledgeRow]:
    """Return the own lessons and the entries that fit a prompt well, best first, an entry in place
    of own ones in it.

    A lesson that gives its reader orders is left out: it would stand below the prompt, unasked.
    Words decide, so that the prompt goes to no engine. Billed 1 read, and the snapshot.
    Raises ForbiddenError for a caller that may not read the program.
    """
    fleet.caller.require_read(program_id)
    now = fleet.now()

    async def program_of() -> Sequence[Pattern]:
        program = await fleet.programs.read(program_id)
        return living(program.patterns.values(), now, program.decay)

    lessons, snapshot = await run_all(program_of, fleet.knowledge.snapshots.read)
    pool: list[Pattern | KnowledgeRow] = [*lessons, *snapshot.readable]
    instead = stand_ins(lessons, snapshot.readable)
    places = [
        instead.get(place, place)
        for place in fitting(prompt, [item.searched_text for item in pool])
    ]
    nearest = [pool[place] for place in dict.fromkeys(places)]
    return [item for item in nearest if _is_of_people(item) or not steering_words(item.pattern)]


def _is_of_people(lesson: Pattern | KnowledgeRow) -> bool:
    return isinstance(lesson, KnowledgeRow) and lesson.tier == "constitutional"
