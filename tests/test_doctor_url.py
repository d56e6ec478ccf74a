"""`fleet-memory doctor --url`: which step of a client's way to a service fails, and why."""

import json
import socket
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fleet_memory.cli import main
from fleet_memory.clients import remote
from fleet_memory.clients.address import Address, address_of
from fleet_memory.clients.diagnosis import Finding
from fleet_memory.clients.remote import remote_findings
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.tokens import NewToken, create_token, revoke_tokens_of
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import load
from tests.front_end import Reply, front_end
from tests.http_server import http_server

TOKEN = "fm_0123456789_secret"  # noqa: S105 made up for this test
JSON = {"Content-Type": "application/json"}
HEALTHY = {
    "/healthz": Reply(headers=JSON, body='{"alive": true}'),
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


def test_a_real_service_passes_every_step_with_a_token_that_lives_and_not_with_one_that_is_revoked(
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
        found = remote_findings(address_of(server.url), token)
        anyio.run(with_fleet, settings, revoked)
    with http_server(tmp_path / "memory.db") as server:
        refused = remote_findings(address_of(server.base), token)
    steps = ["connection", "health", "ready", "door", "token", "discovery", "call"]
    assert [(finding.name, finding.is_ok) for finding in found] == [(step, True) for step in steps]
    assert found[-1].text == "memory_health answers as basher"
    assert [(finding.name, finding.is_ok) for finding in refused[3:]] == [
        ("door", True),
        ("token", False),
    ]


def test_a_service_of_this_machine_may_go_without_tokens(tmp_path: Path) -> None:
    with http_server(tmp_path / "memory.db", "--no-tokens") as server:
        found = {
            finding.name: finding for finding in remote_findings(address_of(server.base), TOKEN)
        }
        assert main(["doctor", "--url", server.url]) == 0
    assert found["door"].text == (
        "open: it serves callers without a token and reads none, as a service of this machine may"
    )
    assert found["call"].text == "memory_health answers"


def test_a_host_without_a_name_server_s_answer_is_a_fault_of_dns() -> None:
    (finding,) = remote_findings(address_of("http://nobody.invalid"), "")
    assert finding.text == "http://nobody.invalid: the host's name is unknown (DNS)"


def test_a_port_without_a_listener_refuses() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        (finding,) = remote_findings(address_of(f"http://127.0.0.1:{closed.getsockname()[1]}"), "")
    assert "refused: nothing listens there" in finding.text


def certificate_of(host: str, file: Path) -> Path:
    """Write a certificate that this name signed for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(start).not_valid_after(start + timedelta(days=36_500))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM
    private = key.private_bytes(
        form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(form))
    return file


def test_a_certificate_that_nothing_vouches_for_is_a_fault_of_tls(tmp_path: Path) -> None:
    with front_end(
        HEALTHY, certificate=certificate_of("127.0.0.1", tmp_path / "server.pem")
    ) as base:
        (finding,) = remote_findings(address_of(base), TOKEN)
    assert "the certificate is not trusted (TLS)" in finding.text
    assert "SSL_CERT_FILE" in finding.advice


def test_a_trusted_certificate_of_another_name_asks_for_a_name_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_of("mem.example.com", tmp_path / "server.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with front_end(HEALTHY, certificate=certificate) as base:
        (finding,) = remote_findings(address_of(base), TOKEN)
    assert "the certificate is of another name (TLS): " in finding.text
    assert finding.advice == "use a name that the certificate has, or a certificate with this name"


def test_a_port_without_tls_is_named() -> None:
    with front_end(HEALTHY) as base:
        (finding,) = remote_findings(address_of(base.replace("http:", "https:")), TOKEN)
    assert "no TLS is spoken there" in finding.text


@pytest.mark.parametrize(
    ("replies", "name", "text"),
    [
        (
            {"/healthz": Reply(302, {"Location": "https://login.example/?next=/healthz"})},
            "health",
            "redirected to https://login.example/",
        ),
        ({"/healthz": Reply(502)}, "health", "/healthz answers 502"),
        (
            {
                **HEALTHY,
                "/readyz": Reply(
                    503, JSON, '{"ready": false, "reason": "store_unavailable: No permission."}'
                ),
            },
            "ready",
            "its store does not answer: store_unavailable: No permission.",
        ),
        (
            {**HEALTHY, "/mcp": Reply(401, {"WWW-Authenticate": "Basic"})},
            "door",
            "401: a front end asks",
        ),
        ({**HEALTHY, "/mcp": Reply(403)}, "door", "403: a front end refuses callers without"),
        (
            {**HEALTHY, **CLOSED, "/mcp with a token": Reply(403)},
            "token",
            "403: the token may not enter",
        ),
        (HEALTHY, "door", "404: nothing answers at this path"),
        ({**HEALTHY, "/mcp": Reply(405)}, "door", "405: no MCP is served at this path"),
        ({**HEALTHY, "/mcp": Reply(406)}, "door", "406: "),
        ({**HEALTHY, "/mcp": Reply(413)}, "door", "413: "),
        ({**HEALTHY, "/mcp": Reply(421)}, "host", "421: the service does not know this host name"),
        (
            {**HEALTHY, **CLOSED, "/mcp with a token": Reply(421)},
            "host",
            "421: the service does not know this host",
        ),
        ({**HEALTHY, "/mcp": Reply(503)}, "door", "503: the service is not ready or is ending"),
        (
            {**HEALTHY, "/mcp": Reply(200, {"Content-Type": "text/html"}, "<p>Sign in</p>")},
            "door",
            "200, text/html: this is no MCP server",
        ),
        (
            {**HEALTHY, "/mcp": Reply(307, {"Location": "/mcp/"})},
            "door",
            "307 to /mcp/, without content: this is no MCP server",
        ),
        ({**HEALTHY, **CLOSED}, "token", "401: it is unknown, expired or revoked"),
        ({**HEALTHY, **CLOSED, "/mcp with a token": Reply(429)}, "token", "429: too many calls"),
        (
            {**HEALTHY, "/mcp": Reply(200, JSON, "weather")},
            "discovery",
            "this is weather, not fleet-memory",
        ),
        *(
            (
                {**HEALTHY, "/mcp": Reply(200, JSON, body)},
                "door",
                "200, application/json: this is no MCP server",
            )
            for body in ("{}", "[1, 2]", '{"jsonrpc": "2.0", "id": 1, "result": {}}')
        ),
    ],
)
def test_the_step_that_fails_is_the_last_and_gives_the_reason(
    replies: Mapping[str, Reply], name: str, text: str
) -> None:
    finding = last_of(replies)
    assert (finding.name, finding.is_ok, text in finding.text) == (name, False, True), finding


def test_health_that_a_front_end_hides_does_not_end_the_walk() -> None:
    with front_end(CLOSED) as base:
        found = remote_findings(address_of(base), TOKEN)
    assert [(finding.name, finding.is_ok) for finding in found] == [
        *[("connection", True), ("health", True), ("ready", True), ("door", True)],
        ("token", False),
    ]


def test_health_of_a_page_that_answers_everything_is_not_taken_for_ours() -> None:
    page = Reply(200, {"Content-Type": "text/html"}, "<p>Sign in</p>")
    with front_end({"/healthz": page, "/readyz": page, "/mcp": page}) as base:
        found = {finding.name: finding.text for finding in remote_findings(address_of(base), TOKEN)}
    assert (
        found["health"]
        == "/healthz answers 200, but not as ours does: another service, or a page before it"
    )
    assert (
        found["ready"]
        == "/readyz answers 200, but not as ours does: another service, or a page before it"
    )


def test_without_a_token_a_closed_door_asks_for_one() -> None:
    finding = last_of({**HEALTHY, **CLOSED}, token="")
    assert (finding.name, finding.text) == ("token", "there is none in the variable")
    assert "set it in this shell" in finding.advice


def test_a_token_that_is_refused_may_have_been_lost_on_the_way() -> None:
    finding = last_of({**HEALTHY, **CLOSED})
    assert finding.text == "401: it is unknown, expired or revoked, or a proxy took it out"
    assert "`a bearer is refused`" in finding.advice
    assert "Authorization" in finding.advice


def test_a_redirect_may_lead_to_a_page_to_sign_in() -> None:
    finding = last_of({"/healthz": Reply(302, {"Location": "https://login.example/"})})
    assert finding.advice == (
        "give the address that it leads to; if that is a page to sign in, let requests pass "
        "it: the service checks the "
        "tokens itself"
    )


def test_http_to_a_port_of_tls_asks_for_https() -> None:
    page = Reply(
        400, {"Content-Type": "text/html"}, "The plain HTTP request was sent to HTTPS port"
    )
    finding = last_of({"/healthz": page, "/readyz": page, "/mcp": page})
    assert (finding.name, finding.advice) == ("door", "is it https, and not http?")


def test_a_proxy_that_buffers_streams_is_distinguished_from_a_service_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "MAX_ANSWER_S", 0.3)
    finding = last_of({**HEALTHY, "/mcp": Reply(hangs=True)})
    assert (finding.name, finding.is_ok) == ("streaming", False)
    assert "though /healthz was answered" in finding.text


def test_a_proxy_that_collects_streams_is_noted() -> None:
    stream = Reply(
        200,
        {"Content-Type": "text/event-stream"},
        'data: {"jsonrpc": "2.0", "id": 1, "result": {}}\n\n',
    )
    with front_end({**HEALTHY, "/mcp": stream}) as base:
        found = {finding.name: finding for finding in remote_findings(address_of(base), "")}
    assert found["streaming"].text == "a front end collects its streams"


def test_a_service_on_another_machine_that_serves_without_a_token_is_a_fault() -> None:
    with front_end({**HEALTHY, "/mcp": Reply(200, JSON, "weather")}) as base:
        named = address_of(base)._replace(host="fleet.example")
        door = next(finding for finding in remote_findings(named, "") if finding.name == "door")
    assert (door.is_ok, door.text) == (False, "open: it serves callers without a token")


def test_control_characters_of_a_service_do_not_reach_the_terminal() -> None:
    reason = json.dumps({"ready": False, "reason": "\x1b[2J" + "x" * 10_000})
    finding = last_of({**HEALTHY, "/readyz": Reply(503, JSON, reason)})
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
    assert answer["findings"][-1] == {
        "name": "token",
        "ok": False,
        "text": "401: it is unknown, expired or revoked, or a proxy took it out",
        "advice": "the service's log has the reason (`a bearer is refused`), or no line: then "
        "let the proxy pass "
        "Authorization on; else create another with the service's store: "
        "fleet-memory token create --program NAME --store STORE",
    }
    assert "NO  token" in text
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
