"""Which entries, lessons and notes a boot shows first, and how many of them at each depth."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from fleet_memory.rules.entries import row_state
from fleet_memory.rules.lifecycle.decay import is_stale, strength
from fleet_memory.rules.lifecycle.room import at_hand
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Note, Program

Depth: TypeAlias = Literal["essential", "standard", "full"]


class Share(NamedTuple):
    """The most entries, own lessons and domains that a depth shows, and its tokens unless the
    caller sets them.
    """

    entries: int
    patterns: int
    domains: int
    tokens: int


SHARES: Final[Mapping[Depth, Share]] = {
    "essential": Share(10, 3, 3, 1_000),
    "standard": Share(
        40, 10, 3, 2_500
    ),  # under the 10,000 characters that clients show of a start hook
    "full": Share(100_000, 1_000, 25, 25_000),
}


def own_lessons(
    program: Program,
    in_entries: Collection[str],
    now: datetime,
    project_id: str | None = None,
    *,
    every: bool = False,
) -> list[Pattern]:
    """Return the lessons that no entry states, of a project and of none, or without a project all:
    the living ones at hand, or `every` that the program has.

    `in_entries` are the ids of lessons that an entry states.
    """
    lessons = program.patterns if every else at_hand(program, now)
    return [
        lesson
        for lesson in lessons.values()
        if (every or not is_stale(lesson, now, program.decay))
        and lesson.id not in in_entries
        and is_of_project(lesson, project_id)
    ]


def is_of_project(thing: KnowledgeRow | Pattern, project_id: str | None) -> bool:
    """Whether an entry or a lesson is of a project or of none; everything is where no project is
    asked for.
    """
    return project_id is None or thing.project_id in (None, project_id)


def ordered_entries(
    rows: Sequence[KnowledgeRow],
    relevance: Mapping[str, float],
    domains: set[str],
    now: datetime,
    project_id: str | None = None,
    own_keys: Collection[str] = (),
) -> list[KnowledgeRow]:
    """Return entries best first for one agent: by relevance to its task, project, own, domains,
    trust, breadth and key.

    `relevance` maps keys to scores; an entry without one has 0. `own_keys` are those of entries
    that state a lesson of the agent, because boot shows that lesson nowhere else.
    """

    def rank(row: KnowledgeRow) -> tuple[object, ...]:
        return (
            -relevance.get(row.key, 0.0),
            _is_of_none(row, project_id),
            row.key not in own_keys,
            row.domain not in domains,
            row_state(row, now) != "fresh",
            -row.confidence,
            -len(row.contributors),
            row.key,
        )

    return sorted(rows, key=rank)


def ordered_lessons(
    patterns: Sequence[Pattern],
    relevance: Mapping[str, float],
    now: datetime,
    project_id: str | None = None,
) -> list[Pattern]:
    """Return own lessons best first: by relevance to the task, then the project's, then the
    strongest.

    `relevance` maps ids to scores.
    """
    return sorted(
        patterns,
        key=lambda lesson: (
            -relevance.get(lesson.id, 0.0),
            _is_of_none(lesson, project_id),
            -strength(lesson, now),
            lesson.id,
        ),
    )


def _is_of_none(thing: KnowledgeRow | Pattern, project_id: str | None) -> bool:
    """Whether something is of no project while one is asked for."""
    return project_id is not None and thing.project_id is None


def common_domains(rows: Iterable[KnowledgeRow]) -> list[str]:
    """Return the names of the domains of these entries, the commonest first, then by name."""
    uses = Counter(row.domain for row in rows)
    return sorted(uses, key=lambda name: (-uses[name], name))


def ordered_notes(notes: Mapping[str, Note]) -> list[Note]:
    """Return a program's notes: the pinned ones first, then the newest."""
    newest = sorted(notes.values(), key=lambda note: (note.at, len(note.id), note.id), reverse=True)
    return sorted(newest, key=lambda note: not note.pinned)
