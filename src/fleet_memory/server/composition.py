"""Opens store, embedder and judge model at the first call that needs them: start-up waits for none.

This is the one place that picks engines.
"""

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, TypeVar

import anyio
from anyio import to_thread

from fleet_memory.clock import StoreClock, clock
from fleet_memory.errors import SettingsError
from fleet_memory.extensions import StoreLocation, names, part
from fleet_memory.fleet import Fleet, Toolset
from fleet_memory.repositories.administration import Tokens
from fleet_memory.schemas.policy import default_sharing
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.engines import ServedStore, StoreUse, TurnTakingEmbedder
from fleet_memory.settings import OPENAI_URL, Settings
from fleet_memory.similarity import Embedder, JudgeModel
from fleet_memory.stores import Store

MAX_PROGRAMS_READ: Final = 1_000  # Source: docs/maintenance.md, chosen
MAX_PROGRAMS_READ_FIRESTORE: Final = (
    64  # each is a billed read; Source: docs/maintenance.md, chosen
)
CLOSE_WITHIN_S = 5.0  # seconds; a store that does not close by then is left to the operating system

_T = TypeVar("_T")


class LazyFleet:
    """The fleet of one server, opened once. A failure is not remembered: the next call tries again.

    A `StoreClock` as `now` follows the store's time; another clock, e.g. of a replay, does not.
    `is_local`: its callers are on this machine, not over HTTP. `program_of` names the program of a
    client's folder.
    """

    def __init__(
        self,
        settings: Settings,
        now: Callable[[], datetime],
        *,
        is_local: bool = True,
        program_of: Callable[[Path], str] | None = None,
        toolsets: Sequence[Toolset] | None = None,
    ) -> None:
        self._toolsets = toolsets
        self.program_of: Final = program_of
        self._is_local = is_local
        self.settings: Final = settings
        self.now: Final = now
        self._first = anyio.Lock()
        self._opened: tuple[Store, Fleet] | None = None
        self._is_open = anyio.Event()
        self._publication = anyio.Event()
        self.has_waited = False  # whether a change ever waited for its publication
        self.use: Final = StoreUse()  # of the store, by all calls and by the background's work
        self.identified: Callable[[], Caller] | None = (
            None  # the caller of this request, where the transport knows it
        )

    async def fleet(self) -> Fleet:
        """Return the fleet, opened by the first caller."""
        if self._opened is None:
            async with self._first:
                if self._opened is None:
                    self._opened = await self._open()
                    self._is_open.set()
        return self._opened[1]

    async def tokens(self) -> Tokens:
        """Return the tokens of the fleet, opened by the first caller."""
        return (await self.fleet()).tokens

    async def once_open(self) -> Fleet:
        """Return the fleet as soon as another call has opened it."""
        await self._is_open.wait()
        return await self.fleet()

    async def publication_wanted(self) -> None:
        """Return once a change waits for its publication; the next call waits for another one."""
        await self._publication.wait()
        self._publication = anyio.Event()

    async def close(self) -> None:
        """Release the store, even when the server is being cancelled."""
        if self._opened is None:
            return
        with anyio.move_on_after(CLOSE_WITHIN_S, shield=True):
            await self._opened[0].close()

    async def _open(self) -> tuple[Store, Fleet]:
        settings = self.settings
        store: Store = await to_thread.run_sync(
            open_store, settings.store
        )  # the imports would delay other calls
        store = ServedStore(store, self.use, self.now if isinstance(self.now, StoreClock) else None)
        embedder = TurnTakingEmbedder(await to_thread.run_sync(open_embedder, settings))
        fleet = Fleet.on(store, settings.fleet, embedder, self.now, caller_of_process(settings))
        file = settings.store.file
        limit = None if settings.maintain else _max_programs_read(settings.store)
        model = await to_thread.run_sync(open_judge_model, settings)
        return store, replace(
            fleet,
            publish_later=self._want_publication,
            max_programs_read=limit,
            judge_model=model,
            toolsets=installed_toolsets() if self._toolsets is None else self._toolsets,
            served=settings.toolsets,
            scratch=file and file.with_name(f"{file.name}.scratch"),
            default_sharing=default_sharing(is_file=file is not None, is_local=self._is_local),
        )

    def _want_publication(self) -> None:
        self._publication.set()
        self.has_waited = True


def _max_programs_read(location: StoreLocation) -> int:
    """Return the largest fleet, in programs, that a server reads whole to propose pairs."""
    return MAX_PROGRAMS_READ_FIRESTORE if location.engine == "firestore" else MAX_PROGRAMS_READ


def caller_of_process(settings: Settings) -> Caller:
    """Return the caller of this process; an unbound one has a new connection each time."""
    connection = None if settings.program else uuid.uuid4().hex
    return Caller(settings.program, connection=connection, session_id=settings.session_id)


async def with_fleet(settings: Settings, work: Callable[[Fleet], Awaitable[_T]]) -> _T:
    """Open the configured fleet for one piece of work, and return its result."""
    lazy = LazyFleet(settings, clock(settings.now))
    try:
        return await work(await lazy.fleet())
    finally:
        await lazy.close()


async def with_store(settings: Settings, work: Callable[[Store], Awaitable[_T]]) -> _T:
    """Open the configured store for one piece of work, and return its result."""
    store = open_store(settings.store)
    try:
        return await work(store)
    finally:
        await store.close()


def installed_toolsets() -> tuple[Toolset, ...]:
    """Return all toolsets, ours first."""
    return tuple(part("toolsets", name) for name in names("toolsets"))


def every_tool() -> tuple[str, ...]:
    """Return the names of all tools."""
    return tuple(tool.name for toolset in installed_toolsets() for tool in toolset.tools)


async def copy_file(file: Path, copy: Path) -> None:
    """Write a consistent copy of a memory file into an empty one. Raises StoreError."""
    from fleet_memory.stores.sqlite import SqliteStore  # noqa: PLC0415 not needed before the first answer

    store = SqliteStore(file)
    try:
        await store.copy_to(copy)
    finally:
        await store.close()


def require_extra(extra: str, distribution: str) -> None:
    """Raise SettingsError, with the command that installs an extra, where a distribution of it is
    missing.
    """
    try:
        version(distribution)
    except PackageNotFoundError as missing:
        raise SettingsError(
            f"{distribution} is not installed; this does it: pip install 'fleet-memory[{extra}]'"
        ) from missing


def require_engine(location: StoreLocation) -> None:
    """Raise SettingsError where the engine of a location is an extra that is missing."""
    if location.engine == "firestore":
        require_extra("firestore", "google-cloud-firestore")


def open_store(location: StoreLocation) -> Store:
    """Return the configured engine; it connects at its first verb. Raises SettingsError."""
    require_engine(location)
    store: Store = part("stores", location.engine)(*location.words)
    return store


def open_embedder(settings: Settings) -> Embedder:
    """Return the configured engine; a model loads at its first text.

    Falls back to `Lexical` if the model cannot load. An endpoint that fails is asked again instead.
    """
    kind, _, model = settings.embedder.partition(":")
    opened = part("embedders", kind)
    embedder: Embedder = opened(model, settings.embedder_url, settings.embedder_key)
    return embedder


def open_judge_model(settings: Settings) -> JudgeModel | None:
    """Return the model that judges where the fleet's policy names one; None where this server has
    no endpoint.

    OpenAI's address is the default, so it counts as configured only with a key of its own: a policy
    that means a model on another machine sends nothing there.
    """
    if settings.judge_url == OPENAI_URL and not settings.judge_key:
        return None
    from fleet_memory.similarity.judge_model import ChatModel  # noqa: PLC0415 not needed before the first answer

    return ChatModel(settings.judge_url, settings.judge_key)
