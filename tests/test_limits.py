"""Limits of each token: calls a minute, calls at once, and turns at the engines, so that others go
on.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event, Lock
from typing import Literal, TypeAlias
from weakref import WeakValueDictionary

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError
from mcp.server.context import ServerMiddleware
from mcp.types import CallToolResult, ErrorData, PromptReference, TextContent

from fleet_memory.clock import clock
from fleet_memory.errors import RPC_RATE_LIMITED, RateLimitedError
from fleet_memory.schemas.programs import Caller
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.engines import (
    MAX_EMBEDDINGS,
    MAX_STORE_VERBS,
    ServedStore,
    StoreUse,
    Turns,
    TurnTakingEmbedder,
    turns_of_call,
)
from fleet_memory.server.limits import MIN_OTHERS, Allowance, CallLimits
from fleet_memory.server.observing.requests import RequestObserver, SeenRequest
from fleet_memory.settings import Rate, Settings
from fleet_memory.similarity.openai import OpenAI
from fleet_memory.stores import Document, Ref
from fleet_memory.stores.sqlite import SqliteStore
from tests.bounds import HANG_S
from tests.serving import serving

CALL = {"programId": "basher"}


class Seconds:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def refused(allowance: Allowance, name: str = "a1") -> str:
    """Make a call that ends at once; return its refusal, "" for none."""
    try:
        with allowance.call(name):
            return ""
    except RateLimitedError as refusal:
        return str(refusal)


def test_a_token_makes_its_calls_at_once_and_then_one_for_each_share_of_a_minute() -> None:
    seconds = Seconds()
    allowance = Allowance(Rate(4, 9), seconds)
    assert [refused(allowance) for _ in range(5)] == [
        *[""] * 4,
        "Your token may make 4 calls a minute; call again in 15 s.",
    ]
    seconds.now = 14.9
    assert refused(allowance) == "Your token may make 4 calls a minute; call again in 1 s."
    seconds.now = 15.0
    assert [bool(refused(allowance)) for _ in range(2)] == [False, True]


def test_calls_at_once_are_limited_and_a_refused_call_costs_nothing() -> None:
    allowance = Allowance(Rate(3, 2), Seconds())
    with ExitStack() as running:
        for _ in range(2):
            running.enter_context(allowance.call("a1"))
        assert refused(allowance) == (
            "Your token may make 2 calls at once; call again when one of them is answered, or "
            "in 1 s."
        )
        assert refused(allowance, "b2") == ""
    assert refused(allowance) == ""


def test_a_call_that_fails_runs_no_longer() -> None:
    allowance = Allowance(Rate(100, 1), Seconds())
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"), allowance.call("a1"):
            raise ValueError("broken")
    assert refused(allowance) == ""


@given(st.integers(1, 50), st.lists(st.floats(0, 30), max_size=200))
def test_at_no_time_has_a_token_made_more_than_two_minutes_calls_within_one(
    calls: int, pauses: list[float]
) -> None:
    seconds = Seconds()
    allowance, made = Allowance(Rate(calls, 1), seconds), list[float]()
    for pause in pauses:
        seconds.now += pause
        if not refused(allowance):
            made.append(seconds.now)
    assert all(sum(at <= other < at + 60 for other in made) <= 2 * calls for at in made)


@given(st.integers(1, 1000), st.floats(0, 1e6))
def test_the_seconds_of_a_refusal_are_enough(calls: int, begin: float) -> None:
    seconds = Seconds()
    seconds.now = begin
    allowance = Allowance(Rate(calls, 1), seconds)
    while not (refusal := refused(allowance)):
        pass
    seconds.now += float(refusal.rpartition(" in ")[2].removesuffix(" s."))
    assert refused(allowance) == ""


def text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_beyond_the_rate_is_a_retryable_tool_error(
    settings: Settings, mode: Literal["auto", "legacy"]
) -> None:
    lazy = LazyFleet(settings, clock(settings.now))
    lazy.identified = lambda: Caller("basher", "agent", "a1")
    server = create_server(settings, lazy=lazy, middleware=[CallLimits(Rate(2, 1), Seconds())])
    with anyio.fail_after(HANG_S):
        async with Client(server, mode=mode) as client:
            results = [await client.call_tool("memory_health", CALL) for _ in range(3)]
            assert (await client.list_tools()).tools  # that is no call of a tool
    assert [result.is_error for result in results] == [False, False, True]
    assert text_of(results[2]) == (
        "rate_limited: Your token may make 2 calls a minute; call again in 30 s. (retryable)"
    )


Ask: TypeAlias = Callable[[Client], Awaitable[object]]
WORKING: Mapping[str, Ask] = {
    "prompts/get": lambda client: client.get_prompt("boot"),
    "resources/read": lambda client: client.read_resource("fleet://lessons"),
    "completion/complete": lambda client: client.complete(
        PromptReference(name="boot"), {"name": "task", "value": "x"}
    ),
}
CONNECTING: Sequence[Ask] = (
    lambda client: client.list_tools(),
    lambda client: client.list_prompts(),
    lambda client: client.list_resources(),
    lambda client: client.list_resource_templates(),
)


@asynccontextmanager
async def limited_client(
    settings: Settings,
    rate: Rate,
    observers: Sequence[RequestObserver] = (),
    mode: Literal["auto", "legacy"] = "auto",
) -> AsyncIterator[Client]:
    """Connect to a server over which time stands still."""
    lazy = LazyFleet(settings, clock(settings.now))
    lazy.identified = lambda: Caller("basher", "agent", "a1")
    middleware: list[ServerMiddleware[LazyFleet]] = [*observers, CallLimits(rate, Seconds())]
    with anyio.fail_after(HANG_S):
        async with Client(
            create_server(settings, lazy=lazy, middleware=middleware), mode=mode
        ) as client:
            yield client


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("method", WORKING)
async def test_a_request_that_does_work_counts_as_a_call(
    settings: Settings, method: str, mode: Literal["auto", "legacy"]
) -> None:
    seen = list[SeenRequest]()
    async with limited_client(
        settings, Rate(1, 1), [RequestObserver([seen.append], ())], mode
    ) as client:
        assert not (await client.call_tool("memory_health", CALL)).is_error
        with pytest.raises(MCPError) as raised:
            await WORKING[method](client)
    text = "rate_limited: Your token may make 1 calls a minute; call again in 60 s. (retryable)"
    data = {"code": "rate_limited", "retryable": True, "retryAfterSeconds": 60}
    assert raised.value.error == ErrorData(code=RPC_RATE_LIMITED, message=text, data=data)
    assert [request.outcome for request in seen if request.method == method] == ["rate_limited"]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_with_one_call_a_minute_can_connect_and_make_it(
    settings: Settings, mode: Literal["auto", "legacy"]
) -> None:
    async with limited_client(settings, Rate(1, 1), mode=mode) as client:
        for _ in range(3):
            for ask in CONNECTING:
                await ask(client)
        assert not (await client.call_tool("memory_health", CALL)).is_error


@pytest.mark.anyio
async def test_lists_have_a_limit_of_their_own_that_takes_no_call(settings: Settings) -> None:
    async with limited_client(
        settings, Rate(2, 1), mode="legacy"
    ) as client:  # it keeps no list that it was given
        for number in range(MIN_OTHERS - 1):  # one connected
            await CONNECTING[number % len(CONNECTING)](client)
        with pytest.raises(MCPError) as raised:
            await client.list_tools()
        assert raised.value.error.message == (
            f"rate_limited: Your token may make {MIN_OTHERS} requests other than calls a "
            "minute; call again in 1 s. "
            "(retryable)"
        )
        assert not (await client.call_tool("memory_health", CALL)).is_error


@pytest.mark.anyio
async def test_callers_without_a_token_have_no_limit(settings: Settings) -> None:
    lazy = LazyFleet(settings, clock(settings.now))
    lazy.identified = lambda: Caller(connection="http")
    with anyio.fail_after(HANG_S):
        async with Client(
            create_server(settings, lazy=lazy, middleware=[CallLimits(Rate(1, 1))])
        ) as client:
            assert [(await client.call_tool("memory_health", CALL)).is_error for _ in range(3)] == [
                False
            ] * 3


class _HoldingEndpoint(BaseHTTPRequestHandler):
    """An embedding endpoint that answers texts of wren only once it may."""

    may_answer: Event
    waiting: list[str]
    most: list[int]
    lock: Lock

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        (text,) = question["input"]
        if text.startswith("wren"):
            with self.lock:
                self.waiting.append(text)
                self.most.append(len(self.waiting))
            self.may_answer.wait(HANG_S)
            with self.lock:
                self.waiting.remove(text)
        body = json.dumps({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.anyio
async def test_one_program_with_a_slow_embedder_does_not_hold_up_another() -> None:
    may_answer, most = Event(), list[int]()
    fields = {"may_answer": may_answer, "waiting": [], "most": most, "lock": Lock()}
    programs = WeakValueDictionary[str, Turns]()
    ended: list[str] = []
    with anyio.fail_after(HANG_S), serving(type("Endpoint", (_HoldingEndpoint,), fields)) as port:
        engine = TurnTakingEmbedder(OpenAI("m", f"http://127.0.0.1:{port}/v1"))

        async def embed(program: str, number: int) -> None:
            turns_of_call.set(programs.setdefault(program, Turns()))
            assert (await engine.vectors([f"{program} {number}"])).tolist() == [[1.0, 0.0]]
            ended.append(program)

        async with anyio.create_task_group() as flood:
            for number in range(12):
                flood.start_soon(embed, "wren", number)
            while len(most) < MAX_EMBEDDINGS:
                await anyio.lowlevel.checkpoint()
            async with anyio.create_task_group() as others:
                for number in range(12):
                    others.start_soon(embed, "atlas", number)
            assert ended == ["atlas"] * 12  # while all of wren's wait
            may_answer.set()
    assert ended[12:] == ["wren"] * 12
    assert max(most) == MAX_EMBEDDINGS
    assert len(programs) == 0


class _OrderedStore(SqliteStore):
    """A real file that notes the order in which it is asked."""

    def __init__(self, path: str, asked: list[str]) -> None:
        super().__init__(path)
        self._asked = asked

    async def get(self, *refs: Ref) -> list[Document | None]:
        documents = await super().get(*refs)
        self._asked += [ref.id for ref in refs]
        return documents


@pytest.mark.anyio
async def test_a_program_that_floods_the_store_is_few_verbs_ahead_of_another(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    store = ServedStore(_OrderedStore(str(tmp_path / "memory.db"), asked), StoreUse())
    programs = WeakValueDictionary[str, Turns]()

    async def read(program: str) -> None:
        turns_of_call.set(programs.setdefault(program, Turns()))
        await store.get(Ref("fleets/f/programs", program))

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as calls:
            for _ in range(200):
                calls.start_soon(read, "wren")
            await anyio.lowlevel.checkpoint()  # they are in the line
            for _ in range(10):
                calls.start_soon(read, "atlas")
    await store.close()
    assert len(asked) == 210
    last_of_atlas = 209 - asked[::-1].index("atlas")
    assert last_of_atlas < 10 * (1 + MAX_STORE_VERBS) + MAX_STORE_VERBS
