"""`fleet-memory maintain`: archive faded lessons and propose pairs once, e.g. from cron."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.model_run import model_line
from fleet_memory.cli.printing import add_json_flag, print_json, say
from fleet_memory.cli.settings_flags import MEMORY
from fleet_memory.cli.terminal import progress_bar
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.maintenance import Maintained, maintain_fleet, rehearse_maintenance
from fleet_memory.rules.health import (
    curation_advice,
    people_advice,
    programs_advice,
    relearnt_entries,
)
from fleet_memory.schemas.health import JudgingCounts, RelearntEntry
from fleet_memory.settings import Settings
from fleet_memory.tools.freshness import fleet_judging
from fleet_memory.tools.health import judging_answer, omitted_counts
from fleet_memory.views.consolidation import MAX_OF_A_KIND

EXAMPLE: Final = "fleet-memory maintain --dry-run"
USES: Final = (*MEMORY, "judge_url")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, write nothing"
    )
    add_json_flag(parser)
    parser.add_argument(
        "--rebuild", action="store_true", help="also compare what boot reads with every entry"
    )


class _Outcome(NamedTuple):
    """A run's result, and the grounds of its advice: counts of waiting pairs, and relearnt
    entries.
    """

    maintained: Maintained
    judging: JudgingCounts
    relearnt: Sequence[RelearntEntry]

    @property
    def advice(self) -> tuple[str, ...]:
        """The steps to take, in order."""
        return (
            *people_advice(self.judging),
            *programs_advice(self.judging),
            *curation_advice(0, self.relearnt),
        )


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Maintain the fleet once and print a summary."""
    with progress_bar("maintenance") as step:

        async def report(finished: float, total: float, message: str) -> None:
            step(int(finished), int(total), message)

        async def maintain(fleet: Fleet) -> _Outcome:
            # a bound server does the same, and shows nothing of it: this names lessons
            fleet.caller.require_curation()
            work = rehearse_maintenance if given.dry_run else maintain_fleet
            return await _with_advice(fleet, await work(fleet, report, rebuild=given.rebuild))

        outcome = with_memory(replace(settings, maintain=True), maintain)
    if given.json:
        print_json(_wire(outcome))
    else:
        say("\n".join(_lines(outcome)))
    return 0


async def _with_advice(fleet: Fleet, maintained: Maintained) -> _Outcome:
    """Return the result with the pairs that wait and the entries learnt again. Billed as 4 counts
    and the snapshot.
    """
    judging = await fleet_judging(fleet, await fleet.programs.count())
    return _Outcome(
        maintained, judging, relearnt_entries((await fleet.knowledge.snapshots.read()).rows)
    )


def _wire(outcome: _Outcome) -> dict[str, object]:
    """Return the result as JSON, at most 25 items of each list; `omitted` counts the others."""
    wire = outcome.maintained.wire()
    if outcome.relearnt:
        wire["relearnt"] = [entry.wire() for entry in outcome.relearnt]
    lists = {name: items for name, items in wire.items() if isinstance(items, list)}
    shown = {name: items[:MAX_OF_A_KIND] for name, items in lists.items()}
    lengths, left = ({name: len(items) for name, items in each.items()} for each in (lists, shown))
    more = {
        "judging": judging_answer(outcome.judging),
        "advice": outcome.advice or None,
        "omitted": omitted_counts(lengths, left),
    }
    return wire | shown | {name: value for name, value in more.items() if value}


def _lines(outcome: _Outcome) -> list[str]:
    """Return the summary: the advice first, a line per step, and one for each of 25 lessons or
    entries concerned.
    """
    maintained = outcome.maintained
    return [
        "dry run, nothing was written" if maintained.dry_run else "done",
        *outcome.advice,
        f"archived: {len(maintained.archived)}",
        *_listed(
            [
                f"{lesson.program_id}/{lesson.pattern_id}: {lesson.pattern}"
                for lesson in maintained.archived
            ]
        ),
        f"promoted: {len(maintained.promoted)}",
        *_listed(maintained.promoted),
        f"updated: {len(maintained.updated)}",
        *_listed(maintained.updated),
        f"echoes: {maintained.echoes}",
        f"pairs to judge, new: {maintained.opened}",
        f"lessons in no entry: {maintained.waiting}",
        *(
            [f"skipped: {len(maintained.skipped)}", *_listed(maintained.skipped)]
            if maintained.skipped
            else []
        ),
        *([f"deleted from the archive: {maintained.expired}"] if maintained.expired else []),
        *([f"deleted tokens, ended long ago: {maintained.tokens}"] if maintained.tokens else []),
        *([f"renewed: {maintained.renewed}"] if maintained.renewed is not None else []),
        *([f"judge model {model_line(maintained.judge_model)}"] if maintained.judge_model else []),
    ]


def _listed(items: Sequence[str]) -> list[str]:
    """Return a line for each of the first 25 items, and one that counts the others."""
    more = len(items) - MAX_OF_A_KIND
    return [
        *(f"  {item}" for item in items[:MAX_OF_A_KIND]),
        *([f"  and {more} more"] if more > 0 else []),
    ]
