"""Pages for people: see and mend what the fleet knows."""

from argparse import ArgumentParser, Namespace
from typing import Final

from fleet_memory.fleet import Fleet, PeoplesCommand
from fleet_memory.schemas.value import Value


class Written(Value):
    """The file that the pages were written into, if any."""

    written: str | None = None


async def run_window(fleet: Fleet, given: Namespace) -> Value:
    """Serve the pages until a signal, or write them into a file."""
    from fleet_memory.window.serving import export_window, serve_window  # noqa: PLC0415 --help needs no web server

    if given.export:
        await export_window(fleet, given.export)
    else:
        await serve_window(fleet, given.port, opens=not given.no_browser)
    return Written(written=given.export)


def _add_arguments(parser: ArgumentParser) -> None:
    port = "of 127.0.0.1 (default: a free one)"
    parser.add_argument("--port", metavar="PORT", type=int, default=0, help=port)
    quiet = "print the link, and open no browser"
    parser.add_argument("--no-browser", action="store_true", help=quiet)
    export = "write the pages into one file, to show others"
    parser.add_argument("--export", metavar="FILE", help=export)


_HELP: Final = "see and mend in the browser what the fleet knows"
WINDOW: Final = PeoplesCommand("window", _HELP, "--export page.html", _add_arguments, run_window)
