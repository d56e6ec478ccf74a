"""Short lives of a fleet as data: `tests/data/README.md` describes the format."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

from tests.plain_asking import Judged, written
from tests.plain_entry import words_of
from tests.plain_fleet import PlainFleet

START = datetime.fromisoformat("2026-03-02T09:00:00+00:00")
HISTORIES = Path(__file__).parent / "data" / "histories.json"

OUTCOMES = (
    "shows",
    "taken",
)  # of a step: the pairs that a call must show and the verdicts that it must take

Json = dict[str, Any]  # each operation names its own arguments, which the called method checks


class Facts(NamedTuple):
    """Checked values by the text of their entry: (state, voting programs, votes), project, times
    learnt again.

    `for_people` are the pairs that only people are left to judge.
    """

    entries: Json
    projects: Json
    learnt_again: Json
    for_people: list[list[str]]


@dataclass(frozen=True)
class History:
    title: str
    policy: Json  # threshold, origins
    steps: list[Json]


def read_histories(path: Path = HISTORIES) -> list[History]:
    """Return the histories of a file, their repeated steps written out."""
    written = cast("list[Json]", json.loads(path.read_text()))
    return [
        History(
            one["title"],
            one.get("policy", {}),
            [each for step in one["steps"] for each in repeated(step)],
        )
        for one in written
    ]


def repeated(step: Json) -> Iterator[Json]:
    """Write out a step of `times` n, `every` so many days, with {n} counting from 1 in its
    texts.
    """
    plain = {name: value for name, value in step.items() if name not in {"times", "every"}}
    for index in range(step.get("times", 1)):
        number = str(index + 1) if "times" in step else "{n}"
        copy = cast("Json", json.loads(json.dumps(plain).replace("{n}", number)))
        yield {**copy, "day": step["day"] + index * step.get("every", 0)}


def days(count: float) -> timedelta:
    return timedelta(days=count)


def moment(step: Json) -> datetime:
    return START + days(step["day"])


def mismatches(history: History) -> list[str]:
    """Live a history in the plain model; return each check that fails, in words."""
    fleet = PlainFleet(**history.policy)
    failed = [problem for step in history.steps if (problem := live(fleet, step))]
    return [f"{history.title}: {problem}" for problem in failed]


def live(fleet: PlainFleet, step: Json) -> str:
    """Take one step; return the difference where it is a check that fails, else nothing."""
    given = {name: value for name, value in step.items() if name not in {"do", "day", *OUTCOMES}}
    if step["do"] == "check":
        return compare(plain_facts(fleet, moment(step)), given)
    if step["do"] == "set_policy":
        fleet.set_policy(**given)
        return ""
    return compare_outcome(step, getattr(fleet, step["do"])(**given, at=moment(step)))


def plain_facts(fleet: PlainFleet, now: datetime) -> Facts:
    entries = {text: [*entry] for text, entry in fleet.entries(now).items()}
    return Facts(
        entries, dict(fleet.projects()), dict(fleet.learnt_again()), written(fleet.for_people())
    )


def compare_outcome(step: Json, outcome: Judged | None) -> str:
    """Return how a call differs from the pairs and verdicts of its step; a verdict counts unless
    the step refuses it.

    The texts of pairs are compared in any order, as words.
    """
    shown, taken = outcome or ([], [])
    expected = written(frozenset(map(words_of, pair)) for pair in step.get("shows", ()))
    if "shows" in step and written(shown) != expected:
        return f"{step}: shows {written(shown)}"
    if taken != step.get("taken", [True] * len(taken)):
        return f"{step}: taken {taken}"
    return ""


def compare(facts: Facts, expected: Json) -> str:
    """Return the first fact that differs at this check, or nothing."""
    states = [entry[0] for entry in facts.entries.values()]
    if "for_people" in expected:
        expected = {
            **expected,
            "for_people": written(
                frozenset(map(words_of, pair)) for pair in expected["for_people"]
            ),
        }
    named: Json = {
        **facts._asdict(),
        "states": {str(state): states.count(state) for state in states},
    }
    wrong = [name for name in named if name in expected and named[name] != expected[name]]
    return "".join(
        f"{expected['after']}: {name} {named[name]} != {expected[name]}" for name in wrong[:1]
    )
