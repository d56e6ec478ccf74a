"""The answer of `pattern_consolidate`."""

from collections.abc import Mapping
from dataclasses import field

from fleet_memory.schemas.answers.common import Degraded, JudgedAnswer, ToJudge
from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.knowledge import Doubt, EntryState
from fleet_memory.schemas.value import Value


class PromotedPattern(Value):
    """A contribution of an entry."""

    program_id: str
    pattern_id: str
    similarity: float


class PromotedAnswer(Value):
    """An entry that was published, or would be. `doubts` are the reasons why it is `verify`."""

    key: str
    pattern: str
    domain: str
    confidence: float
    contributors: tuple[str, ...]
    evidence_count: int
    first_discovered: Timestamp
    last_promoted: Timestamp
    status: EntryState
    doubts: tuple[Doubt, ...] | None = None
    provenance: tuple[PromotedPattern, ...]


class UpdatedAnswer(Value):
    """An entry with changed votes or another state."""

    key: str
    status: EntryState
    contributors: tuple[str, ...]
    evidence_count: int
    confidence: float


class ContestedAnswer(Value):
    """An entry that somebody's word stands against."""

    key: str
    pattern: str


class ProposalsAnswer(Value):
    """When a maintainer last compared the lessons, and which one; `note`: who does when this server
    does not.
    """

    last_run: Timestamp | None = None
    by: str | None = None
    note: str | None = None


class ConsolidateAnswer(Degraded):
    """Entries that changed, and pairs to judge; `omitted` counts the items left out of each list.

    `to_judge` are pairs for this program, `open_pairs` counts those of the fleet, as
    `freshness.toJudge` does. `waiting` counts the living lessons that are in no entry; where this
    call compared none (`proposals.note` has the reason), those that no run has considered yet.
    """

    dry_run: bool
    threshold: int
    promoted: tuple[PromotedAnswer, ...] = ()
    updated: tuple[UpdatedAnswer, ...] = ()
    judged: tuple[JudgedAnswer, ...] | None = None
    to_judge: tuple[ToJudge, ...] = ()
    contested: tuple[ContestedAnswer, ...] = ()
    open_pairs: int
    waiting: int
    proposals: ProposalsAnswer
    omitted: Mapping[str, int] = field(default_factory=dict)
