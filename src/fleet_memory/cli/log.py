"""`fleet-memory log`: show the changes of shared knowledge, the newest first: when, what, by whom
and why.

Reads of others' memory by bound callers (auditors, admins) are noted too: `--reads` shows them
instead.
"""

import argparse
from datetime import UTC, datetime
from typing import Final

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    add_json_flag,
    add_limit_flag,
    omitted_line,
    one_line,
    print_answer,
    with_token,
)
from fleet_memory.jobs.looking import MAX_LEDGER_LINES, latest_changes, latest_reads
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory log --since 2026-03-01"
USES: Final = ("store", "fleet", "now")
WITHOUT_READS: Final = "reads of others' memory are left out; --reads shows them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--since", metavar="DATE", type=_instant, help="none from before, e.g. 2026-03-01, in UTC"
    )
    parser.add_argument(
        "--reads", action="store_true", help="show who read others' memory, instead of the changes"
    )
    add_limit_flag(parser, "how many lines are shown", limit=MAX_LEDGER_LINES)
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the changes or the reads, and what is left out."""
    read = latest_reads if given.reads else latest_changes
    latest = with_memory(settings, lambda fleet: read(fleet, given.since, given.limit))
    wire = {
        "reads" if given.reads else "changes": [line.wire() for line in latest.lines],
        **({"omitted": latest.omitted} if latest.omitted else {}),
        **({"readsOmitted": True} if latest.is_without_reads else {}),
    }
    nothing = "nothing was read" if given.reads else "nothing has changed"
    lines = [_line(line) for line in latest.lines] or [
        nothing + (" since then" if given.since else "")
    ]
    left_out = [
        *omitted_line(latest.omitted),
        *([WITHOUT_READS] if latest.is_without_reads else []),
    ]
    print_answer(wire, "\n".join([*lines, *left_out]), as_json=given.json)
    return 0


def _line(line: LedgerLine) -> str:
    sources = f" from {', '.join(line.patterns)}" if line.patterns else ""
    why = f": {one_line(line.why)}" if line.why else ""
    return (
        f"{line.at:%Y-%m-%d %H:%M} {line.event} {line.key} by "
        f"{line.by}{with_token(line.token)}{sources}{why}"
    )


def _instant(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no date, e.g. 2026-03-01") from error
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
