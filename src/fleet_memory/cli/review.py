"""`fleet-memory review`: a person judges the pairs that wait. Nothing is written before the last answer."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import anyio

from fleet_memory.cli.printing import say
from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.schemas.answers.consolidation import ConsolidateAnswer, ReviewPair
from fleet_memory.schemas.verdicts import NewVerdict
from fleet_memory.server.composition import with_fleet
from fleet_memory.settings import Settings
from fleet_memory.tools.pattern_consolidate import pattern_consolidate

HELP: Final = "s same, d different, k skip, u undo, q stop here"
LAST: Final = "\nThat was the last pair. Enter sends your answers, u takes the last one back"
_SAME: Final = {"s": True, "d": False}


class Judgement(NamedTuple):
    """One pair, and whether it is the same; None for a skipped one."""

    pair_id: str
    same: bool | None


def add_arguments(_: argparse.ArgumentParser) -> None:
    """Take the settings alone."""


def run(_: argparse.Namespace, settings: Settings) -> int:
    """Consolidate, ask about the open pairs, send the verdicts and print the outcome."""
    answer = anyio.run(_consolidate, settings, ())
    pairs = _waiting(answer)
    verdicts = [
        NewVerdict.model_validate({"pairId": judgement.pair_id, "same": judgement.same})
        for judgement in (read_judgements(pairs, sys.stdin, say) if pairs else ())
        if judgement.same is not None
    ]
    if verdicts:
        answer = anyio.run(_consolidate, settings, verdicts)
    promoted = [*(entry.key for entry in answer.promoted), *(entry.key for entry in answer.updated)]
    say(f"{len(_waiting(answer))} pairs left" + "".join(f"\npromoted: {key}" for key in promoted))
    return 0


async def _consolidate(settings: Settings, verdicts: Sequence[NewVerdict]) -> ConsolidateAnswer:
    """Open the fleet for one consolidation: while a person thinks, no store is open."""

    async def consolidate(fleet: Fleet) -> ConsolidateAnswer:
        return await pattern_consolidate(fleet, no_progress, verdicts=tuple(verdicts))

    return await with_fleet(settings, consolidate)


def read_judgements(pairs: Sequence[ReviewPair], answers: Iterable[str], say: Callable[[str], None]) -> list[Judgement]:
    """Return what a person answered, pair by pair; `u` takes the last answer back, `q` stops."""
    made: list[Judgement] = []
    given = iter(answers)
    while True:
        finished = len(made) == len(pairs)
        say(LAST if finished else _shown(pairs[len(made)], len(made) + 1, len(pairs)))
        key = next(given, "q").strip().lower()[:1]
        if key == "u":
            made = made[:-1]
        elif key == "q" or finished:
            return made
        elif key in ("s", "d", "k"):
            made.append(Judgement(pairs[len(made)].pair_id, _SAME.get(key)))
        else:
            say(HELP)


def _waiting(answer: ConsolidateAnswer) -> list[ReviewPair]:
    """Return the pairs of an answer, those for review first."""
    return [*answer.review, *answer.contested]


def _shown(pair: ReviewPair, number: int, count: int) -> str:
    objection = f"\n  but: {pair.objection}" if pair.objection else ""
    return (
        f"\n{number} of {count}, alike {pair.similarity}{objection}\n"
        f"  {pair.a.program_id} ({pair.a.domain}): {pair.a.pattern}\n"
        f"  {pair.b.program_id} ({pair.b.domain}): {pair.b.pattern}\n{HELP}"
    )
