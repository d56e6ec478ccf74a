"""Walks a service as a client does: connection, health, door, token, discovery, a call; the first
that fails ends it.

Nothing is stored and nothing is marked as shown. No finding repeats the token.
"""

import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, NamedTuple

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from fleet_memory import __version__
from fleet_memory.clients.address import Address
from fleet_memory.clients.clients import NAME
from fleet_memory.clients.connecting import connection_problem
from fleet_memory.clients.diagnosis import Finding
from fleet_memory.clients.probing import first_of
from fleet_memory.rules.retrieval.budget import tokens

MAX_ANSWER_S: Final = (
    15.0  # chosen: a service that scales to zero needs some seconds for its first answer
)
_MAX_BODY_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 200
_STREAM: Final = "text/event-stream"
_CALLED: Final = ("memory_health", "fleet_health")  # tools that read and leave no trace
_CALLER: Final = f"{NAME}-doctor"  # who asks where no program is bound; it stores nothing
_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": _CALLER, "version": __version__},
    },
}
_CREATE: Final = f"with the service's store: {NAME} token create --program NAME --store STORE"
_CHECKS: Final = "the service checks the tokens itself"
_REFUSED_TOKEN: Final = (
    "the service's log has the reason (`a bearer is refused`), or no line: then let the proxy "
    "pass Authorization on; "
    f"else create another {_CREATE}"
)
# status of an MCP request -> why, and the remedy
_REFUSALS: Final = {
    400: ("the server there takes the request for a bad one", "is it https, and not http?"),
    403: (
        "the token may not enter, or a front end refuses the request",
        f"on Cloud Run deploy with --no-invoker-iam-check: {_CHECKS}",
    ),
    404: (
        "nothing answers at this path",
        "the path ends in /mcp; does the proxy keep the prefix of --public-url?",
    ),
    405: ("no MCP is served at this path", "the path ends in /mcp"),
    406: ("the header Accept was changed on the way", "let the proxy pass Accept on"),
    413: ("the body is too large for a front end", "raise the proxy's limit of a body"),
    421: (
        "the service does not know this host name",
        "start it with --public-url, or with --allowed-host and the name that the proxy passes "
        "on as Host",
    ),
    429: ("too many calls", "wait as long as the answer says"),
    502: ("the proxy cannot reach the service", "is it running, and does the proxy name its port?"),
    503: ("the service is not ready or is ending", "read its log; /readyz has the reason"),
    504: (
        "the proxy waited too long for the service",
        "raise its timeout and let it pass streams on at once",
    ),
}


class _FailedError(Exception):
    """A step failed, so none after it can work; the finding says why."""

    def __init__(self, name: str, text: str, advice: str = "") -> None:
        super().__init__(text)
        self.finding = Finding(name, is_ok=False, text=text, advice=advice)


def remote_findings(address: Address, token: str) -> list[Finding]:
    """Return a finding for each step, "" as the token for none; raises nothing: a problem is a
    finding too.
    """
    if not token.isascii() or not token.isprintable() or " " in token:
        advice = "put the token alone into the variable, without spaces and line ends"
        return [
            Finding(
                "token", is_ok=False, text="it has a character that no header takes", advice=advice
            )
        ]
    walk = _Walk(address, token)
    try:
        anyio.run(walk.run)
    except _FailedError as failed:
        walk.found.append(failed.finding)
    return walk.found


class _Walk:
    """One walk; `found` grows by a finding for each step."""

    def __init__(self, address: Address, token: str) -> None:
        self.found = list[Finding]()
        self._address = address
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}

    async def run(self) -> None:
        """Take the steps. Raises _FailedError of the first that fails."""
        async with httpx2.AsyncClient(timeout=MAX_ANSWER_S) as client:
            await self._ask_health(client)
            await self._ask_readiness(client)
            await self._try_door(client)
        async with httpx2.AsyncClient(headers=self._authorization, timeout=MAX_ANSWER_S) as client:
            await self._discover_and_call(client)

    def _add(self, name: str, text: str, advice: str = "") -> None:
        self.found.append(Finding(name, is_ok=True, text=text, advice=advice))

    async def _ask_health(self, client: httpx2.AsyncClient) -> None:
        address = self._address
        try:
            answer = await _answered(client.stream("GET", f"{address.above}/healthz"))
        except (httpx2.TransportError, TimeoutError) as error:
            text, advice = connection_problem(error, MAX_ANSWER_S)
            raise _FailedError("connection", f"{address.above}: {text}", advice) from error
        advice = (
            ""
            if address.is_secret
            else "use https: anyone on the way can read the token and every lesson"
        )
        self._add("connection", f"{address.above} answers", advice)
        if answer.json.get("alive") is True:
            self._add("health", "the process is alive")
        elif 300 <= answer.status < 400:
            advice = (
                "give the address that it leads to; if that is a page to sign in, let requests "
                "pass "
                f"it: {_CHECKS}"
            )
            raise _FailedError("health", f"redirected to {answer.location}", advice)
        elif answer.status >= 500:
            raise _FailedError(
                "health",
                f"/healthz answers {answer.status}",
                _REFUSALS.get(answer.status, ("", ""))[1],
            )
        else:  # the steps that follow decide
            self._add("health", _foreign("/healthz", answer))

    async def _ask_readiness(self, client: httpx2.AsyncClient) -> None:
        answer = await _asked("ready", client.stream("GET", f"{self._address.above}/readyz"))
        if answer.json.get("ready") is True:
            self._add("ready", "its store answers")
        elif answer.json.get("ready") is False:
            reason = _shown(str(answer.json.get("reason")))
            raise _FailedError(
                "ready", f"its store does not answer: {reason}", f"run {NAME} check where it runs"
            )
        else:
            self._add("ready", _foreign("/readyz", answer))

    async def _try_door(self, client: httpx2.AsyncClient) -> None:
        """Ask without a token: only a service of this machine may serve that."""
        answer = await self._initialized(client, {})
        if answer.status == 401 and not answer.challenge.lower().startswith("bearer"):
            text = "401: a front end asks for a sign-in of its own"
            raise _FailedError("door", text, f"let requests to /mcp pass: {_CHECKS}")
        if answer.status == 401:
            self._add("door", "closed to callers without a token")
            await self._present_token(client)
            return
        if answer.status == 403:
            text = "403: a front end refuses callers without a sign-in of its own"
            raise _FailedError("door", text, _REFUSALS[403][1])
        self._require_served("door", answer)
        served = "open: it serves callers without a token" + (
            " and reads none" if self._authorization else ""
        )
        if self._address.is_local:
            self._add("door", f"{served}, as a service of this machine may")
        else:
            advice = f"give each agent its token, {_CREATE}"
            self.found.append(Finding("door", is_ok=False, text=served, advice=advice))

    async def _present_token(self, client: httpx2.AsyncClient) -> None:
        if not self._authorization:
            advice = (
                f"set it in this shell, or name another by --token-env; else create one {_CREATE}"
            )
            raise _FailedError("token", "there is none in the variable", advice)
        answer = await self._initialized(client, self._authorization)
        if answer.status == 401:
            text = "401: it is unknown, expired or revoked, or a proxy took it out"
            raise _FailedError("token", text, _REFUSED_TOKEN)
        self._require_served("token", answer)
        self._add("token", "is accepted")

    def _require_served(self, step: str, answer: "_Answer") -> None:
        """Raise _FailedError for an answer that is not of an MCP server to a caller whom it
        serves.
        """
        if answer.status in _REFUSALS:
            why, advice = _REFUSALS[answer.status]
            raise _FailedError(
                "host" if answer.status == 421 else step, f"{answer.status}: {why}", advice
            )
        if answer.status != 200 or not answer.is_of_mcp:
            to = f" to {answer.location}" if answer.location else ""
            text = f"{answer.status}{to}, {answer.kind or 'without content'}: this is no MCP server"
            raise _FailedError(step, text, "give the address of the service, which ends in /mcp")
        if answer.kind == _STREAM and answer.has_length:
            advice = (
                "switch buffering off for this path: progress of long calls waits for their end"
            )
            self._add("streaming", "a front end collects its streams", advice)

    async def _initialized(
        self, client: httpx2.AsyncClient, authorization: Mapping[str, str]
    ) -> "_Answer":
        headers = {"Accept": f"application/json, {_STREAM}", **authorization}
        return await _asked(
            "streaming", client.stream("POST", self._address.url, json=_INITIALIZE, headers=headers)
        )

    async def _discover_and_call(self, http: httpx2.AsyncClient) -> None:
        try:
            with anyio.fail_after(4 * MAX_ANSWER_S):
                async with Client(
                    streamable_http_client(self._address.url, http_client=http)
                ) as client:
                    discovered = await _discovered(client)
                    self.found.append(discovered)
                    if discovered.is_ok:
                        self.found.append(await _called(client))
        except Exception as error:
            step = "call" if self.found[-1].name == "discovery" else "discovery"
            problem = first_of(error)
            text = f"it fails: {_shown(str(problem) or type(problem).__name__)}"
            raise _FailedError(step, text, "read the service's log of this moment") from error


async def _discovered(client: Client) -> Finding:
    """Ask for the tools, and count their cost at the start of every session."""
    listed, server = await client.list_tools(), client.server_info
    if server is None or server.name != NAME:
        other = _shown(server.name) if server else "a server without a name"
        return Finding(
            "discovery",
            is_ok=False,
            text=f"this is {other}, not {NAME}",
            advice="give another address",
        )
    cost = tokens(json.loads(listed.model_dump_json(by_alias=True, exclude_none=True))["tools"])
    text = f"{NAME} {_shown(server.version)}: {len(listed.tools)} tools, {cost:,} tokens"
    return Finding("discovery", is_ok=True, text=text)


async def _called(client: Client) -> Finding:
    """Call a tool that leaves no trace: as the token's program, or by a name of its own where none
    is bound.
    """
    names = {tool.name for tool in (await client.list_tools()).tools}
    name = next((name for name in _CALLED if name in names), None)
    if name is None:
        return Finding(
            "call",
            is_ok=True,
            text="no tool that only reads is offered to this token; none was called",
        )
    arguments = {"programId": _CALLER} if name == "memory_health" else {}
    answer = await client.call_tool(name, {})
    if answer.is_error and arguments:
        answer = await client.call_tool(name, arguments)  # unbound: it needs a name
    content = answer.structured_content or {}
    text = _shown(" ".join(block.text for block in answer.content if block.type == "text"))
    if answer.is_error:
        return Finding(
            "call",
            is_ok=False,
            text=f"{name}: {text}",
            advice="read the service's log of this moment",
        )
    program = content.get("programId") if isinstance(content, dict) else None
    bound = f" as {program}" if program and program != _CALLER else ""
    return Finding("call", is_ok=True, text=f"{name} answers{bound}")


class _Answer(NamedTuple):
    """The part of an answer's head and body that counts here. `kind` is its type without
    parameters.
    """

    status: int
    kind: str
    location: str
    challenge: str
    has_length: bool
    json: Mapping[str, object]

    @property
    def is_of_mcp(self) -> bool:
        """Whether it may be the answer to `_INITIALIZE`; a stream is left to the client to read."""
        result = self.json.get("result")
        return self.kind == _STREAM or (
            self.kind == "application/json"
            and isinstance(result, dict)
            and "protocolVersion" in result
        )


def _foreign(path: str, answer: _Answer) -> str:
    """Return the words for an answer that is not of our route; the steps that follow decide."""
    if answer.status == 200:
        return f"{path} answers 200, but not as ours does: another service, or a page before it"
    return f"{path} answers {answer.status}: hidden by a front end, as on Cloud Run, or not ours"


async def _asked(step: str, stream: AbstractAsyncContextManager[httpx2.Response]) -> _Answer:
    """Return the answer to a request. Raises _FailedError where none comes although the service was
    reached before.
    """
    try:
        return await _answered(stream)
    except (httpx2.TransportError, TimeoutError) as error:
        if not isinstance(error, TimeoutError | httpx2.TimeoutException):
            text, advice = connection_problem(error, MAX_ANSWER_S)
            raise _FailedError(
                "connection", f"/healthz was answered, then {text}", advice
            ) from error
        raise _FailedError(
            step,
            f"no answer within {MAX_ANSWER_S:.0f} s, though /healthz was answered: "
            f"{type(error).__name__}",
            "a proxy that holds streams back? let it pass text/event-stream on at once (nginx: "
            "proxy_buffering off)",
        ) from error


async def _answered(stream: AbstractAsyncContextManager[httpx2.Response]) -> _Answer:
    with anyio.fail_after(MAX_ANSWER_S):
        async with stream as response:
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MAX_BODY_BYTES:
                    break
    headers = response.headers
    try:
        read = json.loads(body)
    except ValueError:
        read = {}
    return _Answer(
        response.status_code,
        headers.get("content-type", "").partition(";")[0].strip().lower(),
        _shown(headers.get("location", "").partition("?")[0]),
        headers.get("www-authenticate", ""),
        "content-length" in headers,
        read if isinstance(read, dict) else {},
    )


def _shown(text: str) -> str:
    """Return a text of the service for a terminal: short, on one line, without characters that
    steer one.
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[
        :_SHOWN_CHARS
    ]
