"""Random histories come out on the package as in the plain model: the same entries in the same states.

`FLEET_MEMORY_HISTORIES=2000` lives so many of them, for a nightly run.
"""

import os
import tempfile
from datetime import datetime
from pathlib import Path

import anyio
from hypothesis import HealthCheck, Phase, given, settings

from tests.histories import Facts, Json, plain_facts
from tests.plain_entry import Entry, RefusedError
from tests.plain_fleet import PlainFleet
from tests.random_histories import histories
from tests.real_fleet import OutsiderError, RealFleet

NIGHTLY = os.environ.get("FLEET_MEMORY_HISTORIES")
EXAMPLES = int(NIGHTLY or 40)  # the same ones each time, unless it is night
PHASES = [*Phase] if NIGHTLY else [Phase.explicit, Phase.generate]  # shrinking takes minutes


async def live_plain(fleet: PlainFleet, step: Json, at: datetime) -> bool:
    """Take a step in the model; return whether it was accepted."""
    given = {name: value for name, value in step.items() if name != "do"}
    try:
        if step["do"] == "set_policy":
            fleet.set_policy(**given)
        else:
            getattr(fleet, step["do"])(**given, at=at)
    except RefusedError:
        return False
    return True


def is_beyond(fleet: PlainFleet, step: Json) -> bool:
    """Say whether a verdict is about two entries, which `tests/random_histories.py` leaves out."""
    if "other" not in step:
        return False
    try:
        sides = fleet.resolve(step["one"], step["other"]), fleet.resolve(step["other"], step["one"])
    except RefusedError:
        return False
    return sides[0] is not sides[1] and all(isinstance(side, Entry) for side in sides)


def compared(facts: Facts) -> Facts:
    """Return the facts without the projects of candidates, which follow a changed policy when they change next."""
    published = {text for text, (state, *_) in facts.entries.items() if state not in {"candidate", "retired"}}
    return facts._replace(projects={text: facts.projects[text] for text in published})


def difference(step: Json, expected: Facts, found: Facts) -> str:
    """Return the facts that differ after a step, as the model and as the package has them."""
    differing = [name for name in Facts._fields if getattr(expected, name) != getattr(found, name)]
    return "\n".join(
        [str(step), *(f"{name}: {getattr(expected, name)} in the model, {getattr(found, name)}" for name in differing)]
    )


async def live_both(steps: list[tuple[Json, datetime]], path: Path) -> None:
    plain, real = PlainFleet(), RealFleet(path)
    try:
        for step, at in steps:
            if step["do"] == "verdict" and is_beyond(plain, step):
                continue
            given = {name: value for name, value in step.items() if name != "do"}
            try:
                await getattr(real, step["do"])(**given, at=at)
            except OutsiderError:
                continue
            except RefusedError as refusal:
                accepted, why = False, str(refusal)
            else:
                accepted, why = True, ""
            assert (step, await live_plain(plain, step, at)) == (step, accepted), why
            expected, found = map(compared, (plain_facts(plain, at), await real.facts(at)))
            assert found == expected, difference(step, expected, found)
    finally:
        await real.close()


@settings(
    max_examples=EXAMPLES,
    derandomize=NIGHTLY is None,
    phases=PHASES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(steps=histories())
def test_a_random_history_comes_out_as_in_the_model(steps: list[tuple[Json, datetime]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(live_both, steps, Path(folder) / "memory.db")
