"""The changes of the fleet's knowledge."""

from typing import Annotated

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.curating import changes_since
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS
from fleet_memory.schemas.answers.knowledge import DiffAnswer
from fleet_memory.tools.freshness import fleet_freshness
from fleet_memory.tools.parameters import MaxTokens
from fleet_memory.views.knowledge import diff_answer


async def gsp_diff(
    fleet: Fleet,
    since_version: Annotated[
        int, Field(strict=True, ge=0, description="The knowledgeVersion that you know")
    ],
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> DiffAnswer:
    """List the changes of shared knowledge since a version: new and changed entries, and keys that
    retired.

    Each answer of gsp_bootstrap and gsp_search has the version. For one entry's history call
    gsp_read.
    """
    snapshot = await fleet.knowledge.snapshots.read()
    if since_version > snapshot.version:
        raise InvalidArgumentError(
            "sinceVersion: is newer than this fleet's knowledge, which has version "
            f"{snapshot.version}"
        )
    frame = DiffAnswer(
        knowledge_version=snapshot.version,
        since_version=since_version,
        freshness=await fleet_freshness(fleet, snapshot),
    )
    return diff_answer(frame, changes_since(snapshot.rows, since_version), max_tokens, fleet.now())
