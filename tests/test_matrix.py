"""Every tool, for every caller, about its own program and another's: by its access.

Callers come with a token of the fleet, with one of an OAuth issuer, or over stdio from a process
that is bound.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import keyed_seeds, seed_rules
from fleet_memory.jobs.tokens import NewToken, create_token, revoke_token
from fleet_memory.repositories.records import ledger_line
from fleet_memory.schemas.knowledge import Seed
from fleet_memory.schemas.programs import Role
from fleet_memory.server.app import create_server
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import CURATION, Settings, load
from fleet_memory.stores import Document
from tests.bounds import HANG_S
from tests.fleets import documents, learn
from tests.http_server import HttpServer, http_server
from tests.issuer import Issuer, issuing, signed, signed_by_hand
from tests.matrix import ROLES, SPECS, STORED, Cell, arguments_of, calls_before, cells

OTHER = "other"
BAD = ("none", "garbage", "expired", "revoked")
ISSUED: Mapping[str, Role] = {f"{role}-of-issuer": role for role in ROLES}
"""The programs that come with a token of the issuer."""
BAD_ISSUED = (
    "another audience",
    "no audience",
    "another resource",
    "alg none",
    "expired of issuer",
)
PROGRAMS: Mapping[str, Role] = {**{role: role for role in ROLES}, **ISSUED}
BY_PROGRAM = [
    (program, cell) for program, role in PROGRAMS.items() for cell in cells() if cell.role == role
]
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def settings_of(store: Path) -> Settings:
    return load(
        {"store": str(store), "embedder": "lexical", "toolsets": "all", "maintenance": "off"}, {}
    )


@asynccontextmanager
async def opened(store: Path) -> AsyncIterator[Fleet]:
    lazy = LazyFleet(settings_of(store), clock(None))
    try:
        yield await lazy.fleet()
    finally:
        await lazy.close()


async def peopled(store: Path) -> dict[str, str]:
    """Make a fleet with the programs, and return a token of the fleet for each role, and those that
    admit no caller.
    """
    async with opened(store) as fleet:
        for program in (*PROGRAMS, OTHER):
            for id_ in STORED:
                await learn(fleet, program, f"{id_} by {program} alone", id_=id_)
        await seed_rules(fleet, rule(), prune=False)
        tokens = {role: (await create_token(fleet, NewToken(role, role))).token for role in ROLES}
        past = replace(fleet, now=lambda: clock(None)() - timedelta(days=2))
        expired = await create_token(past, NewToken("late", lifetime=timedelta(days=1)))
        revoked = await create_token(fleet, NewToken("gone"))
        await revoke_token(fleet, revoked.record.token_id)
    return tokens | {"garbage": "fm_garbage", "expired": expired.token, "revoked": revoked.token}


def issued(issuer: Issuer, endpoint: str) -> dict[str, str]:
    """Return a token of the issuer for each role, and those that admit no caller."""
    now = int(time.time())
    as_admin = {"sub": "admin-of-issuer", "role": "admin"}
    refused = {
        "another audience": signed(issuer.claims("https://other.example.com/mcp", **as_admin)),
        "no audience": signed(issuer.claims(None, **as_admin)),
        "another resource": signed(
            issuer.claims(endpoint, resource="https://other.example.com/mcp", **as_admin)
        ),
        "alg none": signed_by_hand(
            {"alg": "none", "kid": "r1"}, issuer.claims(endpoint, **as_admin)
        ),
        "expired of issuer": signed(
            issuer.claims(endpoint, iat=now - 3_600, exp=now - 600, **as_admin)
        ),
    }
    good = {
        program: signed(issuer.claims(endpoint, sub=program, role=role))
        for program, role in ISSUED.items()
    }
    return good | refused


def rule() -> dict[str, Seed]:
    entry = {"text": "Ask before you delete", "domain": "tasks", "key": "ask-first"}
    return keyed_seeds([Seed.model_validate(entry)])


class Service:
    """A fleet over HTTP, and its tokens."""

    def __init__(
        self, server: HttpServer, store: Path, tokens: dict[str, str], client: httpx2.Client
    ) -> None:
        self.store = store
        self._url = server.url
        self._tokens = tokens
        self._client = client

    def call(self, caller: str, tool: str, arguments: dict[str, Any]) -> httpx2.Response:
        headers = (
            HEADERS
            if caller == "none"
            else HEADERS | {"Authorization": f"Bearer {self._tokens[caller]}"}
        )
        params = {"name": tool, "arguments": arguments}
        return self._client.post(self._url, json=message("tools/call", params), headers=headers)

    def ask(self, caller: str, method: str) -> dict[str, Any]:
        headers = HEADERS | {"Authorization": f"Bearer {self._tokens[caller]}"}
        return result_of(self._client.post(self._url, json=message(method, {}), headers=headers))

    def written(self) -> list[Document]:
        return anyio.run(self._written)

    async def _written(self) -> list[Document]:
        async with opened(self.store) as fleet:
            return await documents(fleet)


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def result_of(response: httpx2.Response) -> dict[str, Any]:
    (text,) = [line.removeprefix("data: ") for line in response.text.splitlines() if "{" in line]
    result: dict[str, Any] = json.loads(text)["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    return "".join(block["text"] for block in result["content"])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    store = tmp_path_factory.mktemp("matrix") / "memory.db"
    tokens = anyio.run(peopled, store)
    flags = ("--toolsets", "all", "--maintenance", "off")
    with (
        issuing() as issuer,
        http_server(store, *flags, env={"FLEET_MEMORY_ISSUER": issuer.url}) as server,
        httpx2.Client(timeout=HANG_S) as client,
    ):
        yield Service(server, store, tokens | issued(issuer, server.url), client)


def reads_in(
    before: list[Document], after: list[Document]
) -> list[tuple[str, str, str, str | None]]:
    """Return (by, key, tool, token) of the new lines about reads; nothing else may have changed."""
    assert [one for one in before if one not in after] == []
    lines = [ledger_line(one) for one in after if one not in before]
    assert {line.event for line in lines} <= {"read"}
    return [(line.by, line.key, line.why, line.token) for line in lines]


@pytest.mark.parametrize("caller", [*BAD, *BAD_ISSUED])
def test_without_a_live_token_no_tool_is_called(service: Service, caller: str) -> None:
    before = service.written()
    for tool in SPECS:
        for program in (None, OTHER):
            response = service.call(caller, tool, arguments_of(tool, program))
            assert (tool, response.status_code) == (tool, 401)
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert service.written() == before


@pytest.mark.parametrize(
    ("caller", "cell"),
    BY_PROGRAM,
    ids=[f"{cell.tool}-{caller}-{cell.whose}" for caller, cell in BY_PROGRAM],
)
def test_a_token_allows_exactly_the_calls_of_the_matrix(
    service: Service, caller: str, cell: Cell
) -> None:
    program = caller if cell.whose == "own" else OTHER
    if cell.outcome == "yes":
        for tool, arguments in calls_before(cell.tool, program):
            service.call(caller, tool, arguments)
    before = service.written()
    result = result_of(service.call(caller, cell.tool, arguments_of(cell.tool, program)))
    came_of_it(cell, caller, result, before, service.written())


def came_of_it(
    cell: Cell, caller: str, result: dict[str, Any], before: list[Document], after: list[Document]
) -> None:
    refused = text_of(result) if result.get("isError") else ""
    match cell.outcome:
        case "yes":
            assert refused == "", f"{cell.tool}: is its example right?"
        case "read":
            assert refused == ""
            ((by, key, tool, token),) = reads_in(before, after)
            assert (by, tool) == (caller, cell.tool)
            assert key == (OTHER if cell.whose == "other" else "(every program)")
            assert token
        case "no":
            assert refused.startswith("forbidden: ")
            assert before == after
        case "absent":
            assert refused.startswith(f"invalid_argument: {cell.tool} is in the toolset {CURATION}")
            assert before == after


@pytest.mark.parametrize("caller", PROGRAMS)
def test_a_caller_is_listed_the_tools_that_answer_it_and_need_not_name_itself(
    service: Service, caller: str
) -> None:
    listing = service.ask(caller, "tools/list")
    answering = {
        cell.tool
        for cell in cells()
        if cell.role == PROGRAMS[caller] and cell.outcome in ("yes", "read")
    }
    listed = {tool["name"]: tool["inputSchema"] for tool in listing["tools"]}
    assert answering <= listed.keys()
    useless = listed.keys() - answering
    assert useless <= {"pattern_consolidate"}  # its dryRun answers auditors
    for schema in listed.values():
        assert {"programId", "agentId"}.isdisjoint(schema.get("required", ()))
    assert listing.get("cacheScope") != "public"


@pytest.mark.parametrize("caller", PROGRAMS)
def test_a_caller_that_does_not_name_itself_is_meant_itself(service: Service, caller: str) -> None:
    service.call(caller, "gsp_bootstrap", {})  # from now on there is nothing new
    for tool in ("gsp_bootstrap", "recall_memory", "memory_health", "get_program_state"):
        named, unnamed = (
            result_of(service.call(caller, tool, arguments_of(tool, program)))["structuredContent"]
            for program in (caller, None)
        )
        name = "agentId" if tool == "gsp_bootstrap" else "programId"
        for answer in (named, unnamed):  # each boot of a judge asks about others
            answer.pop("toJudge", None)
            answer.pop("omitted", None)
        assert unnamed == {**named, name: caller}


BOUND = [cell for cell in cells() if cell.role == "agent"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("bound") / "memory.db"
    anyio.run(peopled, store)
    return store


@pytest.mark.anyio
@pytest.mark.parametrize("cell", BOUND, ids=lambda cell: f"{cell.tool}-{cell.whose}")
async def test_a_bound_process_allows_exactly_an_agents_calls(
    made: Path, tmp_path: Path, cell: Cell
) -> None:
    store = Path(copy(made, tmp_path))
    async with (
        opened(store) as fleet,
        Client(create_server(replace(settings_of(store), program="agent"))) as client,
    ):
        program = "agent" if cell.whose == "own" else OTHER
        if cell.outcome == "yes":
            for tool, arguments in calls_before(cell.tool, program):
                await client.call_tool(tool, arguments)
        before = await documents(fleet)
        result = await client.call_tool(cell.tool, arguments_of(cell.tool, program))
        came_of_it(
            cell,
            "agent",
            result.model_dump(mode="json", by_alias=True),
            before,
            await documents(fleet),
        )
        listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert listed.keys() == {one.tool for one in BOUND if one.outcome == "yes"}
    assert all(
        {"programId", "agentId"}.isdisjoint(schema.get("required", ()))
        for schema in listed.values()
    )
