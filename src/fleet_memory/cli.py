"""The command line. Exit codes: 0 done, 1 the answer is no, 2 usage, 3 backend unavailable, 4 conflict, 5 internal.

Whatever takes long to import is imported by the command that needs it: `--help` answers at once.
"""

import argparse
import gc
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from fleet_memory import __version__
from fleet_memory.errors import FleetMemoryError, InvalidArgumentError
from fleet_memory.server.wire import claimed
from fleet_memory.settings import SETTINGS, Settings, load

EXIT_NO: Final = 1
EXIT_INTERNAL: Final = 5
EXIT_CRASHED: Final = 1  # of `serve`, like any server that dies
EXIT_INTERRUPTED: Final = 130  # 128 + SIGINT

# Answers that are a no
_NO: Final = {"status": {"duplicate"}, "verdict": {"forgetting", "hoarding", "unreinforced"}}

log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.command:
        parser.print_help()
        return 0
    code = _exit_code(given)
    if given.command == "serve":
        logging.shutdown()
        os._exit(code)  # a thread may be parked in a read of stdin; waiting for it would hang
    return code


def _exit_code(given: argparse.Namespace) -> int:
    # Before numpy is imported: twenty servers share one machine, and idle BLAS threads spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        settings = load({setting.name: getattr(given, setting.name) for setting in SETTINGS}, os.environ)
        return int(given.run(given, settings))
    except FleetMemoryError as error:
        _complain(" ".join(filter(None, (str(error), error.operator_detail))))
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception:
        log.exception("%s failed", given.command)
        return EXIT_CRASHED if given.command == "serve" else EXIT_INTERNAL


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("fleet-memory", description="Shared memory for fleets of AI agents.")
    parser.add_argument("--version", action="version", version=f"fleet-memory {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    shared = _settings_flags()
    serve = commands.add_parser("serve", parents=[shared], help="serve one MCP client over stdin and stdout")
    serve.set_defaults(run=_serve)
    call = commands.add_parser("call", parents=[shared], help="call one tool and print its answer")
    call.add_argument("tool", metavar="TOOL", help="for example recall_memory")
    call.add_argument("arguments", metavar="JSON", nargs="?", default="{}", help="its arguments, or - to read stdin")
    call.set_defaults(run=_call)
    check = commands.add_parser("check", parents=[shared], help="say whether the memory can be read and is intact")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    check.set_defaults(run=_check)
    _moving_commands(commands, shared)
    review = commands.add_parser("review", parents=[shared], help="judge the pairs that consolidation could not decide")
    review.set_defaults(run=_review)
    demo = commands.add_parser("demo", parents=[shared], help="watch three agents learn and share")
    demo.set_defaults(run=_demo)
    return parser


def _moving_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", shared: argparse.ArgumentParser
) -> None:
    export = commands.add_parser("export", parents=[shared], help="write the fleet's memory to a file")
    export.add_argument("file", metavar="FILE.jsonl")
    export.add_argument("--force", action="store_true", help="replace the file if it exists")
    export.set_defaults(run=_export)
    import_ = commands.add_parser("import", parents=[shared], help="put a file of `export` into the store")
    import_.add_argument("file", metavar="FILE.jsonl")
    import_.add_argument("--overwrite", action="store_true", help="replace what the store holds in another version")
    import_.set_defaults(run=_import)
    reembed = commands.add_parser("reembed", parents=[shared], help="move the memory to the configured embedder")
    reembed.set_defaults(run=_reembed)


def _settings_flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("settings", "Each is also an environment variable; the flag wins.")
    for setting in SETTINGS:
        default = f", default {setting.default}" if setting.default else ""
        metavar = setting.name.rpartition("_")[2].upper()
        group.add_argument(setting.flag, metavar=metavar, help=f"{setting.help} ({setting.variable}{default})")
    return parser


def _serve(_: argparse.Namespace, settings: Settings) -> int:
    wire = claimed()  # before the imports: they may print
    gc.disable()  # what imports make stays: looking for garbage among it costs a tenth of the start
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.app import create_server  # noqa: PLC0415 half a second, see the module's docstring
    from fleet_memory.server.stdio import serve  # noqa: PLC0415 the same

    server = create_server(settings)
    gc.freeze()
    gc.enable()
    return anyio.run(serve, server, wire)


def _call(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.calling import called  # noqa: PLC0415 half a second

    arguments = _object(sys.stdin.read() if given.arguments == "-" else given.arguments)
    answer = anyio.run(called, settings, given.tool, arguments)
    if answer.refusal:
        return _refused(answer.refusal)
    _print_json(answer.content)
    return EXIT_NO if any(answer.content.get(name) in values for name, values in _NO.items()) else 0


def _check(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.checkup import checkup  # noqa: PLC0415 half a second

    report = anyio.run(checkup, settings)
    if given.json:
        _print_json(report.rows)
    elif sys.stdout.isatty():
        _print_table(report.rows)
    else:
        _print("\n".join(f"{name}: {value}" for name, value in report.rows.items()))
    return 0 if report.healthy else EXIT_NO


def _reembed(_: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.reembedding import reembedded  # noqa: PLC0415 half a second

    with _progress("programs and entries") as step:
        moved = anyio.run(reembedded, settings, step)
    _print_json(moved._asdict())
    return 0


def _export(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.app import clock  # noqa: PLC0415 half a second
    from fleet_memory.server.moving import exported  # noqa: PLC0415 the same

    file, now = Path(given.file), clock(settings.now)()
    with _progress("collections") as step:
        count = anyio.run(partial(exported, settings, file, now, force=given.force, step=step))
    _print_json({"fleet": settings.fleet, "documents": count})
    return 0


def _import(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server.moving import imported  # noqa: PLC0415 half a second

    with _progress("documents") as step:
        done = anyio.run(partial(imported, settings, Path(given.file), overwrite=given.overwrite, step=step))
    _print_json(done._asdict())
    return EXIT_NO if done.skipped else 0


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on stderr to a person, nothing to a pipe."""
    from rich.console import Console  # noqa: PLC0415 only for people
    from rich.progress import Progress  # noqa: PLC0415 the same

    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _review(_: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.server import reviewing  # noqa: PLC0415 half a second

    answer = anyio.run(reviewing.offered, settings)
    if answer.refusal:
        return _refused(answer.refusal)
    pairs = reviewing.waiting(answer)
    made = reviewing.judged(pairs, sys.stdin, _print) if pairs else []
    if any(one.same is not None for one in made):
        answer = anyio.run(reviewing.sent, settings, made)
        if answer.refusal:
            return _refused(answer.refusal)
    promoted = [*_keys(answer.content["promoted"]), *_keys(answer.content["updated"])]
    _print(f"{len(reviewing.waiting(answer))} pairs left" + "".join(f"\npromoted: {key}" for key in promoted))
    return 0


def _refused(refusal: str) -> int:
    _complain(refusal)
    return _exit_codes().get(refusal.partition(":")[0], EXIT_INTERNAL)


def _keys(entries: object) -> list[str]:
    return [str(entry["key"]) for entry in entries] if isinstance(entries, list) else []


def _demo(_: argparse.Namespace, settings: Settings) -> int:
    from fleet_memory.demo import main as played  # noqa: PLC0415 half a second

    return played(settings)


def _object(text: str) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f'JSON: {error}. Example: \'{{"programId": "basher"}}\'') from error
    if not isinstance(parsed, dict):
        raise InvalidArgumentError('JSON: must be an object, e.g. \'{"programId": "basher"}\'')
    return parsed


def _exit_codes() -> dict[str, int]:
    kinds = [FleetMemoryError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code: kind.exit_code for kind in kinds}


def _print_json(content: Mapping[str, object]) -> None:
    plain = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    shape = {"indent": 2} if sys.stdout.isatty() else {"separators": (",", ":")}
    _print(json.dumps(content, ensure_ascii=plain, **shape))


def _print_table(rows: Mapping[str, object]) -> None:
    from rich.console import Console  # noqa: PLC0415 only for people
    from rich.table import Table  # noqa: PLC0415 the same

    table = Table(show_header=False)
    for name, value in rows.items():
        table.add_row(name, str(value))
    Console().print(table)


def _print(text: str) -> None:
    print(text)  # noqa: T201 this is the command line


def _complain(text: str) -> None:
    print(f"fleet-memory: {text}", file=sys.stderr)  # noqa: T201 this is the command line
