"""Starts a client's configured server as the client does, and asks for its tools."""

import json
import shutil
import tempfile
from typing import Final, NamedTuple, TextIO

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from fleet_memory.clients.server_entry import StartedServer
from fleet_memory.rules.retrieval.budget import tokens

MAX_START_S: Final = 60.0  # chosen: `uvx` may download first
MAX_REASON_CHARS: Final = 300  # chosen: a refused setting lists the allowed values


class Probe(NamedTuple):
    """The answer of a started server: its version and the cost of its tools in tokens; or the
    problem, "" for none.

    `reason` is the last line that a server logged which ended, e.g. "fleet-memory: --fleet: …".
    """

    version: str = ""
    tools: int = 0
    tool_tokens: int = 0
    problem: str = ""
    reason: str = ""


def probed(server: StartedServer) -> Probe:
    """Start the server, ask for its tools, and end it. Raises nothing: a problem is an answer
    too.
    """
    if not server.words or shutil.which(server.words[0]) is None:
        return Probe(problem=f"there is no command {' '.join(server.words[:1])!r} here")
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return anyio.run(_answer, server, log)
        except TimeoutError:
            return Probe(problem=f"it did not answer within {MAX_START_S:.0f} s")
        except Exception as error:  # noqa: BLE001 any way in which somebody's configured command may fail
            reason = _last_line(log)
            return Probe(
                problem=f"it does not answer: {reason or _first_line(error)}", reason=reason
            )


async def _answer(server: StartedServer, log: TextIO) -> Probe:
    parameters = StdioServerParameters(
        command=server.words[0], args=[*server.words[1:]], env={**server.variables}
    )
    with anyio.fail_after(MAX_START_S):
        async with Client(stdio_client(parameters, log)) as client:
            listed = await client.list_tools()
            tools = json.loads(listed.model_dump_json(by_alias=True, exclude_none=True))["tools"]
            version = client.server_info.version if client.server_info else ""
            return Probe(version, len(tools), tokens(tools))


def first_of(error: BaseException) -> BaseException:
    """Return the first error of a group and of the groups in it, e.g. in a client's task group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _last_line(log: TextIO) -> str:
    """Return the last line of a log, "" for an empty one."""
    log.seek(0)
    lines = [line for line in log.read().splitlines() if line.strip()]
    return (
        "".join(char for char in lines[-1] if char.isprintable())[:MAX_REASON_CHARS]
        if lines
        else ""
    )


def _first_line(error: BaseException) -> str:
    first = first_of(error)
    return (str(first) or type(first).__name__).splitlines()[0]
