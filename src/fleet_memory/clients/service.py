"""A service behind an address: the address and token as a person gives them, and its answers.

Nothing is stored and nothing is marked as shown. No finding repeats the token.
"""

import json
import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from fleet_memory.clients.clients import NAME
from fleet_memory.clients.doctor import Finding, bad, first_of, good
from fleet_memory.clock import machine_time
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.rules.retrieval.budget import tokens
from fleet_memory.settings import http_parts, is_loopback

TOKEN_VARIABLE: Final = "FLEET_MEMORY_TOKEN"  # noqa: S105 the name of a variable
MAX_ANSWER_S: Final = (
    15.0  # chosen: a service that scales to zero needs some seconds for its first answer
)
_SHOWN_CHARS: Final = 200
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_CALLED: Final = "memory_health"  # it reads, and leaves no trace
_CALLER: Final = f"{NAME}-doctor"  # who asks where no program is bound; it stores nothing
_OPEN: Final = (200, 202, 400, 406)  # of a call without a message: it went through the door
WARNED_BEFORE: Final = timedelta(days=7)  # chosen, as deploy/prometheus-alerts.yaml
_ROTATE: Final = f"create the next one, {NAME} token create --also, and revoke this one"
_LOG: Final = "read the service's log of this moment"
_UNREACHED: Final = "is the service running, and are its address and this machine's proxy right?"
_ADVICE: Final = {
    401: f"set the variable to a token that lives: {NAME} token create --program NAME --store "
    "STORE, with the service's store; the service's log has the reason (`a bearer is refused`), "
    "or a proxy took Authorization out",
    403: "let requests to /mcp pass: the service checks the tokens itself",
    404: "give the address of the service, which ends in /mcp",
    421: "start the service with --public-url, or with --allowed-host and the name it is called by",
}


class Address(NamedTuple):
    """Where a service answers MCP, e.g. "https://fleet.example/mcp", and the address above it,
    where its health is.
    """

    url: str
    above: str
    host: str

    @property
    def is_secret(self) -> bool:
        """Whether others on the way cannot read a token: by TLS, or because it stays on this
        machine.
        """
        return is_loopback(self.host) or self.url.startswith("https:")


def address_of(text: str) -> Address:
    """Return the address that a text names, of the service or of its endpoint. Raises
    InvalidArgumentError.
    """
    try:
        parts = http_parts(text.strip())
    except ValueError as error:  # which may repeat a token
        raise InvalidArgumentError(
            "--url: it must be an http or https address without a user, a query or a fragment, "
            "e.g. "
            "https://fleet.example/mcp; a token belongs in the variable that --token-env names"
        ) from error
    above = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/mcp')}"
    return Address(f"{above}/mcp", above, parts.hostname or "")


def token_variable(name: str) -> str:
    """Return the name of a variable. Raises InvalidArgumentError, which never repeats it: it may be
    the token.
    """
    if not _VARIABLE.fullmatch(name) or name.startswith("fm_"):
        raise InvalidArgumentError(
            "--token-env: it must be the name of an environment variable, e.g. FLEET_MEMORY_TOKEN; "
            "a token that was given here is in your shell's history: revoke it"
        )
    return name


def remote_findings(address: Address, token: str) -> list[Finding]:
    """Return what the service's health and one call answer, "" as the token for none; raises
    nothing: a problem is a finding too.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        advice = "put the token alone into the variable, without spaces and line ends"
        text = "it has a character that no header takes"
        return [bad("token", text, advice)]
    return anyio.run(_asked, address, token)


async def _asked(address: Address, token: str) -> list[Finding]:
    listed, step = list[Finding](), "health"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with anyio.fail_after(4 * MAX_ANSWER_S):
            async with httpx2.AsyncClient(timeout=MAX_ANSWER_S) as http:
                listed.append(await _health(address, http))
                if not is_loopback(address.host) and await _refusal(address, http, []) is None:
                    text = "open: it serves callers without a token"
                    advice = f"give each agent its token: {NAME} token create"
                    listed.append(bad("door", text, advice))
            step = "call"
            async with httpx2.AsyncClient(headers=headers, timeout=MAX_ANSWER_S) as http:
                refused = await _refusal(address, http, listed)
                listed.append(refused or await _called(address, http))
    except Exception as error:  # noqa: BLE001 any way in which somebody's service may fail
        first = first_of(error)
        text = f"{address.url}: {type(first).__name__}: {_shown(str(first))}"
        listed.append(bad(step, text, _LOG if listed else _UNREACHED))
    return listed


async def _health(address: Address, http: httpx2.AsyncClient) -> Finding:
    answer = await http.get(f"{address.above}/readyz")
    advice = "" if address.is_secret else "use https: anyone on the way can read the token"
    text = f"{address.above}/readyz answers {answer.status_code}: {_shown(answer.text)}"
    is_ok = answer.status_code < 500  # a front end may hide it, as on Cloud Run
    return Finding("health", is_ok, text, advice if is_ok else f"run {NAME} doctor store there")


async def _refusal(
    address: Address, http: httpx2.AsyncClient, listed: list[Finding]
) -> Finding | None:
    """Return why a request is refused, in the service's or the front end's own words; of one that
    is not, list when its token ends.
    """
    answer = await http.post(address.url, json={})
    if answer.status_code in _OPEN:
        if ends := answer.headers.get("fleet-memory-token-ends"):
            is_ok = datetime.fromisoformat(ends) - machine_time() > WARNED_BEFORE
            listed.append(Finding("token", is_ok, f"ends {ends}", "" if is_ok else _ROTATE))
        return None
    where = answer.headers.get("location", "").partition("?")[0]
    words = _shown(f"{where} {answer.text}")
    text = f"{address.url} answers {answer.status_code}: {words}"
    return bad("call", text, _ADVICE.get(answer.status_code, _LOG))


async def _called(address: Address, http: httpx2.AsyncClient) -> Finding:
    """Call a tool that leaves no trace: as the token's program, or by a name of its own where none
    is bound.
    """
    async with Client(streamable_http_client(address.url, http_client=http)) as client:
        listed, server = await client.list_tools(), client.server_info
        if server is None or server.name != NAME:
            other = _shown(server.name) if server else "a server without a name"
            return bad("call", f"this is {other}, not {NAME}", "give another address")
        tools = json.loads(listed.model_dump_json(by_alias=True, exclude_none=True))["tools"]
        about = f"{NAME} {_shown(server.version)}: {len(tools)} tools, {tokens(tools):,} tokens"
        answer = await client.call_tool(_CALLED, {})
        if answer.is_error:  # unbound: it needs a name
            answer = await client.call_tool(_CALLED, {"programId": _CALLER})
    if answer.is_error:
        words = _shown(" ".join(block.text for block in answer.content if block.type == "text"))
        return bad("call", f"{_CALLED}: {words}", _LOG)
    program = (answer.structured_content or {}).get("programId")
    bound = f" as {program}" if program and program != _CALLER else ""
    return good("call", f"{about}; {_CALLED} answers{bound}")


def _shown(text: str) -> str:
    """Return a text of the service for a terminal: short, on one line, without characters that
    steer one.
    """
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_SHOWN_CHARS]
