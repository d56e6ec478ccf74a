"""Parameters that several tools have."""

from typing import Annotated, TypeAlias

from pydantic import Field

from fleet_memory.rules.retrieval.budget import MAX_TOKENS, MIN_TOKENS

MaxTokens: TypeAlias = Annotated[
    int, Field(strict=True, ge=MIN_TOKENS, le=MAX_TOKENS, description="Hard limit of the answer")
]
