"""Serves the window to one person on this machine, and writes its pages into one file."""

import base64
import hashlib
import socket
import sys
import webbrowser
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import uvicorn
from anyio import to_thread
from markupsafe import Markup

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.window.app import WINDOW_PATH, LinkDoor, Window
from fleet_memory.window.pages import PAGES, Visit
from fleet_memory.window.rendering import STATIC, PageContent, rendered
from fleet_memory.window.stores import READER

HOST: Final = "127.0.0.1"
MAX_EXPORTED: Final = 500  # entries of a file; chosen


async def serve_window(fleet: Fleet, port: int, *, opens: bool) -> None:
    """Serve until a signal, at a free port for 0.

    Raises ForbiddenError for a caller that is bound to a program, InvalidArgumentError for a port
    that cannot be had, and the store's errors.
    """
    fleet.caller.require_curation()
    await fleet.last_runs.read()  # a store that does not open ends the start
    with socket.socket() as listener:
        try:
            listener.bind((HOST, port))
        except (OSError, OverflowError) as error:
            raise InvalidArgumentError(f"--port: {port} cannot be bound: {error}") from error
        listener.listen()
        base = f"http://{HOST}:{listener.getsockname()[1]}"
        door = LinkDoor(fleet.caller)
        link = f"{base}{WINDOW_PATH}/open?link={door.link}"
        sys.stderr.write(f"The window is at {link}\nThe link opens once. Ctrl-C ends it.\n")
        sys.stderr.flush()
        if opens:
            await to_thread.run_sync(webbrowser.open, link)

        async def same() -> Fleet:
            return fleet

        app = Window(same, door, [base.removeprefix("http://")], base)
        config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_config=None)
        await uvicorn.Server(config).serve(sockets=[listener])


async def export_window(fleet: Fleet, file: str) -> None:
    """Write the five pages as one file, which needs no server and changes nothing. Raises
    ForbiddenError as `serve_window`, and InvalidArgumentError for a file that cannot be written.
    """
    fleet.caller.require_curation()
    visit = Visit(replace(fleet, caller=READER), {}, MAX_EXPORTED)
    parts = list[PageContent]()
    for page in PAGES:
        if not page.number:
            continue
        content = await page.content(visit)
        html = rendered(page.template, content, "bare.html", page=page, root="", at="")
        parts.append({"page": page, "html": Markup(html)})  # noqa: S704 rendered by us
    style = STATIC["window.css"].decode()
    mark = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    file_text = rendered("export.html", {"parts": parts, "style": Markup(style), "mark": mark})  # noqa: S704
    try:
        await to_thread.run_sync(partial(Path(file).write_text, file_text, encoding="utf-8"))
    except OSError as error:
        raise InvalidArgumentError(f"--export: {error.strerror}") from error
