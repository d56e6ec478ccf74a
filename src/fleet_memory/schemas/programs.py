"""A program: one agent's whole memory, stored as one document; its health, in numbers and one word;
and who calls as a program: callers, their rights, and the tokens of callers over HTTP.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Final, Literal, NoReturn, TypeAlias

from pydantic import Field, JsonValue

from fleet_memory.errors import ForbiddenError
from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.patterns import Pattern, Source, TokenWriter
from fleet_memory.schemas.value import Value

# Source: Bourlier, "What Agents Learn When You Let Them Remember", Memory Decay
STALE_AFTER_DAYS = 90
PRUNE_AFTER_DAYS = 90  # after turning stale; Source: docs/decay.md, chosen
MAX_UNPROMOTED_PATTERNS = 100  # patterns; Source: Bourlier, the same, Memory Health
# lessons of a program, and the largest cap that it may set: they fit into its document
MAX_PATTERNS = 500
MAX_DAYS = 3_650  # the longest age a program may set
ArchiveReason: TypeAlias = Literal["cap", "decay", "forgotten", "deleted", "merged", "replaced"]
"""`decay`: version 0.2.0 archived by age. `merged`: an import chose another text of the same id, or
other values of the state. `replaced`: its program gave the lesson another text.
"""


class DecayConfig(Value):
    """How one program forgets."""

    max_age: Annotated[
        int, Field(ge=1, description="Days without reinforcement until a pattern is stale")
    ] = STALE_AFTER_DAYS
    max_unpromoted_patterns: Annotated[
        int, Field(ge=1, description="Patterns kept before only a question finds the weakest")
    ] = MAX_UNPROMOTED_PATTERNS
    prune_after: Annotated[
        int, Field(ge=1, description="Days stale until it is archived first, for want of room")
    ] = PRUNE_AFTER_DAYS


class Note(Value):
    """A short-term note of a program; `at` is when its text was written last."""

    id: str
    text: str
    pinned: bool = False
    at: datetime
    writer: TokenWriter | None = None


class Asked(Value):
    """How often a program was shown a pair to judge, and when the last showing, which lasts an
    hour, began.
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


class Program(Value):
    """One program's memory. `patterns` maps pattern id -> pattern, `notes` note id -> note, the
    oldest first.

    `pending` lists the ids that the maintainer has not considered, also of lessons that
    left since. `run` is the number of the run that considered it last. `read_version` is the
    knowledge version at the last boot; `read_first` and `read_last` are the store's times of the
    knowledge that it read first and last, by boot, recall, search or prompt. `shown` maps the
    hashes of texts of others that it was shown to when, the newest 1,024; `shown_dropped_at` is the
    time of the newest that is not among them. `asked` maps the ids of the pairs that it
    was shown to how often and when, the newest 64; `judged_at` are the times of its latest
    verdicts. `against` maps the keys of entries that it contradicted lately to when. `changes`
    counts the changes by agents, not the marks of the maintainer. `state_version` counts those of
    summary, config, baselines and decay, `summaries` those of the summary alone, `notes_made` all
    notes there ever were, `sessions` all that were committed. `missing` are the
    questions that the memory could not answer, the newest 32, the latest last. `request_ids` are
    the latest idempotency keys. `last_update` is None until something was stored: such a program
    does not exist for a reader.
    """

    program_id: str
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    pending: tuple[str, ...] = ()
    run: int = 0
    shown: Mapping[str, datetime] = field(default_factory=dict)
    shown_dropped_at: datetime | None = None
    asked: Mapping[str, Asked] = field(default_factory=dict)
    judged_at: tuple[datetime, ...] = ()
    against: Mapping[str, datetime] = field(default_factory=dict)
    read_version: int = 0
    read_first: datetime | None = None
    read_last: datetime | None = None
    changes: int = 0
    decay: DecayConfig = DecayConfig()
    context_summary: Mapping[str, JsonValue] = field(default_factory=dict)
    config: Mapping[str, JsonValue] = field(default_factory=dict)
    baselines: Mapping[str, JsonValue] = field(default_factory=dict)
    state_version: int = 0
    state_writer: TokenWriter | None = None
    summaries: int = 0
    notes: Mapping[str, Note] = field(default_factory=dict)
    notes_made: int = 0
    sessions: int = 0
    missing: tuple[Missing, ...] = ()
    last_update: Timestamp | None = None
    request_ids: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        """How many stored lessons no run has considered; `pending` also names lessons that left."""
        return len([id_ for id_ in self.pending if id_ in self.patterns])

    @property
    def exists(self) -> bool:
        """Whether the program has ever stored anything."""
        return self.last_update is not None


class Archived(Value):
    """A lesson that left a program's memory: which, when and why."""

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
    """An earlier context summary of a program; `number` counts from 0."""

    program_id: str
    number: int
    version: int
    at: Timestamp
    context_summary: Mapping[str, JsonValue]
    writer: TokenWriter | None = None


ArchiveRecord: TypeAlias = Archived | ArchivedNote
ProgramRecord: TypeAlias = ArchiveRecord | PastSummary
"""A record that a change of a program leaves in a document of its own."""


# Health

HealthVerdict: TypeAlias = Literal["empty", "forgetting", "hoarding", "unreinforced", "healthy"]


class MissingQuestion(Value):
    """A question that memory could not answer: how often sessions asked it, and how many programs
    did.
    """

    text: str
    times: int
    programs: int


class RelearntEntry(Value):
    """A retired entry, and how many lessons repeated it since."""

    key: str
    pattern: str
    relearnt: int


class ProgramHealth(Value):
    """One program that is not healthy."""

    program_id: str
    verdict: HealthVerdict
    total: int
    stale: int


class ModelRun(Value):
    """A run in which the policy's model judged pairs.

    `verdicts` counts its verdicts, `steering` the pairs left to people because one text got the
    same verdict beside anything. `failures` counts questions without a verdict, `problem` is the
    first failure. `tokens` are as the endpoint states.
    """

    model: str
    verdicts: Mapping[str, int] = field(default_factory=dict)
    steering: int = 0
    calls: int = 0
    tokens: int = 0
    failures: int = 0
    problem: str | None = None


Role: TypeAlias = Literal["agent", "judge", "auditor", "admin"]
_INSTEAD: Final[Mapping[Role, str]] = {  # of writing, and for an auditor also of judging
    "judge": "a judge, and write no memory. Send verdicts with pattern_consolidate.",
    "auditor": "an auditor, and judge nothing and write nothing. Read with recall_memory.",
}


@dataclass(frozen=True)
class Caller:
    """Who is calling: bound to one program by the server, or unbound (one person's machine;
    arguments are trusted).

    `connection` is an id of the unbound connection, None for a bound caller. `token_id` names the
    token that binds it, and `toolsets` those that the token allows, None for all that the server
    serves. `client`, `session_id` and `model` are as the client names them, None where it does not.
    """

    program_id: str | None = None
    role: Role = "agent"
    token_id: str | None = None
    toolsets: tuple[str, ...] | None = None
    connection: str | None = None
    client: str | None = None
    session_id: str | None = None
    model: str | None = None

    @property
    def source(self) -> Source:
        """Where the lessons of this call come from."""
        return Source(
            connection=self.connection, token=self.token_id, client=self.client, model=self.model
        )

    @property
    def sees_other_programs(self) -> bool:
        """Whether texts of other programs may be shown to this caller."""
        return self.program_id is None or self.role in ("auditor", "admin")

    def may_write(self, program_id: str) -> bool:
        """Whether this caller may write the memory of `program_id`; judges and auditors have
        none.
        """
        return self.role in ("agent", "admin") and self.program_id in (None, program_id)

    def may_judge(self, program_id: str) -> bool:
        """Whether this caller may judge pairs as `program_id`, and is shown those to judge."""
        return self.role != "auditor" and self.program_id in (None, program_id)

    def reads_another(self, program_id: str) -> bool:
        """Whether this caller is bound, and `program_id` is another program."""
        return self.program_id not in (None, program_id)

    def require_write(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may write the memory of `program_id`."""
        if not self.may_write(program_id):
            self._refuse(f"write only your own memory, not {program_id}'s", _INSTEAD.get(self.role))

    def require_judging(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may judge pairs as `program_id`."""
        if not self.may_judge(program_id):
            instead = _INSTEAD["auditor"] if self.role == "auditor" else None
            self._refuse(f"judge only as yourself, not as {program_id}", instead)

    def require_read(self, program_id: str) -> None:
        """Raise ForbiddenError unless this caller may read the memory of `program_id`."""
        if self.reads_another(program_id) and not self.sees_other_programs:
            self._refuse(f"read only your own memory, not {program_id}'s")

    def require_curation(self) -> None:
        """Raise ForbiddenError unless this caller may set rules and retire entries: people may,
        agents may not.
        """
        if self.program_id is not None and self.role != "admin":
            raise ForbiddenError(
                f"You are {self.program_id}, and only an operator may do this, without --program "
                "and FLEET_MEMORY_PROGRAM, or with a token of the role admin. Report what you "
                "saw with reinforce_memory."
            )

    def _refuse(self, limit: str, instead: str | None = None) -> NoReturn:
        again = f"and may {limit}. Call again with programId {self.program_id!r}."
        bound = "," if instead else ""
        raise ForbiddenError(f"You are {self.program_id or 'a reader'}{bound} {instead or again}")


UNBOUND: Final = Caller()


class TokenRecord(Value):
    """One token: the program that it binds, its role, and the toolsets that it allows, None for
    all.

    `secret_hash` is the SHA-256 of its secret in hex. The secret has 256 random bits, too many to
    try: a salt or a slow hash would add nothing. `expires_at` is None for a token that does not
    expire. `last_used_on` is the day of its last use, None before the first.
    """

    token_id: str
    program_id: str
    role: Role
    toolsets: tuple[str, ...] | None = None
    secret_hash: str
    created_at: Timestamp
    created_by: str
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None
    revoked_by: str | None = None
    last_used_on: date | None = None


class ClaimedBearer(Value):
    """The bearer of an issuer's token, by its claims."""

    program_id: Name
    role: Role = "agent"
