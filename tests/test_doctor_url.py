"""`fleet-memory doctor --url`: whether a service answers a call, and if not its own words."""

import json
import socket
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from fleet_memory.cli import main
from fleet_memory.clients import service
from fleet_memory.clients.doctor import Finding
from fleet_memory.clients.service import Address, address_of, remote_findings
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import CreatedToken, NewToken, create_token, revoke_tokens_of
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from tests.front_end import Reply, front_end
from tests.http_server import http_server

TOKEN = "fm_0123456789_secret"  # noqa: S105 made up for this test
JSON = {"Content-Type": "application/json"}
HEALTHY = {
    "/readyz": Reply(headers=JSON, body='{"ready": true}'),
}
CLOSED = {"/mcp": Reply(401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})}


def last_of(replies: Mapping[str, Reply], token: str = TOKEN) -> Finding:
    with front_end(replies) as base:
        return remote_findings(address_of(base), token)[-1]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (
            "https://fleet.example",
            Address("https://fleet.example/mcp", "https://fleet.example", "fleet.example"),
        ),
        (
            "https://fleet.example/",
            Address("https://fleet.example/mcp", "https://fleet.example", "fleet.example"),
        ),
        (
            "https://fleet.example/team",
            Address(
                "https://fleet.example/team/mcp", "https://fleet.example/team", "fleet.example"
            ),
        ),
        (
            "https://fleet.example:8443/team/mcp/",
            Address(
                "https://fleet.example:8443/team/mcp",
                "https://fleet.example:8443/team",
                "fleet.example",
            ),
        ),
        (
            "http://fleet.example/mcp",
            Address("http://fleet.example/mcp", "http://fleet.example", "fleet.example"),
        ),
        ("http://[::1]:8765", Address("http://[::1]:8765/mcp", "http://[::1]:8765", "::1")),
        (
            " http://localhost:8765 ",
            Address("http://localhost:8765/mcp", "http://localhost:8765", "localhost"),
        ),
    ],
)
def test_an_address_is_read_with_and_without_its_path(text: str, address: Address) -> None:
    assert address_of(text) == address


def test_a_real_service_answers_a_token_that_lives_and_refuses_one_that_is_revoked(
    tmp_path: Path,
) -> None:
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})

    async def with_token(fleet: Fleet) -> str:
        return (await create_token(fleet, NewToken("basher")))[0]

    async def revoked(fleet: Fleet) -> None:
        await revoke_tokens_of(fleet, "basher")
        await create_token(fleet, NewToken("wren"))  # without a live one no server starts

    token = anyio.run(with_fleet, settings, with_token)
    with http_server(tmp_path / "memory.db") as server:
        health, call = remote_findings(address_of(server.url), token)
        anyio.run(with_fleet, settings, revoked)
    assert (health.is_ok, call.is_ok) == (True, True)
    assert call.text.endswith("memory_health answers as basher")
    with http_server(tmp_path / "memory.db") as server:
        refused = remote_findings(address_of(server.base), token)[-1]
    assert (refused.name, refused.is_ok) == ("call", False)
    assert "/mcp answers 401: " in refused.text
    assert "`a bearer is refused`" in refused.advice


def test_the_end_of_the_token_is_named_and_warned_of_a_week_before(tmp_path: Path) -> None:
    settings = load({"store": str(tmp_path / "memory.db"), "embedder": "lexical"}, {})

    async def with_tokens(fleet: Fleet) -> list[CreatedToken]:
        return [
            await create_token(fleet, NewToken(name, lifetime=timedelta(hours=hours)))
            for name, hours in (("basher", 1), ("wren", 24 * 90))
        ]

    soon, later = anyio.run(with_fleet, settings, with_tokens)
    with http_server(tmp_path / "memory.db") as server:
        findings = [
            remote_findings(address_of(server.url), each.token)[1] for each in (soon, later)
        ]
    assert [each.wire() for each in findings] == [
        {
            "name": "token",
            "ok": False,
            "text": f"ends {soon.record.wire()['expiresAt']}",
            "advice": "create the next one, fleet-memory token create --also, and revoke this one",
        },
        {"name": "token", "ok": True, "text": f"ends {later.record.wire()['expiresAt']}"},
    ]


def test_a_service_of_this_machine_may_go_without_tokens(tmp_path: Path) -> None:
    with http_server(tmp_path / "memory.db", "--no-tokens") as server:
        found = remote_findings(address_of(server.base), TOKEN)
        assert main(["doctor", "--url", server.url]) == 0
    assert found[-1].text.endswith("; memory_health answers")


def test_a_service_that_is_not_reached_is_named_in_the_error_s_words() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        (finding,) = remote_findings(address_of(f"http://127.0.0.1:{closed.getsockname()[1]}"), "")
    assert (finding.name, finding.is_ok) == ("health", False)
    assert "ConnectError: " in finding.text
    assert finding.advice
    with front_end(HEALTHY) as base:
        (finding,) = remote_findings(address_of(base.replace("http:", "https:")), TOKEN)
    assert "SSL" in finding.text


def test_a_service_that_never_answers_is_waited_for_in_vain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(service, "MAX_ANSWER_S", 0.3)
    finding = last_of({**HEALTHY, "/mcp": Reply(hangs=True)})
    assert (finding.name, finding.is_ok) == ("call", False)
    assert "Timeout" in finding.text


@pytest.mark.parametrize(
    ("replies", "name", "text"),
    [
        (
            {"/readyz": Reply(503, JSON, '{"ready": false, "reason": "No permission."}')},
            "health",
            'answers 503: {"ready": false, "reason": "No permission."}',
        ),
        ({**HEALTHY, **CLOSED}, "call", "/mcp answers 401: "),
        ({**HEALTHY, "/mcp": Reply(403)}, "call", "/mcp answers 403: "),
        (HEALTHY, "call", "/mcp answers 404: "),
        (
            {**HEALTHY, "/mcp": Reply(307, {"Location": "https://login.example/?next=/mcp"})},
            "call",
            "answers 307: https://login.example/",
        ),
        ({**HEALTHY, "/mcp": Reply(200, JSON, "weather")}, "call", "this is weather, not fleet"),
        (
            {**HEALTHY, "/mcp": Reply(200, {"Content-Type": "text/html"}, "<p>Sign in</p>")},
            "call",
            "Unexpected content type: text/html",
        ),
    ],
)
def test_what_refuses_is_named_with_its_own_words(
    replies: Mapping[str, Reply], name: str, text: str
) -> None:
    with front_end(replies) as base:
        finding = next(each for each in remote_findings(address_of(base), TOKEN) if not each.is_ok)
    assert (finding.name, text in finding.text) == (name, True), finding


def test_a_token_in_the_clear_is_noted() -> None:
    with front_end({**HEALTHY, **CLOSED}) as base:
        named = address_of(base)._replace(host="fleet.example")
        assert "use https" in remote_findings(named, "")[0].advice


def test_a_service_on_another_machine_that_serves_without_a_token_is_a_fault() -> None:
    with front_end({**HEALTHY, "/mcp": Reply(200, JSON, "weather")}) as base:
        named = address_of(base)._replace(host="fleet.example")
        door = next(finding for finding in remote_findings(named, "") if finding.name == "door")
    assert (door.is_ok, door.text) == (False, "open: it serves callers without a token")


def test_control_characters_of_a_service_do_not_reach_the_terminal() -> None:
    reason = json.dumps({"ready": False, "reason": "\x1b[2J" + "x" * 10_000})
    with front_end({"/readyz": Reply(503, JSON, reason)}) as base:
        finding = remote_findings(address_of(base), TOKEN)[0]
    assert "\x1b" not in finding.text
    assert len(finding.text) < 300


@pytest.mark.parametrize("token", ["fm_a\n", "fm_a b", "fm_ä"])
def test_a_token_that_no_header_takes_is_not_sent(token: str) -> None:
    asked: list[str] = []
    with front_end(HEALTHY, asked) as base:
        (finding,) = remote_findings(address_of(base), token)
    assert (finding.name, finding.is_ok, asked) == ("token", False, [])


def test_the_command_prints_findings_as_doctor_does_and_never_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BASHER_TOKEN", TOKEN)
    asked: list[str] = []
    with front_end({**HEALTHY, **CLOSED}, asked) as base:
        assert (
            main(["doctor", "--url", f"{base}/mcp", "--token-env", "BASHER_TOKEN", "--json"]) == 1
        )
        answer = json.loads(capsys.readouterr().out)
        assert main(["doctor", "--url", f"{base}/mcp", "--token-env", "BASHER_TOKEN"]) == 1
        text = capsys.readouterr().out
    assert answer["healthy"] is False
    assert answer["findings"][-1]["name"] == "call"
    assert "\n  no   call " in text
    assert TOKEN not in text + json.dumps(answer)
    assert "POST /mcp with a token" in asked


@pytest.mark.parametrize(
    "words", [["--url", "fleet.example"], ["--url", "https://fleet.example", "--token-env", TOKEN]]
)
def test_a_wrong_address_or_variable_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["doctor", *words]) == 2
    assert TOKEN not in capsys.readouterr().err
