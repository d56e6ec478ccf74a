"""`fleet-memory seed FILE`: set rules that every agent reads at its start, from a file."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import anyio

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import add_json_flag, agreed, complain, print_answer, say
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.errors import EXIT_NO
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import SeedingPlan, plan_seeding, seed_rules
from fleet_memory.jobs.seed_files import read_seeds
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings

EXAMPLE: Final = "fleet-memory seed rules.toml --dry-run"
USES: Final = MEMORY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="TOML, or JSON by its suffix; see "
        "https://github.com/fleet-memory/fleet-memory/blob/main/docs/knowledge.md",
    )
    parser.add_argument(
        "--prune", action="store_true", help="retire rules that the file does not have"
    )
    parser.add_argument(
        "--yes", action="store_true", help="do not ask, also before one rule takes another's place"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change and do nothing"
    )
    add_json_flag(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Show the changes, ask, and set the rules; with --yes or --json print them last: no closed
    pipe stops it.
    """
    wanted = read_seeds(Path(given.file))

    async def work(fleet: Fleet) -> SeedingPlan:
        return await plan_seeding(fleet, wanted)

    plan = with_memory(settings, work) if given.dry_run else anyio.run(with_fleet, settings, work)
    changes = _changes(plan, prune=given.prune)
    content, text = {"dryRun": given.dry_run, **changes}, "\n".join(_lines(plan, changes))
    if given.dry_run or not (changes["added"] or changes["changed"] or changes["retired"]):
        print_answer(content, text, as_json=given.json)
        return 0
    if refusal := _refusal(plan, given):
        print_answer(content, text, as_json=given.json)
        complain(f"nothing was changed: {refusal}")
        return EXIT_NO
    if not given.yes:
        (complain if given.json else say)(text)
        if not agreed():
            return EXIT_NO
    anyio.run(with_fleet, settings, lambda fleet: seed_rules(fleet, wanted, prune=given.prune))
    if given.yes or given.json:
        print_answer(content, text, as_json=given.json)
    sys.stderr.write("Every agent reads it at its next boot.\n")
    return 0


def _refusal(plan: SeedingPlan, given: argparse.Namespace) -> str:
    """Return why a person must say more before anything changes, "" when nothing is open."""
    if plan.replaced and not given.yes:
        return (
            f"{', '.join(plan.replaced)} would get another rule's text, of which less than "
            "half the words were there; "
            "give the new rule a key of its own, or pass --yes"
        )
    if plan.rewordings and not given.prune:
        named = ", ".join(
            f"{key} says nearly the same as {other}"
            for key, other in sorted(plan.rewordings.items())
        )
        other = min(plan.rewordings.values())
        return (
            f"{named}, which the file does not have. If the new one replaces it, pass --prune, or "
            f"`fleet-memory retire {other} --why TEXT` where other files have rules too. If "
            "both hold, give the new "
            "one a key in the file"
        )
    return ""


def _changes(plan: SeedingPlan, *, prune: bool) -> Mapping[str, list[str]]:
    missing = list(plan.missing)
    return {
        "added": sorted(plan.added),
        "changed": sorted(plan.changed),
        "unchanged": list(plan.unchanged),
        "retired": missing if prune else [],
        "kept": [] if prune else missing,
    }


def _lines(plan: SeedingPlan, changes: Mapping[str, list[str]]) -> Iterator[str]:
    for key in changes["added"]:
        yield f"+ {key}: {plan.added[key].text}"
    for key in changes["changed"]:
        yield f"~ {key}: {plan.changed[key].text}"
        if plan.earlier[key] != plan.changed[key].text:
            yield f"  was: {plan.earlier[key]}"
    for key in changes["retired"]:
        yield f"- {key}"
    for key in changes["kept"]:
        yield f"  {key} is not in the file and stays; --prune retires it"
    yield f"{len(changes['unchanged'])} unchanged"
