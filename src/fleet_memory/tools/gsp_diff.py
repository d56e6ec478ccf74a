"""What changed in the fleet's knowledge."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.knowledge.diff import changes_since
from fleet_memory.rules.knowledge.freshness import freshness
from fleet_memory.rules.retrieval.budget import DEFAULT_TOKENS, count_fitting
from fleet_memory.schemas.answers.knowledge import DiffAnswer
from fleet_memory.tools.recall_memory import MaxTokens
from fleet_memory.views.lessons import shown_knowledge


async def gsp_diff(
    fleet: Fleet,
    since_version: Annotated[int, Field(strict=True, ge=0, description="The knowledgeVersion that you know")],
    max_tokens: MaxTokens = DEFAULT_TOKENS,
) -> DiffAnswer:
    """Ask what changed in shared knowledge since a version: entries that are new or changed, and keys that retired.

    The version is in every gsp_bootstrap and gsp_search. For one entry's history call gsp_read.
    """
    now = fleet.now()
    snapshot = await fleet.knowledge.snapshot()
    if since_version > snapshot.version:
        raise InvalidArgumentError(
            f"sinceVersion: is newer than this fleet's knowledge, which has version {snapshot.version}"
        )
    changes = changes_since(snapshot.rows, since_version)
    total = {name: len(rows) for name, rows in changes._asdict().items()}
    frame = DiffAnswer(
        knowledge_version=snapshot.version,
        since_version=since_version,
        omitted=total,  # measured with every count that it may have to confess
        freshness=freshness(await fleet.programs.count_pending(), snapshot.consolidated_at),
    )
    retired = [row.key for row in changes.retired]
    changed = [shown_knowledge(row, now) for row in (*changes.added, *changes.updated)]
    fit = count_fitting(frame.wire(), [*retired, *(item.wire() for item in changed)], max_tokens)
    kept = changed[: max(0, fit - len(retired))]
    shown = replace(
        frame,
        retired=tuple(retired[:fit]),
        added=tuple(kept[: total["added"]]),
        updated=tuple(kept[total["added"] :]),
    )
    left = {
        "retired": len(changes.retired) - len(shown.retired),
        "added": len(changes.added) - len(shown.added),
        "updated": len(changes.updated) - len(shown.updated),
    }
    return replace(shown, omitted={name: count for name, count in left.items() if count})
