"""A pattern: one lesson that one program learnt; as an agent sends it, and as stored."""

from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from fleet_memory.schemas.fields import (
    Confidence,
    Domain,
    EvidenceText,
    LessonText,
    Name,
    Tags,
    Timestamp,
    vector_bytes,
)
from fleet_memory.schemas.value import Input, Value

MAX_CONTEXT_EVIDENCE_CHARS: Final = 80  # more costs time. Source: docs/recall.md
MIN_CONTEXT_WORDS: Final = 3  # of evidence: "seen" says nothing. Source: docs/recall.md
# begins the evidence of a lesson of another memory: where it was, not what was seen
IMPORTED: Final = "Imported from "
MARK_CHARS: Final = 8  # that a search vector begins with


def context_text(domain: str, evidence: str) -> str:
    """Return the text of a lesson's context; "" where the evidence says nothing.

    E.g. `context_text("deploy", "Two runs wrote one file") == "deploy: Two runs wrote one file"`.
    """
    seen = evidence[:MAX_CONTEXT_EVIDENCE_CHARS].strip()
    if len(seen.split(maxsplit=MIN_CONTEXT_WORDS - 1)) < MIN_CONTEXT_WORDS or seen.startswith(
        IMPORTED
    ):
        return ""
    return f"{domain}: {seen}"


def search_mark(embedder: str, text: str, context: str) -> str:
    """Return the mark of a search vector that this engine made of a lesson's text and context."""
    return blake2b(
        "\0".join((embedder, text, context)).encode(), digest_size=MARK_CHARS // 2
    ).hexdigest()


StoreStatus: TypeAlias = Literal["created", "updated", "reinforced", "duplicate", "unchanged"]
Outcome: TypeAlias = Literal["confirmed", "contradicted"]
TextChange: TypeAlias = Literal["reworded", "corrected"]
"""What the author of a changed text says about the old one: the same lesson, or wrong."""

_NO_MARK: Final = "-"  # no search vector begins with it


class NewPattern(Input):
    """A lesson as an agent sends it."""

    pattern: Annotated[LessonText, Field(description="The lesson in one sentence, the point first")]
    domain: Annotated[Domain, Field(description="Topic in any words, e.g. task-claiming")]
    confidence: Annotated[
        Confidence, Field(description="0.5: a guess; 0.7: seen once; 0.9: seen often or proved")
    ]
    evidence: Annotated[
        EvidenceText, Field(description="What you saw that taught it; may be empty")
    ]
    id: Annotated[Name | None, Field(description="Your id for it; made at random when absent")] = (
        None
    )
    discovered_at: Annotated[
        Timestamp | None, Field(description="When learnt; now when absent")
    ] = None
    last_reinforced: Annotated[Timestamp | None, Field(description="When last seen true")] = None
    project_id: Annotated[
        Name | None, Field(description="Only if it holds in one project alone")
    ] = None
    session_id: Annotated[Name | None, Field(description="Session it was learnt in")] = None
    change: Annotated[
        TextChange | None,
        Field(
            description="With a new text under the id of a shared lesson: reworded, or corrected "
            "if the old one was wrong"
        ),
    ] = None
    tags: Annotated[Tags | None, Field(description="Up to 10 labels")] = None
    promoted_to_store: Annotated[bool | None, Field(description="Ignored")] = None
    stale: Annotated[bool | None, Field(description="Ignored")] = None


class Evidence(Value):
    """One line of a pattern's evidence log."""

    at: datetime
    outcome: Outcome
    text: str = ""


class Source(Value):
    """Where a lesson came from: the unbound connection or the token, the client and the family of
    the model.

    Unknown ones are None. `connection` is None for a caller that the server knows by name: a bound
    process or a token. `token` is the token's id, never the token.
    """

    connection: str | None = None
    token: str | None = None
    client: str | None = None
    model: str | None = None


class TokenWriter(Value):
    """The token whose call made the last change, and when; None over stdio."""

    token: str
    at: datetime


class Wording(Value):
    """An earlier text of a lesson, by the hash of its words, and what its author called the change.

    `knowledge_keys` are the entries that the lesson was in with this text.
    """

    words: str
    change: TextChange
    stored_at: datetime
    read_first: datetime | None = None
    read_last: datetime | None = None
    knowledge_keys: tuple[str, ...] = ()


class Pattern(Value):
    """A stored lesson. Only the server sets the fields from `stored_at` on.

    `stored_at`: the server's time of the first store of this text; `called_at`: of the latest call
    that stored it. `session_id` is the session that it was first stored in. `spaced_at`: the last
    reinforcement that counted as spaced, `doublings` how many did. `knowledge_keys` name the
    entries that it is in: one, but for a lesson of no project, which may be in one of each project
    and in one of none. `earlier` are its earlier texts. `read_first` and `read_last` are the times
    of the knowledge that its program had read first and last when the text was stored. `allowed`:
    people released it though it gives its reader orders. `words` is a hash that is equal for texts
    of equal words. `vector` is base64 int8, comparable only with vectors of the same `embedder`.
    `search_vector`, which questions are compared with, mixes in domain and evidence; building the
    value drops a vector of another text, domain, evidence or engine.
    """

    id: str
    domain: str
    pattern: str
    confidence: float
    evidence: str = ""
    discovered_at: datetime
    last_reinforced: datetime
    project_id: str | None = None
    session_id: str | None = None
    tags: tuple[str, ...] = ()

    stored_at: datetime
    called_at: datetime | None = None
    source: Source = Source()
    confirmations: int = 0
    contradictions: int = 0
    doublings: int = 0
    spaced_at: datetime | None = None
    evidence_log: tuple[Evidence, ...] = ()
    knowledge_keys: tuple[str, ...] = ()
    earlier: tuple[Wording, ...] = ()
    read_first: datetime | None = None
    read_last: datetime | None = None
    allowed: bool = False
    writer: TokenWriter | None = None
    words: str = ""
    vector: str = ""
    search_vector: str = ""
    embedder: str = ""

    def __post_init__(self) -> None:
        """Drop a search vector of another text, domain, evidence or engine."""
        if self.search_vector and not self.search_vector.startswith(self._search_mark):
            object.__setattr__(self, "search_vector", "")

    @property
    def _search_mark(self) -> str:
        context = context_text(self.domain, self.evidence)
        return search_mark(self.embedder, self.pattern, context) if context else _NO_MARK

    @property
    def knowledge_key(self) -> str | None:
        """The first entry that the lesson is in; None if it is in none."""
        return self.knowledge_keys[0] if self.knowledge_keys else None

    @property
    def promoted(self) -> bool:
        """Whether the lesson contributes to an entry, published or candidate."""
        return bool(self.knowledge_keys)

    @property
    def texts(self) -> frozenset[str]:
        """The hashes of its text and of the earlier texts that its author called the same."""
        known = {self.words}
        for wording in reversed(self.earlier):
            if wording.change == "corrected":
                break
            known.add(wording.words)
        return frozenset(known)

    @cached_property
    def stored_s(self) -> float:
        """When the lesson was stored first, in seconds since 1970."""
        return self.stored_at.timestamp()

    @cached_property
    def vector_bytes(self) -> bytes:
        """The vector, one number a byte; b"" if absent or unreadable."""
        return vector_bytes(self.vector)

    @cached_property
    def searched_vector(self) -> bytes:
        """The vector that a question is compared with, one number a byte."""
        return vector_bytes(self.search_vector[MARK_CHARS:]) or self.vector_bytes

    @cached_property
    def searched_text(self) -> str:
        """The text in which a question's words are looked up: text, domain and evidence."""
        return " ".join((self.pattern, self.domain, self.evidence))


class OthersLesson(Pattern):
    """A lesson as other programs are shown it, and as the shelf keeps it: whose it is, and after
    how many days it is stale.

    `plain_key` is the key of an entry of its words, e.g. "pattern/ci/pin-actions". `evidence` has
    its first whole sentences, `vector` is the search vector; fields that only its program needs are
    left out.
    """

    program_id: str
    max_age: int
    plain_key: str
