"""A lesson as it arrives: which of its fields each store sets, and which stay with its text."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypedDict

from fleet_memory.rules.text.keys import digest, pattern_id, text_hash
from fleet_memory.rules.text.vectors import LessonVectors
from fleet_memory.schemas.patterns import NewPattern, Source

CLOCK_SKEW: Final = timedelta(
    minutes=5
)  # a client's clock may be this far ahead; Source: docs/architecture.md, chosen


class _Content(TypedDict):
    """The fields of a pattern that each store of it sets."""

    pattern: str
    domain: str
    confidence: float
    project_id: str | None
    tags: tuple[str, ...]
    vector: str
    search_vector: str
    embedder: str


class _Origin(TypedDict):
    """The fields of a pattern that the first store of its text sets, and no later one of the same
    words.
    """

    words: str
    evidence: str
    session_id: str | None
    source: Source
    stored_at: datetime


class SentLesson(NamedTuple):
    """A lesson as it arrives: the pattern as sent, its vectors (empty if none could be made) and
    the embedder.

    `source` is where it comes from, `session_id` the client's session, for a lesson that states
    none.
    """

    sent: NewPattern
    vectors: LessonVectors = LessonVectors()
    embedder: str = ""
    source: Source = Source()
    session_id: str | None = None

    @property
    def id(self) -> str:
        """The id it is stored under."""
        return self.sent.id or pattern_id(self.sent.pattern)

    @property
    def words(self) -> str:
        """A hash that is equal for lessons of equal words."""
        return text_hash(self.sent.pattern)

    @property
    def call(self) -> str:
        """A digest that is equal when the same call is made again."""
        return digest(self.sent.model_dump_json(exclude={"promoted_to_store", "stale"}))

    @property
    def content(self) -> _Content:
        """The fields of the pattern that it becomes, as they were sent."""
        sent = self.sent
        return {
            "pattern": sent.pattern,
            "domain": sent.domain,
            "confidence": sent.confidence,
            "project_id": sent.project_id,
            "tags": sent.tags or (),
            "vector": self.vectors.vector,
            "search_vector": self.vectors.search_vector,
            "embedder": self.embedder,
        }

    def origin(self, now: datetime) -> _Origin:
        """Return the fields that stay with its text, stored for the first time at `now`."""
        return {
            "words": self.words,
            "evidence": self.sent.evidence,
            "session_id": self.sent.session_id or self.session_id,
            "source": self.source,
            "stored_at": now,
        }


def timestamp_problem(sent: NewPattern, now: datetime, path: str = "pattern") -> str | None:
    """Return the fault in the times that a client claims, or None; `path` is where the pattern was
    sent.
    """
    for name, at in (
        ("discoveredAt", sent.discovered_at),
        ("lastReinforced", sent.last_reinforced),
    ):
        if at is not None and at > now + CLOCK_SKEW:
            return (
                f"{path}.{name}: is in the future (the server's time is "
                f"{now.isoformat(timespec='seconds')})"
            )
    if sent.discovered_at and sent.last_reinforced and sent.discovered_at > sent.last_reinforced:
        return f"{path}.discoveredAt: is later than {path}.lastReinforced"
    return None
