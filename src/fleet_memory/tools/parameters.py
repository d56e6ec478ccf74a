"""Parameters that several tools have."""

from typing import Annotated, Final, TypeAlias

from pydantic import Field
from pydantic.config import JsonDict

from fleet_memory.rules.retrieval.budget import MAX_TOKENS, MIN_TOKENS

MaxTokens: TypeAlias = Annotated[
    int, Field(strict=True, ge=MIN_TOKENS, le=MAX_TOKENS, description="Hard limit of the answer")
]

BRIEF: Final[JsonDict] = {"brief": True}
"""Marks an object whose members clients are not shown: its description names them, or another tool that shows them."""
