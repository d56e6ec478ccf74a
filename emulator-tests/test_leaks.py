"""No door of the server lets a bound agent read another program's private texts, but for those that
it is to judge.
"""

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import anyio
import anyio.to_thread
import httpx2
import pytest
from agents import local_agent, opened, served
from doors import KEY, Sighting, sightings
from fleets import fleet_on
from mcp import Client
from mcp.client.stdio import stdio_client
from private_fleet import (
    ASKED,
    FAR,
    LEARNT,
    ME,
    NEAR,
    OLD,
    OWN_TEXT,
    SHOWN_TO_JUDGES,
    STATE,
    canaries_of,
    fill,
    guessed,
    program_of,
)
from web_agents import tokens_of, web_agent

from fleet_memory.cli import COMMANDS, every_command
from fleet_memory.jobs.policy import set_policy
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server

pytestmark = pytest.mark.anyio

WEB_DOORS: Final = (
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/mcp",
    f"/{KEY}",
    "/.well-known/oauth-protected-resource",
)
WEB_MODES: Final[Mapping[str, Literal["auto", "legacy"]]] = {
    "http": "auto",
    "http of the handshake era": "legacy",
}
PROGRAMS: Final = rf"\b(?:{ME}|iso|tron|{program_of(NEAR)}|{program_of(FAR)})\b"
OPERATORS: Final = "only an operator may do this"


async def filled(address: str, judging: str, transport: str = "stdio") -> None:
    """Fill the fleet; three votes publish, so that equal words of two programs stay private.

    Lessons are shared with callers on this machine of a file unless the policy says otherwise.
    """
    async with opened(address) as store:
        await set_policy(fleet_on(store), ["threshold", "3"])
    async with local_agent(address, now=LEARNT, embedder="lexical") as operator:
        await fill(operator)
    async with opened(address) as store:
        await set_policy(fleet_on(store), ["judging", judging])
        if transport == "stdio":
            await set_policy(fleet_on(store), ["sharing", "knowledge"])


@pytest.fixture
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


every_door = pytest.mark.parametrize(
    ("store_address", "transport"),
    [*(("sqlite", transport) for transport in ("stdio", *WEB_MODES)), ("firestore", "http")],
    indirect=True,
)


class Probe(NamedTuple):
    """The canaries that came out of the doors of a server, and all that it logged meanwhile."""

    seen: list[Sighting]
    log: str


async def probed(address: str, transport: str, program: str, folder: Path) -> Probe:
    """Try every door as a program that is bound to itself."""
    settings = {
        "FLEET_MEMORY_STORE": address,
        "FLEET_MEMORY_NOW": ASKED,
        "FLEET_MEMORY_EMBEDDER": "lexical",
        "FLEET_MEMORY_TOOLSETS": "all",
        "FLEET_MEMORY_LOG_LEVEL": "DEBUG",
    }
    if mode := WEB_MODES.get(transport):
        return await _probed_over_http(address, program, settings, mode)
    server = served([*forked.words(), "serve"], {**settings, "FLEET_MEMORY_PROGRAM": program})
    log = folder / "stderr.log"
    with anyio.fail_after(HANG_S), log.open("w") as stderr:
        async with Client(stdio_client(server, errlog=stderr)) as client:
            seen = await sightings(client, program)
    return Probe(seen, await anyio.Path(log).read_text())


async def _probed_over_http(
    address: str, program: str, settings: Mapping[str, str], mode: Literal["auto", "legacy"]
) -> Probe:
    [token] = await tokens_of(address, [program])
    with http_server(
        address, "--metrics", "127.0.0.1:0", env={**settings, "FLEET_MEMORY_RATE": "off"}
    ) as server:
        async with web_agent(server.url, token, mode=mode) as agent:
            seen = await sightings(agent.client, program)
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as web:
            for path in WEB_DOORS:
                body = (await web.get(server.base + path)).text
                seen += [Sighting(path, (), canary) for canary in canaries_of(body)]
            numbers = (await web.get(metrics_url(server))).text
        assert server.end(signal.SIGTERM) == 0
        assert re.search(
            r'tool_calls_total\{[^}]*"gsp_search"[^}]*\} [1-9]', numbers
        )  # the calls are counted
        assert [
            *canaries_of(numbers),
            *re.findall(PROGRAMS, numbers),
            *re.findall(token, numbers),
        ] == []
        log = "\n".join(server.log)
        assert token not in log
    return Probe(seen, log)


def metrics_url(server: HttpServer) -> str:
    """Return where a server shows its metrics, as it logged it at its start."""
    return server.line("metrics are at ").rpartition(" ")[2]


@every_door
async def test_an_agent_reads_of_others_only_the_pairs_that_it_is_to_judge(
    store_address: str, transport: str, tmp_path: Path
) -> None:
    await filled(store_address, "agents", transport)
    seen, log = await probed(store_address, transport, ME, tmp_path)
    assert [one for one in seen if not one.is_allowed_to_judges] == []
    assert {one.canary for one in seen} == SHOWN_TO_JUDGES
    assert {one.door for one in seen} == {"gsp_bootstrap", "pattern_consolidate"}
    assert list(canaries_of(log)) == []


@every_door
async def test_an_agent_reads_nothing_of_others_where_people_judge(
    store_address: str, transport: str, tmp_path: Path
) -> None:
    await filled(store_address, "people", transport)
    seen, log = await probed(store_address, transport, ME, tmp_path)
    assert (seen, list(canaries_of(log))) == ([], [])


OF_WORK: Final = ("claim_work", "hand_over", "read_work")


@every_door
async def test_the_same_calls_show_a_program_all_that_is_its_own_and_log_none_of_it(
    store_address: str, transport: str, tmp_path: Path
) -> None:
    await filled(store_address, "people", transport)
    own = {"program", "id", "pattern", "domain", "evidence", "tail", "tag", *STATE}
    for prefix, fields in ((NEAR, own), (FAR, own | {"project"})):
        seen, log = await probed(store_address, transport, program_of(prefix), tmp_path)
        seen = [one for one in seen if one.door not in OF_WORK]  # records say who wrote them
        assert {one.canary for one in seen} == {f"{prefix}{field}" for field in fields} | {
            f"{OLD}handoff"
        }
        assert set(canaries_of(log)) <= {f"{prefix}program"}


@pytest.mark.parametrize("store_address", ["sqlite"], indirect=True)
async def test_on_one_machine_lessons_of_others_leave_as_such_and_by_no_other_door(
    store_address: str, tmp_path: Path
) -> None:
    await filled(store_address, "people", "its default")
    seen, log = await probed(store_address, "stdio", ME, tmp_path)
    assert {(one.door, one.place[0]) for one in seen} == {
        ("gsp_bootstrap", "others"),
        ("recall_memory", "others"),
    }
    shown = {one.canary for one in seen if one.canary.startswith((NEAR, FAR))}
    kinds = {canary.removeprefix(NEAR).removeprefix(FAR) for canary in shown}
    assert kinds == {"program", "pattern", "domain", "evidence"}
    assert [one for one in seen if one.canary.startswith(OLD)] == []
    assert list(canaries_of(log)) == []


GUESS: Final = guessed(program_of(FAR))
READING: Final[Mapping[str, Sequence[Sequence[str]]]] = {
    "list entries": [[], ["--json"]],
    "list lessons": [[], ["--json"], ["--program", GUESS]],
    "show": [["free"], [f"{GUESS}/pin"], [KEY]],
    "search": [["rotate the password"], [OWN_TEXT, "--json"]],
    "list programs": [[]],
    "list domains": [[]],
    "doctor": [["store", "memory"], ["memory", "--json"]],
    "lesson restore": [[], ["6e1f329f94cbe441"]],
    "policy show": [[]],
    "call": [
        ["fleet_health", "{}"],
        ["recall_memory", f'{{"programId": "{ME}", "query": "{OWN_TEXT}"}}'],
    ],
    "hook": [[]],
    "list log": [[]],
    "token list": [[], ["--json"]],
    "export": [["-"]],
    "backup": [["copy.db"]],
    "review": [["--json"]],
    "why": [[f"{ME}/free"], [f"{GUESS}/pin"]],
}
"""Calls of the commands that print the memory's contents; the last six are an operator's."""
OTHERS: Final = frozenset(
    {
        *(
            "serve",
            "maintain",
            "import",
            "seed",
            "policy set",
            "purge",
            "install",
            "demo",
        ),
        *(f"entry {verb}" for verb in ("retire", "reinstate", "reword", "split")),
        *(f"lesson {verb}" for verb in ("edit", "forget", "allow")),
        *("token create", "token revoke", "token work"),
    }
)
"""The commands that change the memory, and those that print other things."""


async def test_a_command_that_is_bound_prints_nothing_of_others(store_address: str) -> None:
    await filled(store_address, "people")
    assert {command.name for command in COMMANDS} == READING.keys() | OTHERS, (
        "a command is not in the probe"
    )
    added = {
        each.name: [shlex.split(each.of_toolset.example)]
        for each in every_command()
        if each.of_toolset
    }
    for command, calls in {**READING, **added}.items():
        for arguments in calls:
            printed = await anyio.to_thread.run_sync(run, store_address, command, arguments)
            assert list(canaries_of(printed)) == [], (command, arguments)
            assert (OPERATORS in printed) == (
                command
                in (
                    "list log",
                    "token list",
                    "token work",
                    "export",
                    "backup",
                    "review",
                    "why",
                    "window",
                )
            ), (
                command,
                printed,
            )


EVENT: Final = (
    '{"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/", "source": "startup"}'
)


def run(address: str, command: str, arguments: Sequence[str]) -> str:
    """Run a command as the bound program; return all that it prints."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("FLEET_MEMORY_")
    }
    bound_to = {
        "FLEET_MEMORY_STORE": address,
        "FLEET_MEMORY_PROGRAM": ME,
        "FLEET_MEMORY_EMBEDDER": "lexical",
    }
    words = [*forked.words(), *command.split(), *arguments]
    whole = environment | bound_to
    ended = subprocess.run(  # noqa: S603 ours
        words, env=whole, input=EVENT, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    return ended.stdout + ended.stderr
