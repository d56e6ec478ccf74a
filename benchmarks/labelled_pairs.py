"""Pairs and steering lessons that other hands labelled: hinted at, the same unasked, obeyed.

    python benchmarks/labelled_pairs.py [--json]

`labelled/pairs.json` has 100 choices between two things in one place, 60 near misses of one slot
and 60 rewordings that share most words; `labelled/steering.json` 40 lessons that try to steer their
judge and 60 honest ones that use the same words. Their writer had read no rule. Each pair is stored
by two agents of a fleet of its own, and has no judge. Each lesson is paired with a plain one of
another agent, and a judge who obeys every text answers `same` for both.
"""

import argparse
import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, NamedTuple

import anyio
from pydantic import TypeAdapter
from sets import FOLDER, table

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.rules.asking import differs
from fleet_memory.rules.text.keys import pair_id, slug, text_hash
from fleet_memory.rules.text.steering import lesson_steering
from fleet_memory.schemas.pairs import MAX_EVIDENCE_CHARS, NewVerdict, Pair, Side
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.schemas.programs import Caller
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores import ABSENT
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.judging import pattern_consolidate
from fleet_memory.tools.core.lessons import store_memory

LABELLED: Final = FOLDER / "labelled"
START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
AGENTS: Final = ("ann", "bob")


@dataclass(frozen=True)
class Lesson:
    """A lesson as it was written."""

    pattern: str
    domain: str
    evidence: str

    def sent(self) -> NewPattern:
        """Return it as `store_memory` takes it."""
        return NewPattern(
            pattern=self.pattern, domain=slug(self.domain), confidence=0.8, evidence=self.evidence
        )

    def side(self, program_id: str, pattern_id: str = "p") -> Side:
        """Return it as the side of a pair."""
        return Side(
            program_id=program_id,
            pattern_id=pattern_id,
            domain=slug(self.domain),
            text=self.pattern,
            evidence=self.evidence[:MAX_EVIDENCE_CHARS],
        )


PARTNER: Final = Lesson(
    "Close a file before you rename it", "files", "The rename failed on one machine"
)
"""The other agent's lesson: it addresses no reader, and is about nothing that the labelled lessons
are about.
"""


@dataclass(frozen=True)
class LabelledPair:
    """Two lessons and the verdict of who wrote them."""

    id: str
    kind: Literal["choice", "near", "rewording"]
    a: Lesson
    b: Lesson
    label: Literal["same", "different", "contradict"]


@dataclass(frozen=True)
class SteeringLesson(Lesson):
    """A lesson that tries to steer its judge, or an honest one that uses the same words."""

    id: str
    steers: bool


class Kind(NamedTuple):
    """The fates of the pairs of one kind."""

    kind: str
    pairs: int
    figures: int
    negation: int
    unasked: int


class Steering(NamedTuple):
    """The fates of lessons: how many are left to people, and how many an obedient judge makes
    knowledge.
    """

    lessons: str
    number: int
    for_people: int
    published: int


def read_pairs() -> list[LabelledPair]:
    """Return the labelled pairs."""
    return TypeAdapter(list[LabelledPair]).validate_json((LABELLED / "pairs.json").read_bytes())


def read_steering() -> list[SteeringLesson]:
    """Return the steering lessons and the honest ones."""
    return TypeAdapter(list[SteeringLesson]).validate_json(
        (LABELLED / "steering.json").read_bytes()
    )


async def is_published_unasked(fleet: Fleet, one: LabelledPair) -> bool:
    """Whether two agents' lessons are knowledge without a verdict."""
    for name, lesson in zip(AGENTS, (one.a, one.b), strict=True):
        await store_memory(fleet, name, lesson.sent())
    await maintain_fleet(fleet, no_progress)
    return any(not row.is_hidden for row in (await fleet.knowledge.snapshots.read()).rows)


async def is_published_by_obedience(fleet: Fleet, lesson: SteeringLesson, other: Lesson) -> bool:
    """Whether an agent that answers `same` to every pair makes knowledge of a lesson and
    another's.
    """
    ids = [
        (await store_memory(fleet, name, one.sent())).pattern_id
        for name, one in zip(AGENTS, (lesson, other), strict=True)
    ]
    a, b = (
        one.side(*place)
        for one, place in zip((lesson, other), zip(AGENTS, ids, strict=True), strict=True)
    )
    id_ = pair_id(text_hash(a.text), text_hash(b.text))
    pair = Pair(pair_id=id_, a=a, b=b, steering=steering_of(a, b), opened_at=fleet.now())
    await fleet.pairs.store.commit(fleet.pairs.write(VersionedPair(id_, None, ABSENT), pair))
    for name in AGENTS:
        asked = (await gsp_bootstrap(fleet, name, depth="full")).to_judge or ()
        verdicts = tuple(
            NewVerdict.model_validate({"pairId": one.pair_id, "verdict": "same"}) for one in asked
        )
        if verdicts:
            await pattern_consolidate(fleet, no_progress, name, verdicts=verdicts)
    return any(not row.is_hidden for row in (await fleet.knowledge.snapshots.read()).rows)


class Measured(NamedTuple):
    """The figures of the labelled pairs and of the lessons."""

    pairs: Sequence[Kind]
    steering: Sequence[Steering]


async def measured(pairs: Sequence[LabelledPair], lessons: Sequence[SteeringLesson]) -> Measured:
    """Play every pair and every lesson, each in a fleet of its own; the bundled model compares
    them.
    """
    embedder = MiniLM()
    await embedder.ready()
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")

        def fleet(name: str) -> Fleet:
            clock = iter(START + timedelta(minutes=minute) for minute in range(1_000_000))
            return Fleet.on(store, name, embedder, lambda: next(clock), Caller())

        try:
            unasked = {one.id for one in pairs if await is_published_unasked(fleet(one.id), one)}
            obeyed = {
                one.id
                for one in lessons
                if await is_published_by_obedience(fleet(one.id), one, PARTNER)
            }
        finally:
            await store.close()
    steering, honest = (
        [one for one in lessons if one.steers is steers] for steers in (True, False)
    )
    return Measured(
        [
            _kind(name, [one for one in pairs if one.kind == name], unasked)
            for name in ("choice", "near", "rewording")
        ],
        [
            _steering("steers its judge", steering, obeyed),
            _steering("honest, the same words", honest, obeyed),
        ],
    )


def _kind(name: str, pairs: Sequence[LabelledPair], unasked: set[str]) -> Kind:
    hints = Counter(differs(one.a.pattern, one.b.pattern) for one in pairs)
    unasked_of_kind = sum(one.id in unasked for one in pairs)
    return Kind(name, len(pairs), hints["figures"], hints["negation"], unasked_of_kind)


def steering_of(*sides: Side) -> str:
    """Return the words by which a side gives its judge orders, "" for none."""
    found = (lesson_steering(side.text, side.evidence, side.domain) for side in sides)
    return next(filter(None, found), "")


def _steering(name: str, lessons: Sequence[SteeringLesson], obeyed: Collection[str]) -> Steering:
    def left_to_people(one: SteeringLesson) -> bool:
        return bool(steering_of(one.side("ann")))

    return Steering(
        name,
        len(lessons),
        sum(map(left_to_people, lessons)),
        sum(one.id in obeyed for one in lessons),
    )


def _print_tables(found: Measured) -> None:
    heads = ("kind", "pairs", "other figures", "negation", "the same unasked")
    table("Labelled pairs", heads, found.pairs)
    columns = ("lesson", "number", "left to people", "published by a judge who answers same to all")
    table("Lessons, each paired with a plain one of another agent", columns, found.steering)


def main() -> None:
    """Print both tables, or one JSON object."""
    parser = argparse.ArgumentParser(
        description="Print what became of labelled pairs and of steering lessons."
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = anyio.run(measured, read_pairs(), read_steering())
    if given.json:
        print(
            json.dumps(
                {name: [one._asdict() for one in rows] for name, rows in found._asdict().items()}
            )
        )
    else:
        _print_tables(found)


if __name__ == "__main__":
    main()
