"""The maintainer's memory of a fleet between its runs: every living lesson.

A server that has it is warm: the next run reads the programs that changed, and those that other
servers' runs considered meanwhile. It can be thrown away at any time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from sys import intern
from typing import Final

from fleet_memory.rules.entries import oldest_contributor
from fleet_memory.rules.lifecycle.decay import stale_after
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.fields import vector_bytes
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.programs import Program

COLD: Final = -1  # the run of a memory that has read nothing


@dataclass
class ProposingMemory:
    """The lessons by program, as of a run of an epoch; all of them were read at `read_at`."""

    run: int = COLD
    epoch: int = 0
    lessons: dict[str, Sequence[ComparableLesson]] = field(default_factory=dict)
    read_at: datetime | None = None

    @property
    def is_cold(self) -> bool:
        """Whether it has read nothing yet."""
        return self.run == COLD

    def copy(self) -> "ProposingMemory":
        """Return another memory of the same, for a run that leaves nothing."""
        return replace(self, lessons=dict(self.lessons))

    def forget(self) -> None:
        """Start again: the next run reads everything."""
        self.run = COLD
        self.lessons.clear()

    def remember(self, program: Program) -> None:
        """Take up a program as it is now."""
        self.lessons[program.program_id] = comparable_lessons(program)

    def replace(self, changed: Iterable[ComparableLesson]) -> None:
        """Take up lessons as a run changed them."""
        places = {lesson.place: lesson for lesson in changed}
        for name in {lesson.program_id for lesson in places.values()}:
            self.lessons[name] = [places.get(each.place, each) for each in self.lessons[name]]

    def all(self) -> list[ComparableLesson]:
        """Return the lessons in order of program and id, stale ones too."""
        return [lesson for name in sorted(self.lessons) for lesson in self.lessons[name]]


def comparable_lessons(program: Program) -> list[ComparableLesson]:
    """Return a program's lessons as comparing needs them, in order of their ids."""
    return [
        ComparableLesson(
            program.program_id,
            pattern.id,
            intern(pattern.domain),
            pattern.pattern,
            pattern.words,
            pattern.project_id and intern(pattern.project_id),
            vector_bytes(pattern.vector),
            intern(pattern.embedder),
            pattern.evidence,
            stale_after(pattern, program.decay),
            pattern.knowledge_keys,
            tuple(sorted(pattern.texts - {pattern.words})),
            pattern.allowed,
        )
        for _, pattern in sorted(program.patterns.items())
    ]


def comparable_entry(entry: Entry | KnowledgeRow) -> ComparableLesson:
    """Return an entry, or its row of the snapshot, as comparing needs it."""
    if isinstance(entry, Entry):
        domain, text, asked = entry.value.domain, entry.value.pattern, oldest_contributor(entry)
    else:
        domain, text, asked = entry.domain, entry.pattern, entry.asked
    return ComparableLesson(
        "",
        entry.key,
        domain,
        text,
        text_hash(text),
        entry.project_id,
        vector_bytes(entry.vector),
        entry.embedder,
        allowed=True,  # people let it in, or it gives no orders
        asked=asked,
    )
