"""Parameters that several tools have."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field
from pydantic.config import JsonDict

from fleet_memory.rules.retrieval.budget import MAX_TOKENS, MIN_TOKENS
from fleet_memory.schemas.fields import Name

MaxTokens: TypeAlias = Annotated[
    int, Field(strict=True, ge=MIN_TOKENS, le=MAX_TOKENS, description="Hard limit of the answer")
]

BRIEF: Final[JsonDict] = {"brief": True}
"""Marks a field that is published by its name and type: its tool's description names it, docs/tools
describes it.
"""

OwnProgram: TypeAlias = Annotated[Name, Field(description="Your program", json_schema_extra=BRIEF)]
AnyProgram: TypeAlias = Annotated[
    Name, Field(description="The program to read", json_schema_extra=BRIEF)
]
RequestId: TypeAlias = Annotated[
    Name | None, Field(description="Makes a repeated call harmless", json_schema_extra=BRIEF)
]
