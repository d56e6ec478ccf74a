"""The fleet that a tool works on: its memory, embedder, clock and caller; and what a toolset is."""

from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import JsonValue

from fleet_memory.repositories.administration import Policies, Tokens
from fleet_memory.repositories.knowledge import Knowledge
from fleet_memory.repositories.pairs import Pairs
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.proposing_memory import ProposingMemory
from fleet_memory.repositories.runs import LastRuns
from fleet_memory.rules.erasing import DocumentFields, Erasure, fields_after
from fleet_memory.rules.retrieval.boot import Depth
from fleet_memory.schemas.policy import Sharing
from fleet_memory.schemas.programs import UNBOUND, Caller
from fleet_memory.schemas.value import Value
from fleet_memory.similarity import Embedder, JudgeModel
from fleet_memory.stores import Store, Write

_Policy = TypeVar("_Policy", bound=Value)
Progress: TypeAlias = Callable[[float, float, str], Awaitable[None]]
"""Reports (done, total, message); does nothing when the client did not ask for progress."""


async def no_progress(_done: float, _total: float, _message: str) -> None:
    """Report no progress."""


JsonObject: TypeAlias = dict[str, JsonValue]
Effect: TypeAlias = Literal["reads", "writes", "adds", "replaces"]
"""What a call changes: nothing; something, and a repetition nothing more; more with each
repetition; or it takes away what agents read."""
Access: TypeAlias = Literal["program", "own", "judging", "shared", "fleet", "curation"]
"""Whom a tool answers: whoever may read the program, write it, or judge as it; any caller; those
who see all programs; people and admins."""


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool: an async function whose signature is its schema and whose docstring says when to call
    it.

    `search_hint` has the words by which a client that hides tools behind a search finds this one;
    with `loaded` it is asked not to hide it. `reshape` turns unambiguous shapes of arguments
    into the published one. `masks` are arguments in which it masks credentials itself: they
    are not refused then.
    """

    function: Callable[..., Awaitable[Value]]
    title: str
    search_hint: str
    effect: Effect
    access: Access
    loaded: bool = False
    masks: Sequence[str] = ()
    reshape: Callable[[JsonObject], JsonObject] = dict

    @property
    def name(self) -> str:
        """Its name on the wire, e.g. "write_note"."""
        return self.function.__name__


class PromptTask(NamedTuple):
    """A task that a person chooses in a client: a function that words it for the agent; its
    arguments have their names on the wire.
    """

    function: Callable[..., Awaitable[str]]
    title: str
    description: str


@dataclass(frozen=True)
class Collection:
    """Documents that a toolset owns, at `fleet.paths.collection(name)`, each with a field
    `programId` where one program wrote it.

    Export and import carry them, by id; `united` makes one of the document here and another of its
    id, which is left out else. A purge removes those of a program and marks its text in others;
    `erased` returns what it leaves of a document's fields, None for nothing. `large` are fields of
    lists, objects or more than 1,500 bytes, of which Firestore keeps no index.
    """

    name: str
    large: Sequence[str] = ()
    united: Callable[[DocumentFields, DocumentFields], DocumentFields] = lambda here, _there: here
    erased: Callable[[DocumentFields, Erasure], DocumentFields | None] = fields_after


class Writer(Protocol):
    """The writes of a run of maintenance: each renews its lease, and none is made on trial."""

    async def try_commit(self, *writes: Write) -> bool:
        """Commit; return False when another wrote one of the documents first."""


class BootPart(NamedTuple):
    """A section of a boot, `toolsets.NAME` of its answer: its title in a boot as text, the items
    for a program at a depth, the most important first, and the line of one as text. As many are
    shown as the budget goes.
    """

    title: str
    items: Callable[["Fleet", str, Depth], Awaitable[Sequence[Value]]]
    line: Callable[[JsonObject], str]


class PeoplesCommand(NamedTuple):
    """A command for people: `fleet-memory NAME`, its line in --help, the words of an example after
    its name, its own arguments, and its answer.
    """

    name: str
    help: str
    example: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[["Fleet", Namespace], Awaitable[Value]]


class ActivityRow(NamedTuple):
    """What a program did: when, its name, a sentence, and the id of the record to open, e.g.
    `ActivityRow(now, "iso", "claimed src/auth", "c4f1")`; "" where there is none.
    """

    at: datetime
    program_id: str
    text: str
    record: str = ""


class WindowPart(NamedTuple):
    """What the window shows of a toolset: at most `limit` rows of its activity, newest first, and
    one of its records by id, None where there is none.
    """

    activity: Callable[["Fleet", int], Awaitable[Sequence[ActivityRow]]]
    record: Callable[["Fleet", str], Awaitable[Value | None]]


@dataclass(frozen=True, eq=False)
class Toolset:
    """Some tools, and all that the rest of the server needs to know of them.

    `instructions` are steps, each a line of what an agent is told when it connects; `hook` is a
    line that the hook of a client adds at the start of a session. `health` is `toolsets.NAME` of
    `memory_health` for a program. `maintain` is called by each run of
    maintenance, and by a purge when the documents are done, and returns how many it changed.
    `policy` has the values that people set as `NAME.value`, e.g. `work.keepDays`, each with a
    default, a description and a range, as those of `Policy`; `Fleet.policy_of` reads them. `window`
    is its part of the pages for people.
    """

    name: str
    tools: Sequence[Tool]
    instructions: Sequence[str] = ()
    hook: str = ""
    prompts: Sequence[PromptTask] = ()
    commands: Sequence[PeoplesCommand] = ()
    collections: Sequence[Collection] = ()
    boot: BootPart | None = None
    health: Callable[["Fleet", str], Awaitable[Value]] | None = None
    maintain: Callable[["Fleet", Writer], Awaitable[int]] | None = None
    policy: type[Value] | None = None
    window: WindowPart | None = None


@dataclass(frozen=True)
class Fleet:
    """A fleet's memory, embedder and clock, and the caller, as the tools use them.

    `publish_later` asks the background task of the server to publish soon; it does nothing where
    there is none. `memory` has the lessons that this process compared last. `max_programs_read` is
    the largest fleet, in programs, that a process without them reads whole to propose pairs; None
    for any. `judge_model` reads pairs where the policy names a model; None where this server has no
    endpoint for one. `default_sharing` holds where the policy names none. `toolsets` are all that
    are installed, `served` the names of those that this process offers. `sessions` are those that
    programs joined here, see `session_of`. `scratch` is a file for what toolsets can make again,
    beside a store that is a file; a purge deletes it.
    """

    programs: Programs
    knowledge: Knowledge
    pairs: Pairs
    policies: Policies
    last_runs: LastRuns
    tokens: Tokens
    embedder: Embedder
    now: Callable[[], datetime]
    caller: Caller = UNBOUND
    publish_later: Callable[[], None] = lambda: None
    memory: ProposingMemory = field(default_factory=ProposingMemory)
    max_programs_read: int | None = None
    judge_model: JudgeModel | None = None
    default_sharing: Sharing = "knowledge"
    toolsets: Sequence[Toolset] = ()
    served: Container[str] = ()
    sessions: dict[tuple[str | None, str], str] = field(default_factory=dict)
    scratch: Path | None = None

    def session_of(self, program_id: str, joined: str | None = None) -> str | None:
        """Return the session that a program works in: that of the job which it joined last over
        this token or connection, else the client's own.
        """
        key = self.caller.token_id or self.caller.connection, program_id
        if joined:
            self.sessions[key] = joined
        return self.sessions.get(key, self.caller.session_id)

    @property
    def store(self) -> Store:
        """Where its documents are."""
        return self.programs.store

    @property
    def paths(self) -> FleetPaths:
        """The places of its documents."""
        return self.programs.paths

    @property
    def collections(self) -> dict[str, Collection]:
        """The collections of all toolsets, by name."""
        return {each.name: each for toolset in self.toolsets for each in toolset.collections}

    @property
    def served_toolsets(self) -> list[Toolset]:
        """The toolsets that the caller is served."""
        allowed = self.served if self.caller.toolsets is None else self.caller.toolsets
        return [each for each in self.toolsets if each.name in self.served and each.name in allowed]

    async def policy_of(self, toolset: str, kind: type[_Policy]) -> _Policy:
        """Return the policy of a toolset, whose `policy` is `kind`. Billed as the policy."""
        policy = await self.policies.read(self.now())
        return kind.from_fields((policy.toolsets or {}).get(toolset, {}))

    async def sharing(self) -> Sharing:
        """Return what agents read of each other. Billed as the policy."""
        return (await self.policies.read(self.now())).sharing or self.default_sharing

    @classmethod
    def on(
        cls,
        store: Store,
        fleet_id: str,
        embedder: Embedder,
        now: Callable[[], datetime],
        caller: Caller = UNBOUND,
    ) -> "Fleet":
        """Return the fleet of this id in a store."""
        paths = FleetPaths(fleet_id)
        return cls(
            programs=Programs(store, fleet_id),
            knowledge=Knowledge(store, fleet_id),
            pairs=Pairs(store, paths),
            policies=Policies(store, paths),
            last_runs=LastRuns(store, paths),
            tokens=Tokens(store, paths),
            embedder=embedder,
            now=now,
            caller=caller,
        )

    async def close_programs(self, program_id: str) -> tuple[str, ...]:
        """Return up to three programs with names close to one that does not exist; none to a caller
        bound to one.

        Billed up to 100 reads.
        """
        is_shown = self.caller.sees_other_programs
        return await self.programs.suggestions(program_id) if is_shown else ()

    @property
    def degraded_engine(self) -> str | None:
        """The engine that stands in for the configured one, for answers to name; None when nothing
        is wrong.
        """
        # an endpoint that fails has no engine to stand in for it
        stand_in = "lexical" if self.embedder.name.startswith("lexical/") else "words"
        return stand_in if self.embedder.degraded else None
