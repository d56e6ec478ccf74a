"""Bring a retired entry back."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import reinstate_entry
from fleet_memory.schemas.answers.curation import CuratedAnswer
from fleet_memory.schemas.fields import Key, QueryText


async def reinstate_knowledge(
    fleet: Fleet,
    key: Annotated[Key, Field(description="The key of a retired entry")],
    why: Annotated[QueryText, Field(description="The reason; the entry's history keeps it")],
) -> CuratedAnswer:
    """Bring a retired entry back, confirmed now and without contradictions, only when a person asks
    you to.
    """
    curated = await reinstate_entry(fleet, key, why)
    return CuratedAnswer(key=curated.key, status=curated.state, changed=curated.changed)
