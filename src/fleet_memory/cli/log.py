"""`fleet-memory log`: show the changes of shared knowledge, the newest first: when, what, by whom and why."""

import argparse
from datetime import UTC, datetime
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, add_limit_flag, omitted_line, one_line, print_answer, with_token
from fleet_memory.jobs.looking import MAX_LEDGER_LINES, latest_lines
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory log --since 2026-03-01"
USES: Final = ("store", "fleet", "now")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("--since", metavar="DATE", type=_instant, help="none from before, e.g. 2026-03-01, in UTC")
    add_limit_flag(parser, "how many changes are shown", limit=MAX_LEDGER_LINES)
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the changes, and how many are left out."""
    latest = with_memory(settings, lambda fleet: latest_lines(fleet, given.since, given.limit))
    wire = {
        "changes": [line.wire() for line in latest.lines],
        **({"omitted": latest.omitted} if latest.omitted else {}),
    }
    lines = [_line(line) for line in latest.lines] or ["nothing has changed" + (" since then" if given.since else "")]
    print_answer(wire, "\n".join([*lines, *omitted_line(latest.omitted)]), as_json=given.json)
    return 0


def _line(line: LedgerLine) -> str:
    sources = f" from {', '.join(line.patterns)}" if line.patterns else ""
    why = f": {one_line(line.why)}" if line.why else ""
    return f"{line.at:%Y-%m-%d %H:%M} {line.event} {line.key} by {line.by}{with_token(line.token)}{sources}{why}"


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date, e.g. 2026-03-01") from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
