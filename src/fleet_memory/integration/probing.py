"""Starts a client's configured server as the client does, and asks for its tools."""

import json
import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple, TextIO

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from fleet_memory.integration.server_entry import StartedServer
from fleet_memory.rules.retrieval.budget import tokens

MAX_START_S: Final = 60.0  # chosen: `uvx` may download first


class Probe(NamedTuple):
    """The answer of a started server: its version and the cost of its tools in tokens; or the problem, "" for none."""

    version: str = ""
    tools: int = 0
    tool_tokens: int = 0
    problem: str = ""


def probed(server: StartedServer) -> Probe:
    """Start the server, ask for its tools, and end it. Raises nothing: a problem is an answer too."""
    if not server.words or shutil.which(server.words[0]) is None:
        return Probe(problem=f"there is no command {' '.join(server.words[:1])!r} here")
    try:
        with Path(os.devnull).open("w", encoding="utf-8") as log:  # its log lines are not this command's
            return anyio.run(_answer, server, log)
    except TimeoutError:
        return Probe(problem=f"it did not answer within {MAX_START_S:.0f} s")
    except Exception as error:  # noqa: BLE001 any way in which somebody's configured command may fail
        return Probe(problem=f"it does not answer: {_first_line(error)}")


async def _answer(server: StartedServer, log: TextIO) -> Probe:
    parameters = StdioServerParameters(command=server.words[0], args=[*server.words[1:]], env={**server.variables})
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


def _first_line(error: BaseException) -> str:
    first = first_of(error)
    return (str(first) or type(first).__name__).splitlines()[0]
