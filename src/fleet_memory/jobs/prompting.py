"""The lessons that fit a person's prompt, for a client that hands its prompts over."""

from collections.abc import Sequence
from functools import partial

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import note_reading
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.lifecycle.decay import living
from fleet_memory.rules.retrieval.prompting import fitting_places
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
    Words decide, so that the prompt goes to no engine. Billed 1 read, and the snapshot; 1 write
    where it brings a newer version than was read last.
    Raises ForbiddenError for a caller that may not read the program.
    """
    fleet.caller.require_read(program_id)
    now = fleet.now()

    (reader,), snapshot = await run_all(
        partial(fleet.programs.read_versioned, program_id), fleet.knowledge.snapshots.read
    )
    lessons = living(reader.program.patterns.values(), now, reader.program.decay)
    pool: list[Pattern | KnowledgeRow] = [*lessons, *snapshot.readable]
    instead = stand_ins(lessons, snapshot.readable)
    places = [
        instead.get(place, place)
        for place in fitting_places(prompt, [item.searched_text for item in pool])
    ]
    nearest = [pool[place] for place in dict.fromkeys(places)]
    shown = [item for item in nearest if _is_of_people(item) or not steering_words(item.pattern)]
    if any(isinstance(item, KnowledgeRow) for item in shown):
        await note_reading(fleet, program_id, snapshot.version_at, read=reader)
    return shown


def _is_of_people(lesson: Pattern | KnowledgeRow) -> bool:
    return isinstance(lesson, KnowledgeRow) and lesson.tier == "constitutional"
