"""Verdicts of agents about open pairs."""

from typing import Annotated

from pydantic import Field

from fleet_memory.schemas.fields import EvidenceText, Name
from fleet_memory.schemas.value import Input


class NewVerdict(Input):
    """A judgement of one pair that `review` or `contested` offered."""

    pair_id: Annotated[Name, Field(description="From review or contested")]
    same: Annotated[bool, Field(strict=True, description="Whether both say the same")]
    reason: Annotated[EvidenceText, Field(description="Why")] = ""
