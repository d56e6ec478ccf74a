"""The conditions that a lesson or an entry must meet to be found."""

from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.knowledge.state import row_state
from fleet_memory.rules.lifecycle.decay import is_stale
from fleet_memory.schemas.knowledge import EntryState, KnowledgeRow, Tier
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program


class RecallFilters(NamedTuple):
    """The conditions for recalling a lesson."""

    domain: str | None
    project_id: str | None
    tags: tuple[str, ...]
    min_confidence: float
    include_stale: bool

    def admit(self, pattern: Pattern, program: Program, now: datetime) -> bool:
        """Whether one of the program's own lessons passes."""
        return (
            self.domain in (None, pattern.domain)
            and self.project_id in (None, pattern.project_id)
            and set(self.tags) <= set(pattern.tags)
            and pattern.confidence >= self.min_confidence
            and (self.include_stale or not is_stale(pattern, now, program.decay))
        )

    def admit_entry(self, row: KnowledgeRow) -> bool:
        """Whether an entry passes: one of no project, or of the one asked for; entries carry no tags."""
        return (
            not row.is_hidden
            and self.domain in (None, row.domain)
            and (self.project_id is None or row.project_id in (None, self.project_id))
            and not self.tags
            and row.confidence >= self.min_confidence
        )


class SearchFilters(NamedTuple):
    """Conditions that an entry must meet in a search; without a status all but retired entries match."""

    domain: str | None
    tier: Tier | None
    status: EntryState | None
    min_confidence: float

    def admit(self, row: KnowledgeRow, now: datetime) -> bool:
        """Whether an entry passes."""
        state = row_state(row, now)
        return (
            not row.never_published
            and self.domain in (None, row.domain)
            and self.tier in (None, row.tier)
            and (state == self.status if self.status else not row.is_hidden)
            and row.confidence >= self.min_confidence
        )
