"""Two copies of one pair, from two stores, as one: the verdicts of both, each judge's latest."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from fleet_memory.rules.consensus.judging import ruling, with_judgement
from fleet_memory.schemas.pairs import Judgement, Pair, Side


def merged_pair(mine: Pair, theirs: Pair) -> Pair:
    """Return the store's pair with the verdicts of the other too; the same object if it has them.

    A person's verdict is the last word. The next run applies a state that only both together have.
    A pair that has gone in the store stays so.
    """
    judgements = sorted({*mine.judgements, *theirs.judgements}, key=_moment)
    after = replace(
        mine,
        judgements=(),
        steering=mine.steering or theirs.steering,
        likely=mine.likely or theirs.likely,
        opened_at=min(mine.opened_at, theirs.opened_at),
    )
    for judgement in judgements:
        after = with_judgement(after, judgement)
    state = "gone" if mine.state == "gone" else ruling(after).state
    if after.judgements and set(after.judgements) == set(
        mine.judgements
    ):  # what the store made of them holds
        after, state = replace(after, judgements=mine.judgements), mine.state
    after = replace(after, state=state, by_person=after.by_person or mine.by_person)
    return mine if after == mine else after


def with_keys(pair: Pair, keys: Mapping[str, str]) -> Pair:
    """Return the pair with its entries under other keys."""

    def renamed(side: Side) -> Side:
        return (
            replace(side, key=keys[side.key]) if side.key is not None and side.key in keys else side
        )

    return (
        pair
        if not {pair.a.key, pair.b.key} & keys.keys()
        else replace(pair, a=renamed(pair.a), b=renamed(pair.b))
    )


def _moment(judgement: Judgement) -> tuple[datetime, str, str, str]:
    return judgement.at, judgement.program_id or "", judgement.verdict, judgement.compact()
