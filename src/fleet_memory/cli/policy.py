"""`fleet-memory policy`: show or set the rules of the fleet, e.g. the votes that publish an
entry.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

import anyio

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, print_json, say
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.policy import PolicyRow, apply_policy, policy_rows, set_policy
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory policy set threshold 3"
USES: Final = MEMORY
_OF_PUBLISHING: Final = ("threshold ", "origins ")  # changes of these affect publication


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the policy, or set it and print each change; with --apply, also the entries that it
    takes back.
    """
    if given.action == "show":
        _require_show_alone(given)
        _show(with_memory(settings, _rows), as_json=given.json)
        return 0
    if not (given.words or given.apply):
        raise InvalidArgumentError("policy set: NAME VALUE or --apply is missing, e.g. threshold 3")
    words: Sequence[str] = given.words

    async def work(fleet: Fleet) -> tuple[list[str], Mapping[str, int] | None]:
        changes = await set_policy(fleet, words)
        return changes, await apply_policy(fleet) if given.apply else None

    _print_set(*anyio.run(with_fleet, settings, work), as_json=given.json)
    return 0


async def _rows(fleet: Fleet) -> list[PolicyRow]:
    return policy_rows((await fleet.policies.read_versioned()).policy)


def _require_show_alone(given: argparse.Namespace) -> None:
    if given.words or given.apply:
        raise InvalidArgumentError(
            "policy show: takes no values; `fleet-memory policy set NAME VALUE` sets them"
        )


def _show(rows: Sequence[PolicyRow], *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                row.name: {name: text for name, text in row._asdict().items() if name != "name"}
                for row in rows
            }
        )
        return
    wide, wider = max(len(row.name) for row in rows), max(len(row.value) for row in rows)
    for row in rows:
        say(
            f"{row.name:{wide}}  {row.value:{wider}}  {row.meaning} ({row.allowed}; default "
            f"{row.default})"
        )


def _print_set(changes: Sequence[str], applied: Mapping[str, int] | None, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {"changed": [*changes], **({} if applied is None else {"takenBack": [*applied]})}
        )
        return
    say("\n".join(changes) or "nothing was changed")
    if applied is None:
        if not any(change.startswith(_OF_PUBLISHING) for change in changes):
            return
        say(
            "It holds for entries published from now on; `fleet-memory policy set --apply` "
            "takes back those below it."
        )
        return
    say(
        "\n".join(
            [
                f"taken back: {len(applied)}",
                *(f"  {key} ({count} votes)" for key, count in applied.items()),
            ]
        )
    )
