"""The policy of a fleet: one document that people set, so that every server acts alike."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from fleet_memory.schemas.knowledge import OriginRule
from fleet_memory.schemas.value import Value

Judging: TypeAlias = Literal["agents", "people"]
Secrets: TypeAlias = Literal["refuse", "allow"]
Sharing: TypeAlias = Literal["lessons", "knowledge"]
"""What agents read of other programs: their unpublished lessons too, or only published entries."""

# votes; Source: Bourlier, "What Agents Learn When You Let Them Remember": 2+ agents
DEFAULT_THRESHOLD = 2
MIN_THRESHOLD = 2  # one agent alone may be wrong
MAX_THRESHOLD = 10  # chosen
DEFAULT_TRIED = 1  # confirmations; Source: docs/policy.md
# days; chosen: a century, so that adding them to a time never leaves the calendar
MAX_RETENTION_DAYS = 36_500
MAX_MODEL_CHARS = 200  # characters; chosen


class Policy(Value):
    """The rules of one fleet. Source of each default: docs/policy.md."""

    threshold: Annotated[
        int,
        Field(
            ge=MIN_THRESHOLD,
            le=MAX_THRESHOLD,
            description="Independent votes that publish an entry",
        ),
    ] = DEFAULT_THRESHOLD
    tried: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_THRESHOLD,
            description="Confirmations with evidence, by other origins, that publish a lesson of "
            "one agent; 0: none do",
        ),
    ] = DEFAULT_TRIED
    sharing: Annotated[
        Sharing | None,
        Field(
            description="What agents read of each other: unpublished lessons too, or published "
            "knowledge alone; none: lessons for callers on this machine of a file, else knowledge"
        ),
    ] = None
    origins: Annotated[
        OriginRule,
        Field(
            description="Whose votes count as one: a program's, or those of all programs of a "
            "connection"
        ),
    ] = "program"
    judging: Annotated[
        Judging, Field(description="Who judges pairs: agents and people, or people alone")
    ] = "agents"
    judge_model: Annotated[
        str,
        Field(
            max_length=MAX_MODEL_CHARS,
            pattern=r"^[^\x00-\x1f\x7f-\x9f]*$",
            description="The model that judges open pairs; none: no model does",
        ),
    ] = ""
    secrets: Annotated[
        Secrets, Field(description="Whether a text that holds a credential is refused")
    ] = "refuse"
    retention_days: Annotated[
        int | None,
        Field(
            ge=1, le=MAX_RETENTION_DAYS, description="Days that the archive is kept; none: for ever"
        ),
    ] = None
    toolsets: Annotated[
        Mapping[str, Mapping[str, JsonValue]] | None,
        Field(description="The values of each toolset; `Fleet.policy_of` reads them"),
    ] = None


def default_sharing(*, is_file: bool, is_local: bool) -> Sharing:
    """Return what agents read of each other where the policy names nothing: `lessons` for callers
    on this machine of a file, `knowledge` for all others (HTTP, Firestore).
    """
    return "lessons" if is_file and is_local else "knowledge"
