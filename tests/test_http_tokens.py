"""Tokens at the door of a real server: who is let in, how the others are refused, and how clients
find the issuer.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from fleet_memory.clock import clock
from fleet_memory.errors import StoreUnavailableError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import NewToken, create_token, revoke_token
from fleet_memory.repositories.administration import Tokens
from fleet_memory.rules.tokens import made_token
from fleet_memory.server.composition import LazyFleet
from fleet_memory.server.http.access import BearerTokens, CallerToken, FleetTokens
from fleet_memory.server.http.addresses import addresses
from fleet_memory.server.http.app import http_app
from fleet_memory.settings import Settings, load
from tests.bounds import HANG_S
from tests.http_server import HttpServer, http_server
from tests.issuer import OTHER_RSA, Issuer, issuing, signed

ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
REFUSED = {"error": "invalid_token", "error_description": "Authentication required"}
PUBLIC = "https://mem.example.com/team"
ENDPOINT = f"{PUBLIC}/mcp"
METADATA = "https://mem.example.com/.well-known/oauth-protected-resource/team/mcp"
WITHOUT_ISSUER = 'Bearer error="invalid_token", error_description="Authentication required"'


def called(
    server: HttpServer, authorization: str | None, program: str = "basher"
) -> httpx2.Response:
    """Return the response to a call of memory_health."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "memory_health", "arguments": {"programId": program}},
    }
    sent = {"Authorization": authorization.encode("latin-1")} if authorization is not None else {}
    headers = {name.encode(): value.encode() for name, value in ACCEPT.items()}
    headers |= {name.encode(): value for name, value in sent.items()}
    return httpx2.post(server.url, json=body, headers=headers, timeout=HANG_S)


def result_of(response: httpx2.Response) -> Mapping[str, Any]:
    (text,) = [line.removeprefix("data: ") for line in response.text.splitlines() if "{" in line]
    result: Mapping[str, Any] = json.loads(text)["result"]
    return result


class Door:
    """A server whose fleet has tokens, and these by the names of the cases."""

    def __init__(self, server: HttpServer, tokens: Mapping[str, str], lazy: LazyFleet) -> None:
        self.server = server
        self.tokens = tokens
        self.lazy = lazy


async def prepared(lazy: LazyFleet) -> dict[str, str]:
    fleet = await lazy.fleet()
    other = Fleet.on(fleet.programs.store, "other", fleet.embedder, fleet.now)
    live = await create_token(fleet, NewToken("basher"))
    gone = await create_token(fleet, NewToken("sark"))
    await revoke_token(fleet, gone.record.token_id)
    ended = await create_token(fleet, NewToken("iso", lifetime=timedelta(microseconds=1)))
    strange = await create_token(other, NewToken("basher"))
    first, last = live.token[:-1], live.token[-1]
    return {
        "live": f"Bearer {live.token}",
        "no scheme": live.token,
        "another scheme": f"Basic {live.token}",
        "empty": "Bearer",
        "garbage": "Bearer garbage",
        "of no letters": f"Bearer {chr(0xE9)}",
        "long": "Bearer fm_" + "a" * 20_000,
        "another secret": f"Bearer {first}{'a' if last != 'a' else 'b'}",
        "made up": f"Bearer {made_token(bytes(10), bytes(32)).token}",
        "revoked": f"Bearer {gone.token}",
        "expired": f"Bearer {ended.token}",
        "of another fleet": f"Bearer {strange.token}",
        "a JWT": f"Bearer {signed({'sub': 'basher'})}",
    }


@contextmanager
def door(folder: Path) -> Iterator[Door]:
    settings = load({"store": str(folder / "memory.db"), "embedder": "lexical"}, {})
    lazy = LazyFleet(settings, clock(None))
    tokens = anyio.run(prepared, lazy)
    with http_server(folder / "memory.db") as server:
        yield Door(server, tokens, lazy)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with door(tmp_path_factory.mktemp("tokens")) as opened:
        yield opened


def test_a_live_token_lets_its_program_in(opened: Door) -> None:
    answer = called(opened.server, opened.tokens["live"])
    assert (answer.status_code, result_of(answer)["structuredContent"]["programId"]) == (
        200,
        "basher",
    )
    other = result_of(called(opened.server, opened.tokens["live"], program="sark"))
    assert other["isError"]


CASES = (
    *(
        "no scheme",
        "another scheme",
        "empty",
        "garbage",
        "of no letters",
        "long",
        "another secret",
        "made up",
    ),
    *("revoked", "expired", "of another fleet", "a JWT"),
)


@pytest.mark.parametrize("case", [None, *CASES])
def test_every_other_bearer_gets_the_same_refusal(opened: Door, case: str | None) -> None:
    answer = called(opened.server, opened.tokens[case] if case else None)
    assert (answer.status_code, answer.json()) == (401, REFUSED)
    assert answer.headers["WWW-Authenticate"] == WITHOUT_ISSUER


def test_nothing_of_a_token_is_logged(opened: Door) -> None:
    for case in opened.tokens:
        called(opened.server, opened.tokens[case])
    log = "\n".join(opened.server.log)
    assert [
        case for case, sent in opened.tokens.items() if len(sent) > 40 and sent[-20:] in log
    ] == []


def test_the_log_says_once_a_minute_why_a_bearer_is_refused_with_the_id_of_a_token_of_ours(
    tmp_path: Path,
) -> None:
    with door(tmp_path) as opened:
        for _ in range(3):
            for case in ("garbage", "another secret", "made up", "revoked", "expired", "long"):
                assert called(opened.server, opened.tokens[case]).status_code == 401
    lines = [
        line.partition("a bearer is refused: ")[2]
        for line in opened.server.log
        if "is refused" in line
    ]
    ids = {
        case: opened.tokens[case].split("_")[1] for case in ("another secret", "revoked", "expired")
    }
    assert sorted(lines) == [
        f"expired, token {ids['expired']}",
        "malformed",
        "malformed, no fm_ token",
        f"revoked, token {ids['revoked']}",
        "unknown, erased or unreadable",
        f"wrong secret, token {ids['another secret']}",
    ]


def test_without_an_issuer_clients_are_led_to_none(opened: Door) -> None:
    assert (
        httpx2.get(f"{opened.server.base}/.well-known/oauth-protected-resource/mcp").status_code
        == 404
    )


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def public(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    flags = ["--issuer", issuer.url, "--public-url", PUBLIC, "--program-claim", "azp"]
    with http_server(tmp_path_factory.mktemp("issuer") / "memory.db", *flags) as server:
        yield server


def test_a_token_of_the_issuer_lets_its_program_in(issuer: Issuer, public: HttpServer) -> None:
    answer = called(public, f"Bearer {signed(issuer.claims(ENDPOINT, azp='basher'))}")
    assert (answer.status_code, result_of(answer)["structuredContent"]["programId"]) == (
        200,
        "basher",
    )


def test_a_token_of_the_issuer_for_anything_else_is_refused(
    issuer: Issuer, public: HttpServer
) -> None:
    claims = issuer.claims(ENDPOINT, azp="basher")
    refused = {
        "another audience": signed(claims | {"aud": public.url}),
        "another resource": signed(claims | {"resource": public.url}),
        "no program": signed(issuer.claims(ENDPOINT)),
        "another key": signed(claims, OTHER_RSA),
        "an unknown key": signed(claims, OTHER_RSA, "r9"),
        "an unknown role": signed(claims | {"role": "root"}),
        "the fleet's": made_token(bytes(10), bytes(32)).token,
    }
    for case, token in refused.items():
        answer = called(public, f"Bearer {token}")
        assert (case, answer.status_code, answer.json()) == (case, 401, REFUSED)
        assert (
            answer.headers["WWW-Authenticate"]
            == f'{WITHOUT_ISSUER}, resource_metadata="{METADATA}"'
        )


def test_the_refusal_leads_clients_to_the_issuer(issuer: Issuer, public: HttpServer) -> None:
    path = METADATA.removeprefix("https://mem.example.com")
    answer = httpx2.get(f"{public.base}{path}", headers={"Host": "mem.example.com"})
    assert answer.json() == {
        "resource": ENDPOINT,
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
    }


async def answered(settings: Settings, lazy: LazyFleet, verifier: BearerTokens) -> httpx2.Response:
    app = http_app(settings, lazy, addresses("127.0.0.1", 80), verifier)
    transport = httpx2.ASGITransport(app, raise_app_exceptions=True)
    headers = ACCEPT | {"Authorization": f"Bearer {made_token(bytes(10), bytes(32)).token}"}
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.post("/mcp", json={}, headers=headers)


@pytest.mark.anyio
async def test_clients_keep_their_tokens_while_the_store_does_not_answer(
    settings: Settings,
) -> None:
    async def tokens() -> Tokens:
        raise StoreUnavailableError("The store did not answer.", operator_detail="/secret/path")

    lazy = LazyFleet(settings, clock(None))
    answer = await answered(
        settings, lazy, BearerTokens(FleetTokens(tokens, lazy.now, "http://127.0.0.1/mcp"), None)
    )
    assert (answer.status_code, answer.headers["Retry-After"], answer.json()) == (
        503,
        "5",
        {
            "error": "temporarily_unavailable",
            "error_description": "Tokens cannot be checked at the moment. Keep yours, and send "
            "the same request again.",
        },
    )
    assert "WWW-Authenticate" not in answer.headers


@pytest.mark.anyio
async def test_a_token_of_another_endpoint_is_refused_under_any_verifier(
    settings: Settings, issuer: Issuer
) -> None:
    class Careless(BearerTokens):
        async def verify_token(self, token: str) -> CallerToken | None:
            return CallerToken(
                token=token,
                client_id="basher",
                scopes=[],
                resource="https://other.example.com/mcp",
                token_id="x",  # noqa: S106 an id, no secret
                program_id="basher",
                role="admin",
            )

    guarded = load({"store": str(settings.store), "embedder": "lexical", "issuer": issuer.url}, {})
    lazy = LazyFleet(guarded, clock(None))
    assert (await answered(guarded, lazy, Careless(None, None))).status_code == 401  # type: ignore[arg-type]  # none is asked
