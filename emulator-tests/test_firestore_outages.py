"""A Firestore that goes away under load, or falls silent, comes back to every acknowledged write,
each applied once.
"""

import itertools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from agents import Agent, agent
from emulator import VARIABLE, Emulator, NoEmulator, started

from fleet_memory.errors import StoreUnavailableError
from fleet_memory.repositories.programs import Programs
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Query, Ref, Store, Write
from fleet_memory.stores.firestore import FirestoreStore
from tests.bounds import HANG_S

pytestmark = [pytest.mark.anyio, pytest.mark.kills]

PROJECT = "outage"
NOW = "2026-03-01T09:00:00Z"
ENTRY = Ref("fleets/f1/gsp", "entry")
GROUPS = ("programs", "archive", "gsp", "snapshots", "ledger", "leases", "waiting")
AGENTS = ("basher", "sark", "iso")
ENOUGH = 8  # lessons of each agent before, and again after


class Mortal:
    """An emulator of this test's own, which may die, and be born again at its port with an empty
    memory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: Emulator = started(folder)
        self.port = int(self.running.host.rpartition(":")[2])

    def signal(self, number: signal.Signals) -> None:
        assert self.running.process is not None
        self.running.process.send_signal(number)

    async def be_born_again(self) -> None:
        self.running = await anyio.to_thread.run_sync(started, self.folder, self.port)


@pytest.fixture
def mortal(tmp_path: Path, emulator: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mortal]:
    assert emulator  # or this test is skipped like the others
    try:
        one = Mortal(tmp_path)
    except (
        NoEmulator
    ) as missing:  # the one that is running is somebody else's, and not to be killed
        pytest.skip(str(missing))
    monkeypatch.setenv(VARIABLE, one.running.host)
    yield one
    one.running.kill()


class Load:
    """Agents that store and reinforce without a pause; one that is refused waits for `back`, and
    calls again.
    """

    def __init__(self) -> None:
        self.stored: dict[str, set[str]] = {name: set() for name in AGENTS}
        self.refused: set[str] = set()
        self.back = anyio.Event()
        self.over = False
        self._changed = anyio.Condition()

    async def run(self, name: str, server: Agent) -> None:
        for n in itertools.count():
            id_ = f"p{n}"
            pattern = {
                "id": id_,
                "pattern": f"Lesson {n}",
                "domain": "d",
                "confidence": 0.5,
                "evidence": "",
            }
            await self._insist(name, server, "store_memory", pattern=pattern)
            self.stored[name].add(id_)
            await self._insist(
                name, server, "reinforce_memory", patternId="p0", requestId=f"request-{n}"
            )
            await self._tell()
            if self.over:
                return

    async def until(self, condition: Callable[[], bool]) -> None:
        async with self._changed:
            while not condition():
                await self._changed.wait()

    async def _insist(self, name: str, server: Agent, tool: str, **arguments: object) -> None:
        while True:
            result = await server.client.call_tool(tool, {"programId": name, **arguments})
            if not result.is_error:
                return
            said = "".join(block.text for block in result.content if block.type == "text")
            assert said.startswith("store_unavailable: ")
            assert said.endswith("(retryable)")
            self.refused.add(name)
            await self._tell()
            await self.back.wait()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()


@asynccontextmanager
async def load() -> AsyncIterator[Load]:
    """Run the load: enough of it before the body, which makes all agents be refused, and enough
    after.
    """
    these = Load()
    async with AsyncExitStack() as stack:
        serve = [agent(f"firestore://{PROJECT}", now=NOW, embedder="lexical") for _ in AGENTS]
        servers = [await stack.enter_async_context(one) for one in serve]
        together = await stack.enter_async_context(anyio.create_task_group())
        for name, server in zip(AGENTS, servers, strict=True):
            together.start_soon(these.run, name, server)
        await these.until(lambda: min(map(len, these.stored.values())) >= ENOUGH)
        yield these
        before = {name: len(ids) for name, ids in these.stored.items()}
        these.back.set()
        await these.until(
            lambda: min(len(these.stored[name]) - before[name] for name in AGENTS) >= ENOUGH
        )
        these.over = True


async def everything(store: Store) -> list[Document]:
    collections = ["fleet_memory", *(f"fleets/default/{group}" for group in GROUPS)]
    return [document for each in collections for document in await store.find(Query(each))]


async def programs() -> Mapping[str, Program]:
    store = FirestoreStore(PROJECT)
    found = {name: await Programs(store, "default").read(name) for name in AGENTS}
    await store.close()
    return found


@pytest.mark.parametrize("first", ["get", "commit"])
async def test_a_store_that_goes_away_is_unavailable_until_it_comes_back(
    mortal: Mortal, first: str
) -> None:
    store = FirestoreStore(PROJECT)
    verbs: dict[str, Callable[[], Awaitable[object]]] = {
        "get": lambda: store.get(ENTRY),
        "find": lambda: store.find(Query(ENTRY.collection)),
        "total": lambda: store.total(Query(ENTRY.collection)),
        "commit": lambda: store.commit(Write(ENTRY, {"n": 2})),
    }
    await store.commit(Write(ENTRY, {"n": 1}))
    mortal.running.kill()
    for verb in sorted(verbs, key=lambda name: name != first):
        with anyio.fail_after(HANG_S), pytest.raises(StoreUnavailableError):
            await verbs[verb]()
    await mortal.be_born_again()
    assert await store.get(ENTRY) == [None]
    await store.commit(Write(ENTRY, {"n": 3}))
    assert await store.total(Query(ENTRY.collection), "n") == 3
    await store.close()


async def test_servers_carry_on_when_the_emulator_died_and_its_data_was_imported_again(
    mortal: Mortal,
) -> None:
    store = FirestoreStore(PROJECT)
    with anyio.fail_after(HANG_S):
        async with load() as agents:
            kept = {name: set(ids) for name, ids in agents.stored.items()}
            documents = await everything(store)
            mortal.running.kill()
            await agents.until(lambda: len(agents.refused) == len(AGENTS))
            lost = {name: set(ids) for name, ids in agents.stored.items()}
            await mortal.be_born_again()
            for document in documents:
                await store.commit(Write(document.ref, document.fields))
        found = await programs()
    for name in AGENTS:
        assert found[name].patterns.keys() >= kept[name] | (agents.stored[name] - lost[name])
    await store.close()


async def test_a_silent_store_loses_nothing_and_applies_nothing_twice(mortal: Mortal) -> None:
    with anyio.fail_after(HANG_S):
        async with load() as agents:
            mortal.signal(
                signal.SIGSTOP
            )  # calls that are under way get no answer, but are applied later, or are not
            await agents.until(lambda: len(agents.refused) == len(AGENTS))
            mortal.signal(signal.SIGCONT)
        found = await programs()
    for name in AGENTS:
        assert found[name].patterns.keys() == agents.stored[name]
        assert found[name].patterns["p0"].confirmations == len(agents.stored[name])
