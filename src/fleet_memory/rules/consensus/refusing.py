"""Why a verdict of an agent or a model does not count, apart from changes of the texts. A person's
always does.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from fleet_memory.rules.consensus.asking import (
    MAX_VERDICTS_PER_DAY,
    SHOWN_FOR,
    shown_pairs,
    verdicts_left,
    was_shown,
)
from fleet_memory.rules.consensus.judging import is_for_people
from fleet_memory.rules.text.closest import close_names
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Program

PEOPLE_JUDGE: Final = (
    "pairId: in this fleet people judge pairs (fleet-memory review); judge your own rewrites"
)

_MIN_START_CHARS: Final = 6  # characters of a pair's id that stand for it
_MIN_ALIKE: Final = 0.8  # difflib's ratio of two ids of 16 characters: three are wrong or lost


def refusal(
    pair: Pair, judging: Program | None, now: datetime, *, is_repeated: bool = False
) -> str:
    """Return why a verdict about a pair is refused, "" for one that counts.

    `judging` is the program that judges, None for a configured model. `is_repeated`: it has given
    this verdict before.
    """
    # First, because the other refusals describe the pair.
    if (
        judging is not None
        and not is_repeated
        and (over := _over_limits(pair.pair_id, judging, now))
    ):
        return over
    if pair.by_person:
        return (
            f"pairId: a person has judged {pair.pair_id!r} ({pair.state}); nothing is left to say"
        )
    if is_for_people(pair):
        return (
            f"pairId: people alone judge {pair.pair_id!r}, because one of its texts gives its "
            f"judge orders: {pair.steering}"
        )
    return ""


def no_pair(pair_id: str, agent: str | None, shown: Sequence[str] = ()) -> str:
    """Return why there is no pair to judge; an agent learns nothing about those that it was not
    `shown`.
    """
    if agent is None:
        return f"pairId: there is no pair {pair_id!r}"
    # Digits at random are half alike, so that a close name needs more than elsewhere.
    near = [each for each in shown if len(pair_id) >= _MIN_START_CHARS and each.startswith(pair_id)]
    near = near or [*close_names(pair_id, shown, 1, _MIN_ALIKE)]
    return (
        f"pairId: {pair_id!r} is not among the pairs shown to {agent} within {SHOWN_FOR.days} "
        "days; " + (f"did you mean {near[0]}?" if near else "judge those in your toJudge")
    )


def _over_limits(pair_id: str, judging: Program, now: datetime) -> str:
    name = judging.program_id
    if not was_shown(judging, pair_id, now):
        return no_pair(pair_id, name, shown_pairs(judging, now))
    if not verdicts_left(judging, now):
        return f"verdicts: {name} gave {MAX_VERDICTS_PER_DAY} within 24 hours; go on tomorrow"
    return ""
