"""The window: an ASGI app of pages for people, below `/window`.

A request passes four checks before a page is made: it names one of our hosts, what it changes
comes from a page of ours, its bearer is known, and its body is small. Whatever fails is a plain
page, and nothing is done.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from fleet_memory.errors import (
    ConflictError,
    FleetMemoryError,
    ForbiddenError,
    InvalidArgumentError,
    KnowledgeNotFoundError,
    PatternNotFoundError,
    StoreError,
    UnknownNameError,
)
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import note_read
from fleet_memory.rules.text.credentials import without_credentials
from fleet_memory.schemas.fields import MAX_KEY_CHARS
from fleet_memory.schemas.programs import Caller, Role
from fleet_memory.window.changes import ACTS, Form
from fleet_memory.window.pages import PAGES, Page, Visit
from fleet_memory.window.rendering import STATIC, STATIC_TYPES, PageContent, rendered
from fleet_memory.window.stores import ChangedSinceError

WINDOW_PATH: Final = "/window"
MAX_FORM_BYTES: Final = 64 * 1024  # chosen: a hundred ids, and two texts of the longest
RETRY_S: Final = 5  # after which a page that found no store tries again; chosen
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATUS: Final[Sequence[tuple[type[FleetMemoryError], int]]] = (
    (ForbiddenError, 403),
    (KnowledgeNotFoundError, 404),
    (PatternNotFoundError, 404),
    (UnknownNameError, 404),
    (ChangedSinceError, 409),
    (ConflictError, 409),
    (StoreError, 503),
)

_logger = logging.getLogger(__name__)


class Door(Protocol):
    """Admits people to the window; each transport has its own door."""

    @property
    def has_sign_in(self) -> bool:
        """Whether a form asks for a token."""

    async def caller(self, secret: str) -> Caller | None:
        """Return the caller whose cookie holds this secret; None if unknown."""

    async def admitted(self, given: str) -> str | None:
        """Return the cookie's secret for a token or for the secret part of a link; None if it is
        refused.
        """


class LinkDoor:
    """The door of one person's machine: a link that opens once, and a cookie afterwards."""

    has_sign_in = False

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.link = secrets.token_urlsafe(32)
        self._is_spent = False
        self._session = secrets.token_urlsafe(32)

    async def caller(self, secret: str) -> Caller | None:
        """Return the person if the cookie came from the link."""
        is_ours = secrets.compare_digest(secret.encode(), self._session.encode())
        return self._caller if is_ours else None

    async def admitted(self, given: str) -> str | None:
        """Return the secret for the cookie, once."""
        if self._is_spent or not secrets.compare_digest(given.encode(), self.link.encode()):
            return None
        self._is_spent = True
        return self._session


class Bearer(Protocol):
    """A person with a valid token."""

    program_id: str
    role: Role
    token_id: str


class TokenDoor:
    """The door over HTTP: the token of an auditor or an admin, checked again by each request."""

    has_sign_in = True

    def __init__(self, verify: Callable[[str], Awaitable[Bearer | None]]) -> None:
        self._verify = verify

    async def caller(self, secret: str) -> Caller | None:
        """Return the bearer of a token whose role reads other programs."""
        bearer = await self._verify(secret) if secret else None
        if bearer is None or bearer.role not in ("auditor", "admin"):
            return None
        return Caller(bearer.program_id, bearer.role, bearer.token_id)

    async def admitted(self, given: str) -> str | None:
        """Return the token for the cookie: a restart and a revocation need no session of ours."""
        return given if await self.caller(given) else None


class Window:
    """The app. `hosts` are the values of Host that it answers, ":*" for any port; `base` is where
    a browser finds it, e.g. "https://mem.example.com/team".
    """

    def __init__(
        self,
        fleet: Callable[[], Awaitable[Fleet]],
        door: Door,
        hosts: Sequence[str],
        base: str,
    ) -> None:
        self._fleet = fleet
        self._door = door
        self._hosts = hosts
        self._root = urlsplit(base).path.rstrip("/") + WINDOW_PATH
        self._is_secure = base.startswith("https:")
        self._cookie = f"fleet-memory-window-{urlsplit(base).port or 0}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            answer = await self._answered(request)
        except FleetMemoryError as error:
            answer = self._refused(error)
        except ClientDisconnect:
            return
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        await answer(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        if not self._is_own(request.headers.get("host", "")):
            return self._plain("This address is none of this server's.", 421)
        path = "/" + request.url.path.removeprefix(WINDOW_PATH).strip("/")
        if path.startswith("/static/"):
            return self._static(path.removeprefix("/static/"))
        if request.method == "POST":
            return await self._changed(request, path)
        if request.method != "GET":
            return self._plain("A window is read and changed by GET and POST.", 405)
        if path == "/open":
            return await self._opened(request.query_params.get("link", ""))
        if (caller := await self._caller(request)) is None:
            return self._closed()
        as_json = path.endswith(".json")
        path = "/" + path.removesuffix(".json").removesuffix("index").strip("/")
        page = next((each for each in PAGES if each.path == path), None)
        if page is None:
            return self._plain("There is no such page.", 404)
        fleet = replace(await self._fleet(), caller=caller)
        asked = dict(request.query_params)
        if caller.program_id is not None:
            await note_read(
                fleet,
                (asked.get("program") or asked.get("key") or page.title)[:MAX_KEY_CHARS],
                "window",
            )
        content = await page.content(Visit(fleet, asked))
        if as_json:
            return JSONResponse(content)
        return self._page(page, content, fleet, asked)

    async def _changed(self, request: Request, path: str) -> Response:
        """Carry out an act, and lead to the page that shows what it did."""
        if not self._is_from_us(request):
            return self._plain("This came from another site. Nothing was done.", 403)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_FORM_BYTES:
                return self._plain("This form is too large. Nothing was done.", 413)
        try:
            form = Form(parse_qs(body.decode(), keep_blank_values=True, max_num_fields=500))
        except ValueError:
            return self._plain("This is no form. Nothing was done.", 400)
        if path == "/sign-in" and self._door.has_sign_in:
            return await self._opened(form.text("token"))
        if path == "/sign-out":
            answer = self._closed()
            answer.delete_cookie(self._cookie, path=self._root)
            return answer
        if (caller := await self._caller(request)) is None:
            return self._closed()
        if (act := ACTS.get(path)) is None:
            return self._plain("There is no such act. Nothing was done.", 404)
        fleet = replace(await self._fleet(), caller=caller)
        try:
            place = await act(fleet, form)
        except FleetMemoryError as error:
            return self._refused(error, form)
        return RedirectResponse(self._root + place, 303)

    async def _caller(self, request: Request) -> Caller | None:
        return await self._door.caller(request.cookies.get(self._cookie, ""))

    async def _opened(self, given: str) -> Response:
        """Admit a person with the right link or token, and set the cookie."""
        if (secret := await self._door.admitted(given)) is None:
            return self._closed()
        answer = RedirectResponse(f"{self._root}/", 303)
        answer.set_cookie(
            self._cookie,
            secret,
            path=self._root,
            secure=self._is_secure,
            httponly=True,
            samesite="strict",
        )
        return answer

    def _is_own(self, host: str) -> bool:
        return host in self._hosts or f"{host.rpartition(':')[0]}:*" in self._hosts

    def _is_from_us(self, request: Request) -> bool:
        """Whether a form was sent by a page of ours, by what the browser says of it."""
        if site := request.headers.get("sec-fetch-site"):
            return site == "same-origin"
        origin = urlsplit(request.headers.get("origin", ""))
        return bool(origin.netloc) and origin.netloc == request.headers["host"]

    def _static(self, name: str) -> Response:
        if (content := STATIC.get(name)) is None:
            return self._plain("There is no such file.", 404)
        kind = STATIC_TYPES[name.rpartition(".")[2]]
        kept = {"Cache-Control": "public, max-age=31536000, immutable"}
        return Response(content, media_type=kind, headers=kept)

    def _page(
        self, page: Page, content: PageContent, fleet: Fleet, asked: Mapping[str, str]
    ) -> Response:
        caller, twin = fleet.caller, urlencode({k: v for k, v in asked.items() if k != "done"})
        name = "/index" if page.path == "/" else page.path
        return HTMLResponse(
            rendered(
                page.template,
                content,
                root=self._root,
                page=page,
                pages=PAGES,
                fleet=fleet.paths.fleet_id,
                who=caller.program_id,
                done=asked.get("done"),
                twin=f"{self._root}{name}.json?{twin}",
                at=f"{page.path}?{twin}",
            )
        )

    def _plain(self, text: str, status: int, form: Form | None = None) -> Response:
        """Return a plain page of one sentence, with what was typed, and the way back."""
        sent = {name: form.text(name) for name in ("text", "why", "reason")} if form else {}
        back = form.text("at") if form else ""
        known = {page.path for page in PAGES}
        return HTMLResponse(
            rendered(
                "plain.html",
                {"text": text, "typed": {name: each for name, each in sent.items() if each}},
                root=self._root,
                back=back if back.partition("?")[0] in known else "",
                sign_in=self._door.has_sign_in and status == 401,
                retry=RETRY_S if status == 503 and form is None else 0,
            ),
            status,
            headers={"Refresh": str(RETRY_S)} if status == 503 and form is None else None,
        )

    def _closed(self) -> Response:
        """Return the page for a person whom the door refuses."""
        ways = {
            True: "Sign in with the token of an auditor or an admin.",
            False: "This window opens by its link, once. Run `fleet-memory window` again for "
            "another one.",
        }
        return self._plain(ways[self._door.has_sign_in], 401)

    def _refused(self, error: FleetMemoryError, form: Form | None = None) -> Response:
        status = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
        if not isinstance(error, InvalidArgumentError):
            _logger.info("window: %s %s", error.code, error.operator_detail)
        return self._plain(without_credentials(str(error)), status, form)
