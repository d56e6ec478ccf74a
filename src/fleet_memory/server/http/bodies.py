"""Bounds the bodies that one token sends at once: a request counts as a call only when its body is
whole.
"""

from collections import Counter
from typing import Final

from mcp.server.auth.middleware.auth_context import get_access_token
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet_memory.server.http.access import CallerToken

MAX_BYTES_AT_ONCE: Final = (
    16 * 1024 * 1024
)  # of one token; chosen: 16 calls at once is the default, of 1 MiB at most
_ADVICE: Final = (
    "Your token sends too much at once; repeat the request when another of yours is answered."
)


class _TooMuchAtOnceError(Exception):
    pass


class BodiesOfTokens:
    """An ASGI middleware that answers 429 to a token whose requests under way have more than
    `MAX_BYTES_AT_ONCE`.

    No other token's requests are refused. Where no token is needed, callers are one person's, and
    have no limit.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._bytes = Counter[str]()  # of the requests under way, by the ids of their tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count its body as it comes."""
        counted = Counter[str]()

        async def received() -> Message:
            message = await receive()
            token = (
                get_access_token()
            )  # known here: what reads the body is inside the middleware that authenticates
            if (body := message.get("body")) and isinstance(token, CallerToken):
                counted[token.token_id] += len(body)
                self._bytes[token.token_id] += len(body)
                if self._bytes[token.token_id] > MAX_BYTES_AT_ONCE:
                    raise _TooMuchAtOnceError
            return message

        try:
            await self._app(scope, received, send)
        except _TooMuchAtOnceError:
            await PlainTextResponse(_ADVICE, 429, {"Retry-After": "1"})(scope, receive, send)
        finally:
            self._bytes -= counted  # keeps positive counts alone
