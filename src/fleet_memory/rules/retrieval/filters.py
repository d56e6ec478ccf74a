"""The conditions that a lesson or an entry must meet to be found."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from fleet_memory.rules.entries import row_state
from fleet_memory.rules.lifecycle.decay import living
from fleet_memory.schemas.knowledge import EntryState, KnowledgeRow, Tier
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import DecayConfig


class RecallFilters(NamedTuple):
    """The conditions for recalling a lesson."""

    domain: str | None
    project_id: str | None
    tags: tuple[str, ...]
    min_confidence: float
    include_stale: bool

    def admitted(
        self, patterns: Iterable[Pattern], decay: DecayConfig, now: datetime
    ) -> Sequence[Pattern]:
        """Return the program's own lessons that pass."""
        passing = list(patterns) if self.include_stale else living(patterns, now, decay)
        if self.domain is not None:
            passing = [pattern for pattern in passing if pattern.domain == self.domain]
        if self.project_id is not None:
            passing = [pattern for pattern in passing if pattern.project_id == self.project_id]
        if self.tags:
            passing = [pattern for pattern in passing if set(self.tags) <= set(pattern.tags)]
        if self.min_confidence:
            passing = [pattern for pattern in passing if pattern.confidence >= self.min_confidence]
        return passing

    def admitted_entries(self, readable: Sequence[KnowledgeRow]) -> Sequence[KnowledgeRow]:
        """Return the readable entries that pass: those of no project, or of the one asked for; they
        carry no tags.
        """
        passing = () if self.tags else readable
        if self.domain is not None:
            passing = [row for row in passing if row.domain == self.domain]
        if self.project_id is not None:
            passing = [row for row in passing if row.project_id in (None, self.project_id)]
        if self.min_confidence:
            passing = [row for row in passing if row.confidence >= self.min_confidence]
        return passing


class SearchFilters(NamedTuple):
    """Conditions that an entry must meet in a search; without a status all but retired entries
    match.
    """

    domain: str | None
    tier: Tier | None
    status: EntryState | None
    min_confidence: float

    def admit(self, row: KnowledgeRow, now: datetime) -> bool:
        """Whether an entry passes."""
        return (
            not row.never_published
            and self.domain in (None, row.domain)
            and self.tier in (None, row.tier)
            and (row_state(row, now) == self.status if self.status else not row.is_hidden)
            and row.confidence >= self.min_confidence
        )
