"""A program: one agent's whole memory, stored as one document."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from fleet_memory.schemas.fields import Timestamp
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.value import Value

STALE_AFTER_DAYS = (
    90  # Source: Bourlier, "What Agents Learn When You Let Them Remember", Memory Decay
)
PRUNE_AFTER_DAYS = 90  # after turning stale; Source: docs/decay.md, chosen
MAX_UNPROMOTED_PATTERNS = 100  # patterns; Source: Bourlier, the same, Memory Health
MAX_PATTERNS = 500  # the largest cap a program may set: more would outgrow its document
MAX_DAYS = 3_650  # the longest age a program may set
MAX_PAGES = (
    2  # pages of one program; Source: docs/decay.md, "The cap, the pages and the archive", chosen
)
MAX_PATTERNS_PER_PAGE = 200  # chosen, as MAX_PAGES: with the default cap an agent keeps 500 lessons
# bytes of lessons; chosen: search vectors, longer vectors and keys fit into its document
MAX_PAGE_BYTES = 600_000

ArchiveReason: TypeAlias = Literal["cap", "decay", "forgotten", "deleted", "merged"]
"""`merged`: an import chose another text of the same id, or other values of the state."""


class DecayConfig(Value):
    """How one program forgets."""

    max_age: Annotated[
        int, Field(ge=1, description="Days without reinforcement until a pattern is stale")
    ] = STALE_AFTER_DAYS
    max_unpromoted_patterns: Annotated[
        int, Field(ge=1, description="Patterns kept before only a question finds the weakest")
    ] = MAX_UNPROMOTED_PATTERNS
    prune_after: Annotated[
        int, Field(ge=1, description="Days stale until a pattern is archived")
    ] = PRUNE_AFTER_DAYS


class Note(Value):
    """A short-term note of a program; `at` is when its text was written last."""

    id: str
    text: str
    pinned: bool = False
    at: datetime


class Asked(Value):
    """How often a program was shown a pair to judge, and when the last showing began; it goes on
    for an hour.
    """

    times: int
    at: datetime


class Missing(Value):
    """A question that the memory could not answer: its newest words, how many sessions asked it,
    and when the last.
    """

    text: str
    times: int
    at: datetime


class PagedLesson(Value):
    """A lesson that the cap moved to a page, as far as its program knows it without reading the
    page.

    `page` counts from 1, `size` are the bytes of the stored lesson without its search vector. The
    others are as the lesson's own.
    """

    id: str
    page: int
    words: str
    size: int
    last_reinforced: datetime
    promoted: bool = False
    knowledge_key: str | None = None

    @cached_property
    def reinforced_s(self) -> float:
        """When it was last reinforced, in seconds since 1970."""
        return self.last_reinforced.timestamp()


class Program(Value):
    """One program's memory. `patterns` maps pattern id -> pattern, `notes` note id -> note, the
    oldest first.

    `paged` maps the ids of the lessons that are on pages to their summaries. `patterns` has those
    that were read too, after the others: all of a whole program, none of one that was read without
    its pages. `pending` lists the ids that the maintainer has not considered, also of lessons that
    left since. `run` is the number of the run that considered it last. `read_version` is the
    knowledge version at the last boot. `shown` maps the hashes of texts of others that it was shown
    before they were knowledge to when, the newest 256. `asked` maps the ids of the pairs that it
    was shown to how often and when, the newest 64; `judged_at` are the times of its latest
    verdicts. `against` maps the keys of entries that it contradicted lately to when. `commits` are
    the ids of its latest commits. `changes` counts the changes by agents and by the sweep, not the
    marks of the maintainer. `state_version` counts those of summary, config, baselines and decay,
    `summaries` those of the summary alone, `notes_made` all notes there ever were, `sessions` all
    that were committed. `missing` are the questions that the memory could not answer, the newest
    32, the latest last. `request_ids` are the latest idempotency keys. `last_update` is None until
    something was stored: such a program does not exist for a reader.
    """

    program_id: str
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    paged: Mapping[str, PagedLesson] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    run: int = 0
    shown: Mapping[str, datetime] = field(default_factory=dict)
    asked: Mapping[str, Asked] = field(default_factory=dict)
    judged_at: tuple[datetime, ...] = ()
    against: Mapping[str, datetime] = field(default_factory=dict)
    commits: tuple[str, ...] = ()
    read_version: int = 0
    changes: int = 0
    decay: DecayConfig = DecayConfig()
    context_summary: Mapping[str, JsonValue] = field(default_factory=dict)
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    baselines: Mapping[str, JsonValue] = field(default_factory=dict)
    state_version: int = 0
    summaries: int = 0
    notes: Mapping[str, Note] = field(default_factory=dict)
    notes_made: int = 0
    sessions: int = 0
    missing: tuple[Missing, ...] = ()
    last_update: Timestamp | None = None
    request_ids: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored for it."""
        return self.last_update is not None

    @cached_property
    def is_whole(self) -> bool:
        """Whether `patterns` has every lesson on a page."""
        return all(id_ in self.patterns for id_ in self.paged)

    @cached_property
    def unread(self) -> Mapping[str, PagedLesson]:
        """The lessons on pages that were not read, by id."""
        return {id_: lesson for id_, lesson in self.paged.items() if id_ not in self.patterns}

    @cached_property
    def active(self) -> Mapping[str, Pattern]:
        """The lessons that are on no page, by id: those that boot and a recall without a question
        may show.
        """
        return (
            {id_: pattern for id_, pattern in self.patterns.items() if id_ not in self.paged}
            if self.paged
            else self.patterns
        )

    @property
    def on_pages(self) -> list[Pattern | PagedLesson]:
        """The lessons on pages, each as a pattern if it was read."""
        return [self.patterns.get(id_, lesson) for id_, lesson in self.paged.items()]

    @property
    def patterns_count(self) -> int:
        """The number of its lessons, those on pages too."""
        return len(self.patterns) + len(self.unread)

    def has(self, pattern_id: str) -> bool:
        """Whether it has a lesson of this id, on a page or not."""
        return pattern_id in self.patterns or pattern_id in self.paged


class Archived(Value):
    """A pattern that left a program's memory: which, when and why. Nothing is silently lost."""

    program_id: str
    pattern: Pattern
    reason: ArchiveReason
    at: Timestamp
    why: str = ""


class ArchivedNote(Value):
    """A short-term note that left a program's memory: which, when and why."""

    program_id: str
    note: Note
    reason: ArchiveReason
    at: Timestamp
    why: str = ""


class PastSummary(Value):
    """A program's context summary as it was from some moment on; `number` counts its summaries from
    0.
    """

    program_id: str
    number: int
    version: int
    at: Timestamp
    context_summary: Mapping[str, JsonValue]


ArchiveRecord: TypeAlias = Archived | ArchivedNote
ProgramRecord: TypeAlias = ArchiveRecord | PastSummary
"""A record that a change of a program leaves in a document of its own."""
