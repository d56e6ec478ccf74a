"""Fields that answers of several subjects share."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fleet_memory.schemas.knowledge import EntryState
from fleet_memory.schemas.pairs import PairState
from fleet_memory.schemas.value import Value


class Absence(Value):
    """Fields that an answer adds when nothing was ever stored for the program."""

    exists: Literal[False] | None = None
    suggestions: tuple[str, ...] | None = None


class Degraded(Value):
    """The field of an answer that fell back to another similarity engine than the configured
    one.
    """

    similarity_engine: str | None = None


class ScoreTerms(Value):
    """The terms of a score; docs/recall.md has its formula."""

    semantic: float | None = None
    words: float | None = None
    identifiers: float | None = None
    strength: float


class ToJudgeSide(Value):
    """One text of a pair to judge: a lesson of yours, a lesson of another program, or with `key` an
    entry's text.
    """

    own: Literal[True] | None = None
    pattern_id: str | None = None
    key: str | None = None
    domain: str
    pattern: str
    evidence: str | None = None


class ToJudge(Value):
    """Two texts that may be the same lesson. Judge them with `verdicts` of commit_session or
    pattern_consolidate.
    """

    pair_id: str
    differs: Annotated[
        Literal["figures", "negation"] | None, Field(description="A hint, often wrong")
    ] = None
    a: ToJudgeSide
    b: ToJudgeSide


WaitsFor: TypeAlias = Literal["the other side", "a third program", "people"]
"""Who judges a pair next. Where the other side and a third program are asked at once, it is the
other side.
"""


class JudgedAnswer(Value):
    """A verdict carried out, with the entry that it is about; or the reason why nothing was written
    for it.

    `waits_for` is who judges the pair next, absent once it is settled.
    """

    pair_id: str
    state: PairState | None = None
    waits_for: WaitsFor | None = None
    key: str | None = None
    status: EntryState | None = None
    error: str | None = None
