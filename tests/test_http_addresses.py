"""Everything that follows from where the server listens and the URL that its clients know."""

from itertools import product

import pytest

from fleet_memory.errors import SettingsError
from fleet_memory.server.http.addresses import Addresses, Bind, addresses, allowed_host, bind_of
from fleet_memory.settings import is_loopback, load

HERE = ("127.0.0.1", "127.0.0.1:*", "localhost", "localhost:*", "[::1]", "[::1]:*")


def origins(*hosts: str) -> tuple[str, ...]:
    return tuple(f"{scheme}://{host}" for host, scheme in product(hosts, ("http", "https")))


def test_a_server_of_one_machine_answers_to_the_names_of_that_machine() -> None:
    assert addresses("127.0.0.1", 8765) == Addresses(
        endpoint="http://127.0.0.1:8765/mcp",
        prefix="",
        hosts=HERE,
        origins=origins(*HERE),
    )


@pytest.mark.parametrize("end", ["", "/", "/mcp", "/mcp/"])
def test_all_follows_from_the_public_url_however_it_ends(end: str) -> None:
    hosts = (*HERE, "0.0.0.0", "0.0.0.0:*", "mem.example.com", "mem.example.com:*")  # noqa: S104 a name, no socket
    assert addresses("0.0.0.0", 8080, f"https://mem.example.com{end}") == Addresses(  # noqa: S104 the same
        endpoint="https://mem.example.com/mcp",
        prefix="",
        hosts=hosts,
        origins=origins(*hosts),
    )


@pytest.mark.parametrize("end", ["", "/", "/mcp", "/mcp/"])
def test_a_path_before_the_endpoint_stays(end: str) -> None:
    found = addresses("127.0.0.1", 8765, f"https://example.com/agents/memory{end}")
    assert (found.endpoint, found.prefix) == (
        "https://example.com/agents/memory/mcp",
        "/agents/memory",
    )


@pytest.mark.parametrize(
    ("public_url", "host", "endpoint"),
    [
        ("https://MEM.Example.com", "mem.example.com", "https://mem.example.com/mcp"),
        ("https://mem.example.com:443", "mem.example.com", "https://mem.example.com/mcp"),
        ("http://mem.example.com:80/", "mem.example.com", "http://mem.example.com/mcp"),
        ("https://mem.example.com:8443", "mem.example.com", "https://mem.example.com:8443/mcp"),
        ("http://[fd00::7]:8080", "[fd00::7]", "http://[fd00::7]:8080/mcp"),
    ],
)
def test_the_public_host_is_answered_with_and_without_a_port(
    public_url: str, host: str, endpoint: str
) -> None:
    found = addresses("127.0.0.1", 8765, public_url)
    assert {host, f"{host}:*"} <= {*found.hosts}
    assert found.endpoint == endpoint


def test_an_allowed_host_with_a_port_is_that_one_alone() -> None:
    found = addresses("127.0.0.1", 8765, allowed_hosts=["mem.internal:8443", "[fd00::7]"])
    assert found.hosts == (*HERE, "mem.internal:8443", "[fd00::7]", "[fd00::7]:*")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("XN--BCHER-KVA.example:80", "xn--bcher-kva.example:80"),
        ("Mem_1.internal", "mem_1.internal"),
        ("mem.example.com.", "mem.example.com."),
        ("10.0.0.7:80", "10.0.0.7:80"),
        ("[FD00::7]:8443", "[fd00::7]:8443"),
    ],
)
def test_an_allowed_host_is_compared_as_clients_send_it(text: str, host: str) -> None:
    assert allowed_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ".",
            "*",
            "*.example.com",
            "https://mem.example.com",
            "a b",
            "a/b",
            "a..b",
            ".a",
            "-a.example",
            "a-.example",
        ),
        *("a@b", "a:", "a:x", f"{'a' * 64}.example", ".".join(["a" * 60] * 5), "[:::::]", "[mem]"),
        *("bücher.example", "b%C3%BCcher.example", "a。b/c"),
    ],
)
def test_a_text_that_cannot_be_a_host_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^--allowed-host: .* is no host, e\.g\. mem\.example\.com or "
    ):
        allowed_host(text)


@pytest.mark.parametrize("host", ["", "127.0.0.1.example.com", "::2", "2130706433", "0x7f.1"])
def test_a_host_that_only_looks_like_this_machine_is_another(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("text", "bind"),
    [
        ("127.0.0.1:8765", Bind("127.0.0.1", 8765)),
        ("localhost:0", Bind("localhost", 0)),
        ("[::1]:65535", Bind("::1", 65535)),
    ],
)
def test_an_address_to_listen_on_has_a_host_and_a_port(text: str, bind: Bind) -> None:
    assert bind_of(text) == bind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8765",
        "localhost:",
        "h:65536",
        "h:x",
        "[1:80",
        f"{'a' * 70}.com:80",
        "h:\uff10",
    ],
)
def test_another_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^--http: .* is no HOST:PORT, e\.g\. 127\.0\.0\.1:8765"
    ):
        bind_of(text)


@pytest.mark.parametrize(
    "url",
    [
        "mem.example.com",
        "https://",
        "https://mem.example.com/?x=1",
        "https://mem.example.com:0",
        "https://mem.example.com:x",
        "https://mem.example.com/a b",
        "https://mem.exämple.com",
        "https://*.example.com",
    ],
)
def test_a_public_url_that_no_client_can_use_is_refused(url: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^--public-url: .*Allowed: an http or https address"
    ) as refusal:
        load({"public_url": url}, {})
    assert "secret" not in str(refusal.value)
