"""Who calls, as the client states it: over the protocol with `initialize` ("legacy") and over the
one without.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import anyio
import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.types import Implementation, RequestParamsMeta, ToolAnnotations

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet, Tool
from fleet_memory.rules.tokens import made_token
from fleet_memory.schemas.programs import Caller
from fleet_memory.schemas.value import Value
from fleet_memory.server.composition import LazyFleet, caller_of_process
from fleet_memory.server.registration import registered
from fleet_memory.settings import SESSION_VARIABLE, Settings, load
from tests.bounds import HANG_S

pytestmark = pytest.mark.anyio

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
EDITOR = Implementation(name="editor", version="1")


class CallerAnswer(Value):
    connection: str | None = None
    client: str | None = None
    session_id: str | None = None
    model: str | None = None


async def name_caller(fleet: Fleet) -> CallerAnswer:
    """Return the caller."""
    who = fleet.caller
    return CallerAnswer(
        connection=who.connection, client=who.client, session_id=who.session_id, model=who.model
    )


def server(settings: Settings) -> MCPServer[LazyFleet]:
    @asynccontextmanager
    async def lifespan(_server: MCPServer[LazyFleet]) -> AsyncIterator[LazyFleet]:
        lazy = LazyFleet(settings, clock(settings.now))
        try:
            yield lazy
        finally:
            await lazy.close()

    return MCPServer(
        "test",
        lifespan=lifespan,
        tools=[registered(Tool(name_caller, "Name the caller", "caller", "reads", "shared"))],
    )


async def callers(
    settings: Settings, mode: str, *metas: RequestParamsMeta, client_info: Implementation = EDITOR
) -> list[CallerAnswer]:
    with anyio.fail_after(HANG_S):
        async with Client(server(settings), mode=mode, client_info=client_info) as client:
            results = [await client.call_tool("name_caller", {}, meta=meta) for meta in metas]
    return [CallerAnswer.from_fields(result.structured_content or {}) for result in results]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_names_its_client_its_session_and_its_model(
    settings: Settings, mode: str
) -> None:
    bound = replace(settings, program="basher", session_id="started-in")
    named = cast(
        "RequestParamsMeta", {"fleet-memory/session": "s1", "fleet-memory/model": "claude"}
    )
    odd = cast("RequestParamsMeta", {"fleet-memory/session": "two words", "fleet-memory/model": 3})
    assert await callers(bound, mode, named, odd, {}) == [
        CallerAnswer(client="editor", session_id="s1", model="claude"),
        CallerAnswer(client="editor", session_id="started-in"),
        CallerAnswer(client="editor", session_id="started-in"),
    ]


TOKEN = made_token(bytes(10), bytes(range(32))).token


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("Visual Studio Code", "Visual Studio Code"),
        ("n" * 101, "n" * 100),
        (f"{'n' * 1_000} {TOKEN}", "n" * 100),  # which would take a second of a name of 1 MiB
        ("\x1b[2J\x1b[31mred", None),
        ("one\ntwo", None),
        ("from the \u202eright", None),
        (f"editor {TOKEN}", None),
    ],
)
async def test_a_clients_name_with_a_control_character_or_a_credential_is_ignored(
    settings: Settings, mode: str, name: str, stored: str | None
) -> None:
    meta = cast("RequestParamsMeta", {"fleet-memory/session": TOKEN, "fleet-memory/model": TOKEN})
    (caller,) = await callers(
        replace(settings, program="basher"),
        mode,
        meta,
        client_info=Implementation(name=name, version="1"),
    )
    assert caller == CallerAnswer(client=stored)


async def test_an_unbound_process_is_one_connection_and_another_process_is_another(
    settings: Settings,
) -> None:
    first, second = await callers(settings, "auto", {}, {})
    (other,) = await callers(settings, "auto", {})
    assert first.connection == second.connection is not None
    assert other.connection not in (None, first.connection)


def test_a_bound_process_is_known_by_name_and_has_no_connection(settings: Settings) -> None:
    assert caller_of_process(replace(settings, program="basher")) == Caller("basher")


@pytest.mark.parametrize(
    ("given", "read"), [("0e1f-22", "0e1f-22"), ("", None), ("two words", None)]
)
def test_the_session_of_the_client_that_starts_the_server_is_read(
    given: str, read: str | None
) -> None:
    assert load({}, {SESSION_VARIABLE: given}).session_id == read
