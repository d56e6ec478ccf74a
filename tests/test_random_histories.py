"""Random histories come out on the package as in the plain model: the same entries in the same
states.

`FLEET_MEMORY_HISTORIES=2000` lives so many of them, for a nightly run.
"""

import os
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import anyio
from hypothesis import HealthCheck, Phase, given, settings

from tests.histories import Facts, Json, plain_facts
from tests.plain_asking import Judged, Proposal, Texts
from tests.plain_entry import Entry, RefusedError
from tests.plain_fleet import PlainFleet
from tests.plain_pair import Side
from tests.random_histories import CALLS, histories
from tests.real_fleet import RealFleet

NIGHTLY = os.environ.get("FLEET_MEMORY_HISTORIES")
EXAMPLES = int(NIGHTLY or 12)  # the same ones each time, unless it is night
PHASES = [*Phase] if NIGHTLY else [Phase.explicit, Phase.generate]  # shrinking takes minutes


Outcome = Judged | None
"""The pairs that a call showed and took; of other steps nothing. A refused step has none either."""


class Numbers(NamedTuple):
    """The package's decisions by numbers: the pairs that a call shows first, and those that runs
    opened.
    """

    chosen: Sequence[Texts]
    proposed: Sequence[Proposal]


def live_plain(
    fleet: PlainFleet, step: Json, at: datetime, numbers: Numbers
) -> tuple[bool, Outcome]:
    """Take a step in the model; return whether it accepts it, and its outcome."""
    given = {name: value for name, value in step.items() if name != "do"}
    if step["do"] in CALLS:
        given["chosen"] = numbers.chosen
    if step["do"] == "consolidate":
        given["proposed"] = numbers.proposed
    try:
        if step["do"] == "set_policy":
            fleet.set_policy(**given)
            return True, None
        outcome = getattr(fleet, step["do"])(**given, at=at)
    except RefusedError:
        return False, None
    return True, outcome


async def live_real(fleet: RealFleet, step: Json, at: datetime) -> tuple[bool, Outcome]:
    """Take a step on the package; return whether it was accepted, and its outcome."""
    given = {name: value for name, value in step.items() if name != "do"}
    try:
        return True, await getattr(fleet, step["do"])(**given, at=at)
    except RefusedError:
        return False, None


def answered(fleet: PlainFleet, step: Json) -> Json:
    """Return a step in which the program answers pairs that it was shown, as far as there are
    some.
    """
    if "answers" not in step:
        return step
    pairs = fleet.unanswered(step["program"])
    answers = [
        (sorted(pair), verdict) for pair, verdict in zip(pairs, step["answers"], strict=False)
    ]
    return {**step, "answers": answers}


def is_beyond(fleet: PlainFleet, step: Json) -> bool:
    """Return whether a verdict is about two entries, which `tests/random_histories.py` leaves
    out.
    """
    if step["do"] in {"verdict", "ask"} and "other" in step:
        return are_entries(fleet, step["one"], step["other"])
    opened = [fleet.pairs[frozenset(pair)].sides for pair, _ in step.get("answers", ())]
    return any(are_entries(fleet, *sides) for sides in opened if sides is not None)


def are_entries(fleet: PlainFleet, one: Side, other: Side) -> bool:
    try:
        sides = fleet.resolve(one, other), fleet.resolve(other, one)
    except RefusedError:
        return False
    return sides[0] is not sides[1] and all(isinstance(side, Entry) for side in sides)


def compared(facts: Facts) -> Facts:
    """Return the facts without the projects of candidates, which follow a changed policy when they
    change next.
    """
    published = {
        text for text, (state, *_) in facts.entries.items() if state not in {"candidate", "retired"}
    }
    return facts._replace(projects={text: facts.projects[text] for text in published})


def settled(facts: Facts, fleet: PlainFleet, at: datetime) -> Facts:
    """Return the facts without the pairs that the next run closes."""
    kept = [pair for pair in facts.for_people if not fleet.is_changing(frozenset(pair), at)]
    return facts._replace(for_people=kept)


def difference(step: Json, expected: Facts, found: Facts) -> str:
    """Return the facts that differ after a step, as the model and as the package has them."""
    differing = [name for name in Facts._fields if getattr(expected, name) != getattr(found, name)]
    return "\n".join(
        [
            str(step),
            *(
                f"{name}: {getattr(expected, name)} in the model, {getattr(found, name)}"
                for name in differing
            ),
        ]
    )


async def live_both(steps: list[tuple[Json, datetime]], path: Path) -> None:
    plain, real = PlainFleet(), RealFleet(path)
    try:
        for asked, at in steps:
            step = answered(plain, asked)
            if is_beyond(plain, step):
                continue
            accepted, outcome = await live_real(real, step, at)
            numbers = Numbers(outcome.shown if outcome else [], await real.proposals())
            wanted = live_plain(plain, step, at, numbers)
            for proposal in numbers.proposed:
                plain.adopt(proposal)
            assert wanted == (accepted, outcome), (
                f"{step}: {wanted} in the model, {(accepted, outcome)}"
            )
            expected, found = (
                compared(settled(facts, plain, at))
                for facts in (plain_facts(plain, at), await real.facts(at))
            )
            assert found == expected, difference(step, expected, found)
    finally:
        await real.close()


@settings(
    max_examples=EXAMPLES,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(steps=histories())
def test_a_random_history_comes_out_as_in_the_model(steps: list[tuple[Json, datetime]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(live_both, steps, Path(folder) / "memory.db")
