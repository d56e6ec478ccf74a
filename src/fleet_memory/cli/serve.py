"""`fleet-memory serve`."""

import argparse
import gc
from typing import TYPE_CHECKING

from fleet_memory.server.std_streams import claim_streams
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    serve = commands.add_parser("serve", parents=[shared], help="serve one MCP client over stdin and stdout")
    serve.set_defaults(run=_serve)


def _serve(_: argparse.Namespace, settings: Settings) -> int:
    wire = claim_streams()  # before the imports: they may print
    gc.disable()  # what imports make stays: looking for garbage among it costs a tenth of the start
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.app import create_server  # noqa: PLC0415 half a second, see the package's docstring
    from fleet_memory.server.stdio import serve  # noqa: PLC0415 the same

    server = create_server(settings)
    gc.freeze()
    gc.enable()
    return anyio.run(serve, server, wire)
