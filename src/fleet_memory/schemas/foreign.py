"""The contents of other memory programs, as their readers find them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

ForeignSource: TypeAlias = Literal["server-memory", "mcp-memory-service", "cerebro", "basic-memory"]
FOREIGN_SOURCES: Final[tuple[ForeignSource, ...]] = (
    "server-memory",
    "mcp-memory-service",
    "cerebro",
    "basic-memory",
)

MAX_SHOWN_CHARS: Final = 120  # characters of a place or a reason of what is left out; chosen


class ForeignText(NamedTuple):
    """One text of another memory: its place there, and its labels.

    `context` becomes the lesson's evidence. `topics` are names for its domain, the best first.
    `owner` is the agent or user whose it is, "" where that is unknown.
    """

    place: str
    text: str
    context: str
    topics: Sequence[str]
    tags: Sequence[str] = ()
    owner: str = ""
    project: str = ""
    created: datetime | None = None
    changed: datetime | None = None


LeftOutKind: TypeAlias = Literal[
    "credential",
    "limit",
    "damaged",
    "no room",
    "own file",
    "repeated",
    "no statement",
    "gone there",
    "relation",
]
"""Why a part of another memory becomes no lesson; those that most want a person's look come first.
"""


class LeftOut(NamedTuple):
    """A part of another memory that becomes no lesson: where it is there, and why; never its
    text.
    """

    kind: LeftOutKind
    place: str
    why: str


class ForeignMemory(NamedTuple):
    """Another program's memory as it was read.

    `origin` is the name that a person gave for whose memory it is, "" without one: no file tells it
    from its copies.
    """

    source: ForeignSource
    texts: Sequence[ForeignText]
    left_out: Sequence[LeftOut]
    origin: str = ""
