"""Tokens on every engine: made by one process, admitted by two others, and refused by both after
their revocation.
"""

import json
import subprocess
from dataclasses import replace

import anyio
import httpx2
import pytest
from anyio import to_thread
from billing import Bill, Billed
from fleets import fleet_on

from fleet_memory.jobs.tokens import (
    NewToken,
    create_token,
    list_tokens,
    revoke_token,
    revoke_tokens_of,
)
from fleet_memory.rules.tokens import parsed_token
from fleet_memory.stores import Store
from tests import forked
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server

pytestmark = pytest.mark.anyio

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def command(store: str, *words: str) -> str:
    """Return the output of a command, run by a process of its own."""
    line = [*forked.words(), "token", *words, "--store", store]
    done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=HANG_S)  # noqa: S603 words of this test
    return done.stdout.strip()


def status(server: HttpServer, token: str) -> int:
    headers = HEADERS | {"Authorization": f"Bearer {token}"}
    return httpx2.post(server.url, json=LIST, headers=headers, timeout=HANG_S).status_code


def refused(server: HttpServer, token: str) -> None:
    """Return once a server refuses a token; every answer before is that of a live one."""
    while (found := status(server, token)) != 401:
        assert found == 200


async def test_two_servers_admit_a_token_that_a_third_process_made_until_it_is_revoked(
    store_address: str,
) -> None:
    def lived() -> None:
        first = command(store_address, "create", "--program", "basher")
        with http_server(store_address) as one, http_server(store_address) as two:
            later = command(store_address, "create", "--program", "sark", "--role", "judge")
            assert [status(server, token) for server in (one, two) for token in (first, later)] == [
                200
            ] * 4
            parts = parsed_token(first)
            assert parts is not None
            command(store_address, "revoke", parts.token_id)
            for server in (one, two):
                refused(server, first)
                assert status(server, later) == 200
        states = {
            each["programId"]: each
            for each in json.loads(command(store_address, "list", "--json"))["tokens"]
        }
        assert (states["basher"]["state"], states["sark"]["state"]) == ("revoked", "live")
        assert all("lastUsedOn" in each for each in states.values())

    with anyio.fail_after(HANG_S):
        await to_thread.run_sync(lived, abandon_on_cancel=True)


async def test_all_tokens_of_a_program_are_revoked_however_many(store: Store) -> None:
    fleet, count = fleet_on(store), 101
    first = (await create_token(fleet, NewToken("basher"))).record
    records = [replace(first, token_id=f"{number:a>16}") for number in range(1, count)]
    await store.commit(*(fleet.tokens.write(record) for record in records))
    assert len(await revoke_tokens_of(fleet, "basher")) == count
    assert [one for one in await list_tokens(fleet) if one.revoked_at is None] == []


async def test_tokens_are_billed_as_documented(store: Store) -> None:
    billed = Billed(store)
    fleet = fleet_on(billed)
    created = await create_token(fleet, NewToken("basher"))
    assert billed.bill == Bill(reads=1, writes=2)  # no token; the token and its line
    await revoke_token(fleet, created.record.token_id)
    assert billed.bill == Bill(reads=2, writes=4)
