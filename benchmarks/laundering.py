"""Whether one origin can look like two: every way that we know, each with its honest twin, on the
real tools.

    python benchmarks/laundering.py [--json]

A laundered story must leave no entry fresh on its account; its twin, played by independent agents,
must lose nothing. Readers are honest and careless: they call each pair the same that a quick reader
would. Prints a table, and the ways that no rule stops, which count as neither. Exits 1 when a story
ends otherwise than expected.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import anyio
from laundering_fleet import opened_world
from laundering_imports import IMPORTS
from laundering_judging import VERDICTS
from laundering_origins import ONE_ORIGIN
from laundering_scenario import Scenario
from laundering_sharing import SHARING
from laundering_showing import STORED_AFTER_READING
from sets import table

SCENARIOS: Final = (*STORED_AFTER_READING, *ONE_ORIGIN, *VERDICTS, *SHARING, *IMPORTS)
DEFENDED: Final = tuple(one for one in SCENARIOS if not one.not_defended)
NOT_DEFENDED: Final = tuple(one for one in SCENARIOS if one.not_defended)
WRONG: Final = ("LAUNDERED", "LOST")


class Played(NamedTuple):
    """The outcomes of a scenario, laundered and honest, as `World.outcome` names them."""

    scenario: Scenario
    laundered: str
    honest: str

    @property
    def result(self) -> str:
        """Whether both are "as expected", or "not defended", or one is not: "LAUNDERED", "LOST"."""
        if self.honest != self.scenario.honest:
            return "LOST"
        if self.laundered != self.scenario.laundered:
            return "LAUNDERED"
        return "not defended" if self.scenario.not_defended else "as expected"


async def played(scenario: Scenario) -> Played:
    """Play a scenario in two new worlds."""
    return Played(
        scenario, await outcome(scenario, honest=False), await outcome(scenario, honest=True)
    )


async def outcome(scenario: Scenario, *, honest: bool) -> str:
    """Return the entries that one of the two stories leaves."""
    async with opened_world() as world:
        await scenario.story(world, honest=honest)
        await world.settle()
        return await world.outcome()


def main() -> None:
    """Print the results; exit 1 when one is wrong."""
    parser = argparse.ArgumentParser(
        description="Play the ways by which one origin could look like two."
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object for each scenario"
    )
    wants_json = parser.parse_args().json
    results = [anyio.run(played, scenario) for scenario in SCENARIOS]
    if wants_json:
        for one in results:
            print(json.dumps(as_json(one)))
    else:
        print_tables(results)
    sys.exit(any(one.result in WRONG for one in results))


def as_json(one: Played) -> dict[str, str]:
    """Return a result with its expectations; without `notDefended` where a rule defends."""
    scenario = one.scenario
    reason = {"notDefended": scenario.not_defended} if scenario.not_defended else {}
    return {
        "scenario": scenario.name,
        "expected": scenario.laundered,
        "found": one.laundered,
        "honestExpected": scenario.honest,
        "honestFound": one.honest,
        "result": one.result,
        **reason,
    }


def print_tables(results: Sequence[Played]) -> None:
    """Print the ways that rules defend, those that they do not, and the sums."""
    rows = [
        (one.scenario.name, one.scenario.laundered, one.laundered, one.honest, one.result)
        for one in results
        if one.scenario in DEFENDED
    ]
    table(
        "One origin that looks like two",
        ("laundered", "expected", "found", "honest twin", "result"),
        rows,
    )
    undefended = [
        (one.scenario.name, one.laundered, one.honest, one.scenario.not_defended)
        for one in results
        if one.scenario in NOT_DEFENDED
    ]
    table("Not defended", ("laundered", "found", "honest twin", "because"), undefended)
    sums = Counter(one.result for one in results)
    print(
        f"\n{len(DEFENDED)} ways: {sums['LAUNDERED']} laundered, {sums['LOST']} honest ones lost. ",
        end="",
    )
    print(f"{len(NOT_DEFENDED)} more are not defended.")


if __name__ == "__main__":
    main()
