"""The program of a caller that names none: the program of the folder that the client works in.

The folder is a setting, or one of the client's roots. Version 2025-11-25 of the protocol asks for
roots by a request of the server, 2026-07-28 by an answer that the client completes.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from anyio import to_thread
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.types import InputRequiredResult, ListRootsRequest, ListRootsResult
from pydantic import ValidationError

from fleet_memory.server.composition import LazyFleet

ROOTS: Final = "roots"  # the key of our question
MAX_WAIT_S: Final = 2.0  # for a client's answer about its own folders; chosen
COMPLETED_SINCE: Final = "2026-07-28"  # no request of a server since this version


async def programs_of_client(
    context: Context[LazyFleet, Any],  # Any: the transport's request
) -> Sequence[str] | InputRequiredResult:
    """Return the programs of the client's folders, none where it names none of this machine; or
    the question that it must answer first.
    """
    lazy = context.request_context.lifespan_context
    program_of, folder = lazy.program_of, lazy.settings.folder
    if program_of is None:
        return ()
    if folder is not None:
        return [await to_thread.run_sync(program_of, folder)]
    roots = await _roots(context)
    if isinstance(roots, InputRequiredResult):
        return roots

    def programs() -> Sequence[str]:
        return list(dict.fromkeys(map(program_of, _folders(roots))))

    return await to_thread.run_sync(programs)


async def _roots(
    context: Context[LazyFleet, Any],  # Any: as above
) -> ListRootsResult | InputRequiredResult:
    """Return what the client answers; nothing for one that has no roots, or answers nonsense."""
    capabilities, question = context.client_capabilities, ListRootsRequest()
    if capabilities is None or capabilities.roots is None:
        return ListRootsResult(roots=[])
    if (context.protocol_version or "") >= COMPLETED_SINCE:
        answered = (context.input_responses or {}).get(ROOTS)
        if isinstance(answered, ListRootsResult):
            return answered
        return InputRequiredResult(input_requests={ROOTS: question})
    try:
        with anyio.fail_after(MAX_WAIT_S):
            listed: ListRootsResult = await context.session.send_request(question, ListRootsResult)
            return listed
    except (MCPError, ValidationError, TimeoutError):
        return ListRootsResult(roots=[])


def _folders(listed: ListRootsResult) -> Iterator[Path]:
    """Yield the roots that are folders of this machine; mcp takes no other addresses than files."""
    for root in listed.roots:
        parts = urlsplit(str(root.uri))
        folder = Path(url2pathname(parts.path))
        if parts.netloc in ("", "localhost") and os.path.isdir(folder):  # noqa: PTH112 Path.is_dir raises where nobody may look
            yield folder
