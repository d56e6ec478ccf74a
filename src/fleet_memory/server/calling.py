"""The caller of a request, as far as its client names it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mcp.server.mcpserver import Context

from fleet_memory.fleet import Caller
from fleet_memory.rules.text.credentials import credential_in
from fleet_memory.settings import is_name

SESSION_META_KEY: Final = (
    "fleet-memory/session"  # of a request's `_meta`: the session that the agent works in
)
MODEL_META_KEY: Final = (
    "fleet-memory/model"  # the family of the model behind the agent, e.g. claude
)
MAX_CLIENT_CHARS: Final = 100  # characters; a longer client's name is cut; chosen
MAX_SEARCHED_CHARS: Final = (
    1_000  # of the name, for a credential that begins in what is stored of it; chosen
)


def caller_of_request(
    context: Context[Any, Any], caller: Caller
) -> Caller:  # Any: of no concern here
    """Return the caller with the client, session and model that a request names; an invalid name is
    ignored.

    So is one with a control character or a credential: names are stored, and people read them in a
    terminal. The client is that of `initialize`, or of the request itself where the protocol has no
    `initialize`.
    """
    request = context.request_context
    meta: Mapping[str, object] = request.meta or {}
    client = request.session.client_params
    sent = client.client_info.name[:MAX_SEARCHED_CHARS] if client else ""
    name = sent[:MAX_CLIENT_CHARS] if sent.isprintable() and credential_in(sent) is None else ""
    return replace(
        caller,
        client=name or caller.client,
        session_id=_named(meta, SESSION_META_KEY) or caller.session_id,
        model=_named(meta, MODEL_META_KEY) or caller.model,
    )


def _named(meta: Mapping[str, object], key: str) -> str | None:
    value = meta.get(key)
    return (
        value
        if isinstance(value, str) and is_name(value) and credential_in(value) is None
        else None
    )
