"""Search the fleet's knowledge."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, NamedTuple

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.knowledge.status import standing
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, count_fitting
from fleet_memory.schemas.answers.knowledge import SearchAnswer
from fleet_memory.schemas.fields import Confidence, Name, QueryText
from fleet_memory.schemas.knowledge import KnowledgeRow, Standing, Tier
from fleet_memory.tools.recall_memory import Found, MaxTokens, ranked
from fleet_memory.views.lessons import shown_knowledge


class SearchFilters(NamedTuple):
    """What an entry must be to be found; without a status everything but what is retired."""

    domain: str | None
    tier: Tier | None
    status: Standing | None
    min_confidence: float

    def admits(self, row: KnowledgeRow, now: datetime) -> bool:
        """Whether an entry passes."""
        found = standing(row, now)
        return (
            self.domain in (None, row.domain)
            and self.tier in (None, row.tier)
            and (found == self.status if self.status else found != "retired")
            and row.confidence >= self.min_confidence
        )


async def gsp_search(
    fleet: Fleet,
    query: Annotated[QueryText | None, Field(description="What you look for; ranks by relevance")] = None,
    domain: Annotated[Name | None, Field(description="Only this topic")] = None,
    tier: Annotated[Tier | None, Field(description="Only rules that people set, or only what agents learnt")] = None,
    status: Annotated[
        Standing | None, Field(description="Only entries in this state; all but retired ones when absent")
    ] = None,
    min_confidence: Annotated[Confidence, Field(description="0 to 1")] = 0.0,
    limit: Annotated[int, Field(strict=True, ge=1, le=100, description="Most entries, 1 to 100")] = 20,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
    explain: Annotated[bool, Field(strict=True, description="Add the terms of each score")] = False,
) -> SearchAnswer:
    """Search what the fleet knows, by meaning and words, topic, tier or state: also what is contested or retired.

    For your own lessons call recall_memory. For one entry with its sources and history call gsp_read.
    """
    now = fleet.now()
    snapshot = await fleet.knowledge.snapshot()
    wanted = SearchFilters(domain, tier, status, min_confidence)
    rows: Sequence[KnowledgeRow] = [row for row in snapshot.rows if wanted.admits(row, now)]
    found = await ranked(fleet, [Found(row, row.confidence) for row in rows], query)
    frame = SearchAnswer(
        similarity_engine=fleet.degraded_engine,
        knowledge_version=snapshot.version,
        total=len(found),
        truncated=True,
        freshness=freshness(await fleet.programs.count_pending(), snapshot.consolidated_at),
    )
    shown = [
        shown_knowledge(
            rows[one.position],
            now,
            score=one.score if query is not None or explain else None,
            explain=one.terms if explain else None,
        )
        for one in found[:limit]
    ]
    kept = shown[: count_fitting(frame.wire(), (item.wire() for item in shown), max_tokens)]
    return replace(frame, knowledge=tuple(kept), truncated=len(kept) < len(found))
