"""Fields that answers of several subjects share."""

from typing import Literal

from fleet_memory.schemas.value import Value


class Absence(Value):
    """What an answer adds when nothing was ever stored for the program."""

    exists: Literal[False] | None = None
    suggestions: tuple[str, ...] | None = None


class Degraded(Value):
    """What an answer adds when another similarity engine stands in for the configured one."""

    similarity_engine: str | None = None


class ScoreTerms(Value):
    """The terms of a score; ranking recomputes it as docs/recall.md says."""

    semantic: float | None = None
    words: float | None = None
    strength: float
