"""Take an entry out of use."""

from typing import Annotated

from pydantic import Field

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import retire_entry
from fleet_memory.schemas.answers.curation import CuratedAnswer
from fleet_memory.schemas.fields import Key, QueryText


async def retire_knowledge(
    fleet: Fleet,
    key: Annotated[Key, Field(description="The key of an entry")],
    why: Annotated[QueryText, Field(description="The reason; the entry's history keeps it")],
) -> CuratedAnswer:
    """Take an entry out of use, only when a person asks you to. reinstate_knowledge brings it
    back.
    """
    curated = await retire_entry(fleet, key, why)
    return CuratedAnswer(key=curated.key, status=curated.state, changed=curated.changed)
