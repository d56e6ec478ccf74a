"""Search the fleet's knowledge."""

from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.together import run_all
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, count_fitting
from fleet_memory.rules.retrieval.filters import SearchFilters
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.answers.knowledge import SearchAnswer
from fleet_memory.schemas.fields import Confidence, Domain, QueryText
from fleet_memory.schemas.knowledge import EntryState, Tier
from fleet_memory.tools.freshness import fleet_freshness
from fleet_memory.tools.parameters import MaxTokens
from fleet_memory.tools.retrieval import embed_question, ranked
from fleet_memory.views.finding import MAX_SUGGESTIONS_CHARS, finding_note, fitting_names
from fleet_memory.views.knowledge import knowledge_answer
from fleet_memory.views.lessons import score_fields


async def gsp_search(
    fleet: Fleet,
    query: Annotated[
        QueryText | None, Field(description="What you look for; ranks by relevance")
    ] = None,
    domain: Annotated[Domain | None, Field(description="Only this topic")] = None,
    tier: Annotated[
        Tier | None, Field(description="Only rules that people set, or only what agents learnt")
    ] = None,
    status: Annotated[
        EntryState | None,
        Field(description="Only entries in this state; all but retired ones when absent"),
    ] = None,
    min_confidence: Annotated[Confidence, Field(description="0 to 1")] = 0.0,
    limit: Annotated[
        int, Field(strict=True, ge=1, le=100, description="Most entries, 1 to 100")
    ] = 20,
    max_tokens: MaxTokens = DEFAULT_TOKENS,
    explain: Annotated[bool, Field(strict=True, description="Add the terms of each score")] = False,
) -> SearchAnswer:
    """Search what the fleet knows, by meaning and words, topic, tier or state: also what is
    contested or retired.

    For your own lessons call recall_memory. For one entry with its sources and history call
    gsp_read.
    """
    now = fleet.now()
    snapshot, question = await run_all(
        fleet.knowledge.snapshots.read, partial(embed_question, fleet, query)
    )
    filters = SearchFilters(domain, tier, status, min_confidence)
    pool = [row for row in snapshot.rows if filters.admit(row, now)]
    best = ranked(pool, [row.confidence for row in pool], question)
    domains = [row.domain for row in snapshot.readable]
    close = () if domain is None or domain in domains else close_names(domain, domains)
    ways = {
        "other words": query is not None,
        "fewer filters": filters != SearchFilters(None, None, None, 0.0),
    }
    frame = SearchAnswer(
        note=finding_note(
            best,
            asked=query is not None,
            ways=[way for way in ways if ways[way]],
            domains=domains,
            scope="shared",
        ),
        suggestions=fitting_names(close, MAX_SUGGESTIONS_CHARS) or None,
        similarity_engine=fleet.degraded_engine,
        knowledge_version=snapshot.version,
        total=len(best),
        truncated=True,
        freshness=await fleet_freshness(fleet, snapshot),
    )
    shown = [
        knowledge_answer(
            pool[match.position],
            now,
            **score_fields(match, asked=query is not None, explain=explain),
        )
        for match in best[:limit]
    ]
    fitting = shown[: count_fitting(frame.wire(), (item.wire() for item in shown), max_tokens)]
    return replace(frame, knowledge=tuple(fitting), truncated=len(fitting) < len(best))
