"""`fleet-memory review`."""

import argparse
import sys
from typing import TYPE_CHECKING

from fleet_memory.cli.printing import refused, say
from fleet_memory.settings import Settings

if TYPE_CHECKING:
    from fleet_memory.cli.printing import Commands


def add(commands: "Commands", shared: argparse.ArgumentParser) -> None:
    """Add the command."""
    review = commands.add_parser("review", parents=[shared], help="judge the pairs that consolidation could not decide")
    review.set_defaults(run=_review)


def _review(_: argparse.Namespace, settings: Settings) -> int:
    import anyio  # noqa: PLC0415 not needed for --help

    from fleet_memory.cli import review_session  # noqa: PLC0415 half a second

    answer = anyio.run(review_session.offered, settings)
    if answer.refusal:
        return refused(answer.refusal)
    pairs = review_session.waiting(answer)
    made = review_session.read_judgements(pairs, sys.stdin, say) if pairs else []
    if any(one.same is not None for one in made):
        answer = anyio.run(review_session.sent, settings, made)
        if answer.refusal:
            return refused(answer.refusal)
    promoted = [*_keys(answer.content["promoted"]), *_keys(answer.content["updated"])]
    say(f"{len(review_session.waiting(answer))} pairs left" + "".join(f"\npromoted: {key}" for key in promoted))
    return 0


def _keys(entries: object) -> list[str]:
    return [str(entry["key"]) for entry in entries] if isinstance(entries, list) else []
