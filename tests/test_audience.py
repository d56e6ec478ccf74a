"""How a server describes itself to each caller: its tools, prompts and instructions, by role and
token.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from fleet_memory.clock import clock
from fleet_memory.schemas.programs import Caller, Role
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import CURATION, Settings, load
from tests import forked
from tests.bounds import HANG_S
from tests.calls import refusal
from tests.matrix import names_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["auto", "legacy"])]

BASHER = Caller("basher", "agent", "t1")


@asynccontextmanager
async def called_by(settings: Settings, caller: Caller | None, mode: str) -> AsyncIterator[Client]:
    """Yield a client that the server knows as `caller`; for None one of the process's own."""
    lazy = LazyFleet(settings, clock(None))
    lazy.identified = (lambda: caller) if caller else None
    async with Client(create_server(settings, lazy=lazy), mode=mode) as client:
        yield client


async def listed(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, toolsets=("core", "session"))


async def test_a_caller_is_listed_the_toolsets_that_both_the_server_and_its_token_allow(
    settings: Settings, mode: str
) -> None:
    for toolsets, served in (
        (None, ("core", "session")),
        (("core",), ("core",)),
        (("core", "knowledge", CURATION), ("core",)),
    ):
        async with called_by(settings, replace(BASHER, toolsets=toolsets), mode) as client:
            assert await listed(client) == names_of(*served)


async def test_the_tools_that_curate_are_an_admins_unless_its_token_leaves_them_out(
    settings: Settings, mode: str
) -> None:
    admin = Caller("ada", "admin", "t1")
    for caller, served in (
        (admin, ("core", "session", CURATION)),
        (replace(admin, toolsets=("session",)), ("session",)),
        (replace(admin, toolsets=(CURATION,)), (CURATION,)),
        (None, ("core", "session")),
        (Caller(connection="http"), ("core", "session")),
    ):
        async with called_by(settings, caller, mode) as client:
            assert await listed(client) == names_of(*served)
    assert CURATION not in load({"toolsets": "all"}, {}).toolsets


async def test_a_tool_that_always_refuses_a_caller_is_not_listed_to_it(
    settings: Settings, mode: str
) -> None:
    every = replace(settings, toolsets=("core", "knowledge"))
    listing: dict[Role, bool] = {"agent": False, "judge": False, "auditor": True}
    for role, is_listed in listing.items():
        async with called_by(every, replace(BASHER, role=role), mode) as client:
            assert ("fleet_health" in await listed(client)) == is_listed
    async with called_by(every, Caller(connection="http"), mode) as client:
        assert "fleet_health" in await listed(client)


async def test_a_call_outside_of_a_tokens_toolsets_names_the_toolset(
    settings: Settings, mode: str
) -> None:
    async with called_by(settings, replace(BASHER, toolsets=("core",)), mode) as client:
        assert await refusal(client, "write_note", text="x") == (
            "invalid_argument: write_note is in the toolset state; you are served core: start the "
            "server with FLEET_MEMORY_TOOLSETS=core,state, and let your token have it"
        )
        assert "start the server with FLEET_MEMORY_TOOLSETS=core,knowledge" in await refusal(
            client, "gsp_diff"
        )
        assert await refusal(client, "retire_knowledge") == (
            "invalid_argument: retire_knowledge is in the toolset curation; you are served core: "
            "it is for tokens of the role admin; people have commands for it"
        )


async def test_an_admin_is_advised_toolsets_that_the_setting_takes(
    settings: Settings, mode: str
) -> None:
    async with called_by(settings, Caller("basher", "admin", "t1"), mode) as client:
        words = await refusal(client, "gsp_diff")
    _, _, rest = words.partition("FLEET_MEMORY_TOOLSETS=")
    advised, _, _ = rest.partition(", and")
    assert load({"toolsets": advised}, {}).toolsets == ("core", "session", "knowledge")


async def test_prompts_know_a_bound_caller_and_the_tools_that_it_is_served(
    settings: Settings, mode: str
) -> None:
    async with called_by(settings, replace(BASHER, toolsets=("core",)), mode) as client:
        required = [
            one.required
            for prompt in (await client.list_prompts()).prompts
            for one in prompt.arguments or ()
        ]
        assert set(required) == {False}
        assert 'agentId "basher"' in (await client.get_prompt("boot")).model_dump_json().replace(
            '\\"', '"'
        )
        with pytest.raises(MCPError, match="forbidden: You are basher; leave out agentId"):
            await client.get_prompt("boot", {"agentId": "sark"})


async def test_instructions_name_a_callers_program_and_role(settings: Settings, mode: str) -> None:
    said = {}
    for role in ("agent", "judge", "auditor", "admin"):
        async with called_by(settings, Caller("basher", role, "t1"), mode) as client:
            said[role] = client.instructions or ""
    assert all("You are basher" in words for words in said.values())
    assert [role for role, words in said.items() if "store_memory" in words] == ["agent", "admin"]
    assert [role for role, words in said.items() if "seed_knowledge" in words] == ["admin"]
    assert [role for role, words in said.items() if "verdict" in words] == [
        "agent",
        "judge",
        "admin",
    ]


async def test_a_bound_process_names_its_program_when_a_client_connects(
    settings: Settings, mode: str, tmp_path: Path
) -> None:
    command, *before = forked.words()
    words = [
        *before,
        "serve",
        "--store",
        str(settings.store.words[0]),
        "--program",
        "basher",
    ]
    server = StdioServerParameters(command=command, args=words, env=dict(os.environ))
    log = tmp_path / "stderr.txt"
    with anyio.fail_after(HANG_S), log.open("w", encoding="utf-8") as stderr:
        async with Client(stdio_client(server, errlog=stderr), mode=mode) as client:
            assert "You are basher" in (client.instructions or "")
            assert await listed(client) == names_of("core")
    assert log.read_text(encoding="utf-8") == ""


async def test_no_list_may_be_cached_for_another_caller(settings: Settings, mode: str) -> None:
    async with called_by(settings, BASHER, mode) as client:
        for answer in (await client.list_tools(), await client.list_prompts()):
            assert answer.model_dump(by_alias=True).get("cacheScope") != "public"
