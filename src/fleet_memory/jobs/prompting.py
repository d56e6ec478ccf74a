"""The lessons that an agent is shown unasked, for a client that hands its prompts and its calls of
tools over.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import note_reading
from fleet_memory.jobs.others import read_others
from fleet_memory.moment import fitting_places
from fleet_memory.rules.lifecycle.decay import living, strengths
from fleet_memory.rules.retrieval.others import choose_others, keys_of_others
from fleet_memory.rules.retrieval.ranking import RecallFilters, by_strength, entries_saying
from fleet_memory.rules.text.steering import steering_words
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import OthersLesson, Pattern


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
    (reader,) = await fleet.programs.read_versioned(program_id)
    snapshot = await fleet.knowledge.snapshots.read()
    lessons = living(reader.program.patterns.values(), now, reader.program.decay)
    pool: list[Pattern | KnowledgeRow] = [*lessons, *snapshot.readable]
    entry_of = entries_saying(lessons, snapshot.readable)
    near = [pool[at] for at in fitting_places(prompt, [item.searched_text for item in pool])]
    nearest = (entry_of.get(it.id, it) if isinstance(it, Pattern) else it for it in near)
    shown = [item for item in {id(item): item for item in nearest}.values() if _may_be_added(item)]
    if any(isinstance(item, KnowledgeRow) for item in shown):
        await note_reading(fleet, program_id, snapshot.version_at, read=reader)
    return shown


def _may_be_added(lesson: Pattern | KnowledgeRow) -> bool:
    is_of_people = isinstance(lesson, KnowledgeRow) and lesson.tier == "constitutional"
    return is_of_people or not steering_words(lesson.pattern)


MAX_UNASKED: Final = 1_500  # lessons; a hook on a tool reads them in 30 ms. Source: docs/hooks.md


class UnaskedLessons(NamedTuple):
    """The lessons that a session may be shown when one fits what it does: own ones and entries, and
    by their keys those of single other agents.
    """

    known: Sequence[Pattern | KnowledgeRow]
    others: dict[str, OthersLesson]


async def unasked_lessons(fleet: Fleet, program_id: str) -> UnaskedLessons:
    """Return the lessons of a program that is booting, an entry in place of own ones in it, and
    those of others that a recall would show it; none of others where the shelf is behind.

    Billed 1 read, and as `read_others`.
    """
    now = fleet.now()
    reader, snapshot = await fleet.programs.read(program_id), await fleet.knowledge.snapshots.read()
    lessons = living(reader.patterns.values(), now, reader.decay)
    entry_of = entries_saying(lessons, snapshot.readable)
    own = [lesson for lesson in lessons if lesson.id not in entry_of]
    entries = sorted(snapshot.readable, key=lambda row: -row.confidence)
    pool: list[Pattern | KnowledgeRow] = [*own, *entries]
    known = [item for item in pool if _may_be_added(item)][:MAX_UNASKED]
    shelf = await read_others(fleet)
    if shelf.is_behind or not fleet.caller.may_write(program_id):
        return UnaskedLessons(known, {})
    ranked = by_strength(shelf.lessons, strengths(shelf.lessons, now))
    chosen = choose_others(reader, ranked, RecallFilters(), snapshot, shelf.words, now)
    keys = keys_of_others(shelf.lessons, snapshot)
    first = islice(chosen, MAX_UNASKED - len(known))
    others = {keys[each.program_id, each.id]: each for each, *_ in first}
    return UnaskedLessons(known, others)
