"""A seed file: rules that people set for the whole fleet."""

from typing import Annotated

from pydantic import Field

from fleet_memory.schemas.fields import Confidence, EvidenceText, LessonText, Name
from fleet_memory.schemas.value import Input


class Seed(Input):
    """One rule. `key` is the part after `constitution/`; made from the text when absent."""

    text: LessonText
    domain: Name
    key: Name | None = None
    confidence: Confidence = 1.0
    why: EvidenceText = ""


class SeedFile(Input):
    """The whole file."""

    entry: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=500)]
