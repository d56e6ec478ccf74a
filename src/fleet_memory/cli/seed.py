"""`fleet-memory seed FILE`."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import agreed, print_json, say
from fleet_memory.errors import EXIT_USAGE
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands
    from fleet_memory.jobs.curation import SeedingPlan


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    seed = commands.add_parser("seed", parents=[shared], help="set the rules of the house from a file")
    seed.add_argument("file", metavar="FILE", help="TOML, or JSON by its suffix; see docs/knowledge.md")
    seed.add_argument("--prune", action="store_true", help="retire rules that the file does not have")
    seed.add_argument("--yes", action="store_true", help="do not ask")
    seed.add_argument("--dry-run", action="store_true", help="show what would change and do nothing")
    seed.add_argument("--json", action="store_true", help="print one JSON object")
    seed.set_defaults(run=_seed)


def _seed(given: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.jobs import curation  # noqa: PLC0415 half a second
    from fleet_memory.server.composition import with_fleet  # noqa: PLC0415 the same

    wanted = curation.read_seeds(Path(given.file))
    plan = anyio.run(with_fleet, settings, lambda fleet: curation.plan_seeding(fleet, wanted))
    told = _told(plan, prune=given.prune)
    if given.json:
        print_json({"dryRun": given.dry_run, **told})
    else:
        _show(plan, told)
    if given.dry_run or not (told["added"] or told["changed"] or told["retired"]):
        return 0
    if not (given.yes or agreed()):
        return EXIT_USAGE
    anyio.run(with_fleet, settings, lambda fleet: curation.seed(fleet, wanted, prune=given.prune))
    sys.stderr.write("Every agent reads it at its next boot.\n")
    return 0


def _told(plan: "SeedingPlan", *, prune: bool) -> Mapping[str, list[str]]:
    missing = list(plan.missing)
    return {
        "added": sorted(plan.added),
        "changed": sorted(plan.changed),
        "unchanged": list(plan.unchanged),
        "retired": missing if prune else [],
        "kept": [] if prune else missing,
    }


def _show(plan: "SeedingPlan", told: Mapping[str, list[str]]) -> None:
    for sign, key in [("+", key) for key in told["added"]] + [("~", key) for key in told["changed"]]:
        say(f"{sign} {key}: {({**plan.added, **plan.changed})[key].text}")
    for key in told["retired"]:
        say(f"- {key}")
    for key in told["kept"]:
        say(f"  {key} is not in the file and stays; --prune retires it")
    say(f"{len(told['unchanged'])} unchanged")
