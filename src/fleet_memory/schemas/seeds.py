"""A seed file: rules that people set for the whole fleet."""

from typing import Annotated

from pydantic import Field

from fleet_memory.schemas.fields import Confidence, EvidenceText, LessonText, Name
from fleet_memory.schemas.value import Input


class Seed(Input):
    """One rule. `key` is the part after `constitution/`; made from the text when absent."""

    text: Annotated[LessonText, Field(description="The rule in one sentence")]
    domain: Annotated[Name, Field(description="Topic, e.g. releases")]
    key: Annotated[
        Name | None,
        Field(description="Its name after constitution/; made from the text when absent"),
    ] = None
    confidence: Annotated[Confidence, Field(description="0 to 1")] = 1.0
    why: Annotated[EvidenceText, Field(description="The reason; agents read it")] = ""


class SeedFile(Input):
    """The whole file."""

    entry: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=500)]
