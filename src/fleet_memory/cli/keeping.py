"""Keep a memory well: `check`, `health`, `policy`, `maintain` and `reembed`."""

import argparse
import os
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.call import UNHEALTHY
from fleet_memory.cli.existing import is_there, with_memory
from fleet_memory.cli.printing import field_lines, limited, print_answer, print_fields
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.errors import EXIT_NO, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.check import CheckReport, check_memory
from fleet_memory.jobs.embedding import reembed_fleet
from fleet_memory.jobs.looking import existing_program
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet
from fleet_memory.jobs.policy import PolicyRow, apply_policy, policy_rows, set_policy
from fleet_memory.rules.curating import NOBODY_PROPOSES
from fleet_memory.rules.health import (
    waiting_advice,
)
from fleet_memory.rules.text import counted
from fleet_memory.server.composition import open_embedder, with_fleet, with_store
from fleet_memory.settings import Settings
from fleet_memory.store_address import SqliteFile, engine_name
from fleet_memory.tools.health import (
    FleetHealthAnswer,
    HealthAnswer,
    fleet_health,
    memory_health,
)
from fleet_memory.tools.shared import MAX_OF_A_KIND, fleet_judging


def run_check(given: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; 1 when something is not as it should be, or a memory that was named is
    not there.
    """
    report = _check(settings)
    rows = _place(settings) | report.rows
    print_fields(rows, as_json=given.json)
    return 0 if report.healthy else EXIT_NO


def _check(settings: Settings) -> CheckReport:
    embedder, place = open_embedder(settings), settings.store
    if is_there(place):
        return anyio.run(
            with_store, settings, lambda store: check_memory(store, settings.fleet, embedder)
        )
    report = anyio.run(check_memory, None, settings.fleet, embedder)  # opening it would create it
    writable = isinstance(place, SqliteFile) and _can_create(place.path)
    rows = report.rows | ({} if writable else {"writable": False})
    return CheckReport(rows, report.healthy and writable and settings.named_store is None)


def _can_create(file: Path) -> bool:
    """Whether this user may create a file, and the folders above it that are missing."""
    above = next(folder for folder in file.parents if os.path.exists(folder))  # noqa: PTH110 no error where a user may not look
    return above.is_dir() and os.access(above, os.W_OK | os.X_OK)


def _place(settings: Settings) -> dict[str, object]:
    place = settings.store
    row: dict[str, object] = {"store": engine_name(place)}
    if isinstance(place, SqliteFile):
        return row | {"file": str(place.path), "sqlite": sqlite3.sqlite_version}
    return row | place._asdict()


_MAX_TOKENS: Final = 10_000  # room for 25 contested entries; chosen


def run_health(given: argparse.Namespace, settings: Settings) -> int:
    """Print the health that was asked for; 1 when the verdict is not a good one, or no server
    proposes pairs.
    """
    answer = health_of(settings)
    print_answer(answer.wire(), "\n".join(report(answer, settings.fleet)), as_json=given.json)
    unattended = NOBODY_PROPOSES in answer.freshness.reason
    return EXIT_NO if unattended or answer.verdict in UNHEALTHY else 0


def health_of(settings: Settings) -> HealthAnswer | FleetHealthAnswer:
    """Return the health of the program that the settings name, of the whole fleet if they name
    none.

    Raises UnknownProgramError.
    """
    program = settings.program
    if program is None:
        return with_memory(settings, lambda fleet: fleet_health(fleet, _MAX_TOKENS))

    async def existing(fleet: Fleet) -> HealthAnswer:
        answer = await memory_health(fleet, program)
        if answer.exists is False:
            await existing_program(fleet, program)
        return answer

    return with_memory(settings, existing)


def report(answer: HealthAnswer | FleetHealthAnswer, fleet: str) -> list[str]:
    """Return the lines to print about a program, or about the fleet of that name: its verdict, the
    advice, and all else that the answer has.
    """
    name = answer.program_id if isinstance(answer, HealthAnswer) else f"fleet {fleet}"
    fields = answer.wire()
    if answer.similarity_engine:
        fields["similarityEngine"] = (
            f"{answer.similarity_engine} stands in for the embedder: `fleet-memory check` says why"
        )
    return [
        f"{name}: {answer.verdict}",
        *(answer.advice or ["Nothing to do."]),
        "",
        *field_lines(fields),
    ]


_OF_PUBLISHING: Final = ("threshold ", "origins ")  # changes of these affect publication


def add_policy(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument("action", choices=("show", "set"), help="show every rule, or set some")
    parser.add_argument(
        "words",
        metavar="NAME VALUE",
        nargs="*",
        help="with set, e.g. threshold 3; see "
        "https://github.com/fleet-memory/fleet-memory/blob/main/docs/policy.md",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="with set: also take back the entries that the policy would not publish",
    )


def run_policy(given: argparse.Namespace, settings: Settings) -> int:
    """Show the policy, or set it and print each change; with --apply, also the entries that it
    takes back.
    """
    if given.action == "show":
        if given.words or given.apply:
            raise InvalidArgumentError(
                "policy show: takes no values; `fleet-memory policy set NAME VALUE` sets them"
            )

        async def read(fleet: Fleet) -> list[PolicyRow]:
            return policy_rows((await fleet.policies.read_versioned()).policy, fleet.toolsets)

        rows = with_memory(settings, read)
        by_name = {row.name: row._asdict() for row in rows}
        wire = {
            name: {k: v for k, v in row.items() if k != "name"} for name, row in by_name.items()
        }
        wide, wider = max(len(row.name) for row in rows), max(len(row.value) for row in rows)
        lines = [
            f"{row.name:{wide}}  {row.value:{wider}}  {row.meaning} ({row.allowed}; default "
            f"{row.default})"
            for row in rows
        ]
        print_answer(wire, "\n".join(lines), as_json=given.json)
        return 0
    if not (given.words or given.apply):
        raise InvalidArgumentError("policy set: NAME VALUE or --apply is missing, e.g. threshold 3")

    async def work(fleet: Fleet) -> tuple[list[str], Mapping[str, int] | None]:
        changes = await set_policy(fleet, given.words)
        return changes, await apply_policy(fleet) if given.apply else None

    changes, applied = anyio.run(with_fleet, settings, work)
    lines = changes or ["nothing was changed"]
    if applied is not None:
        lines = [*lines, f"taken back: {len(applied)}"]
        lines += [f"  {key} ({count} votes)" for key, count in applied.items()]
    elif any(change.startswith(_OF_PUBLISHING) for change in changes):
        lines = [
            *lines,
            "It holds for entries published from now on; `fleet-memory policy set --apply` takes "
            "back those below it.",
        ]
    taken = {} if applied is None else {"takenBack": [*applied]}
    print_answer({"changed": changes, **taken}, "\n".join(lines), as_json=given.json)
    return 0


def add_maintain(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, write nothing"
    )
    parser.add_argument(
        "--rebuild", action="store_true", help="also compare what boot reads with every entry"
    )


def run_maintain(given: argparse.Namespace, settings: Settings) -> int:
    """Maintain the fleet once and print what it did: the advice first, and of each list at most 25
    names.
    """
    with progress_bar("maintenance") as step:

        async def report(finished: float, total: float, message: str) -> None:
            step(int(finished), int(total), message)

        async def maintain(
            fleet: Fleet,
        ) -> tuple[Maintained, Counter[str]]:
            # a bound server does the same, and shows nothing of it: this names lessons
            fleet.caller.require_curation()
            maintained = await maintain_fleet(
                fleet, report, rebuild=given.rebuild, dry_run=given.dry_run
            )
            return maintained, await fleet_judging(fleet, await fleet.programs.count())

        run, judging = with_memory(replace(settings, maintain=True), maintain)
    advice, wire = waiting_advice(judging), run.wire()
    more = {"judging": judging, "advice": advice}
    content = limited(wire | {name: value for name, value in more.items() if value}, MAX_OF_A_KIND)
    done = "dry run, nothing was written" if run.dry_run else "done"
    print_fields(content, done, *advice, as_json=given.json)
    return 0


def run_reembed(given: argparse.Namespace, settings: Settings) -> int:
    """Give everything its new vector and print how much got one; 1 when a program was left out."""
    with progress_bar("programs and entries") as step:
        moved = with_memory(settings, lambda fleet: reembed_fleet(fleet, step))
    lines = [
        f"{counted(moved.patterns, 'lesson')} and "
        f"{counted(moved.entries, 'entry', 'entries')}: {moved.embedder}",
        *(f"left out: {line}" for line in moved.skipped),
    ]
    print_answer(moved._asdict(), "\n".join(lines), as_json=given.json)
    return EXIT_NO if moved.skipped else 0
