"""After a year by the defaults: 300 lessons of one agent, and questions to lessons of any age.

    python benchmarks/room.py [--agent NAME] [--held-out | --questions FILE]

The lessons of asked/NAME.json (one_agent) are stored by `store_memory`, spread evenly over 365 days
in an order drawn from one seed, with a run of maintenance each week; none is ever confirmed. On the
last day every lesson is looked for by its own words, and by the question to it: those of the public
half, with `--held-out` those of the other half instead, on which nothing was chosen, and with
`--questions` the first 300 of a tab-separated file (columns a, the question, and b, its lesson). A
row for each class of ages has the share of lessons whose own words bring them among the first 5 of
`recall_memory` with its defaults, the same for their questions, and the share of questions whose
boot (`gsp_bootstrap` with the question as its task) shows the lesson. Exits with 1 when less than
.95 of the lessons are found by their own words. retrieval.py has the same questions to the same
lessons without a program, so without decay.
"""

import argparse
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from questions import OwnLesson, one_agent
from sets import rows_of, table

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.boot import gsp_bootstrap
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory

AGENTS: Final = ("one_agent", "logistics_agent")
PROGRAM: Final = "agent"
START: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)
DAYS: Final = 365
WEEK: Final = 7  # days between runs of maintenance
CONFIDENCE: Final = 0.8
MAX_LESSONS: Final = 300
AGES: Final = ((0, 90), (91, 180), (181, 365))  # days; the first are not stale
MIN_FOUND: Final = 0.95  # of the lessons, by their own words in five. Source: chosen
YEAR: Final = ("days old", "lessons", "own words @5", "questions", "MRR", "hit@1", "hit@5", "boot")


class Found(NamedTuple):
    """A lesson on the last day.

    `place` is its place in the answer to its own words, from 1, 0 if it is not there; `asked` that
    in the answer to its question, None without one. `in_boot`: the boot for its question shows it.
    """

    age: int
    place: int
    asked: int | None
    in_boot: bool


def row(name: str, found: Sequence[Found]) -> tuple[str | float, ...]:
    """Return a row of `YEAR`."""
    asked = [one for one in found if one.asked is not None]
    places = [one.asked or 0 for one in asked]
    return (
        name,
        len(found),
        within([one.place for one in found], 5),
        len(asked),
        sum(1 / place for place in places if place) / max(1, len(places)),
        within(places, 1),
        within(places, 5),
        sum(one.in_boot for one in asked) / max(1, len(asked)),
    )


def within(places: Sequence[int], limit: int) -> float:
    """Return the share of places from 1 to `limit`."""
    return sum(0 < place <= limit for place in places) / max(1, len(places))


def lessons_of(path: Path) -> Sequence[OwnLesson]:
    """Return the first lessons of a file, each with its first question; equal texts are one
    lesson.
    """
    questions = {row["b"]: row["a"] for row in reversed(rows_of(path))}
    texts = list(dict.fromkeys(row["b"] for row in rows_of(path)))[:MAX_LESSONS]
    return [
        OwnLesson(
            id=f"lesson-{number}",
            domain="room",
            pattern=text,
            evidence="",
            question=questions[text],
        )
        for number, text in enumerate(texts)
    ]


async def after_a_year(
    lessons: Sequence[OwnLesson], embedder: Embedder, *, held_out: bool
) -> Sequence[Found]:
    """Return what one program finds of its lessons on the last day."""
    order = random.Random(1).sample(lessons, len(lessons))  # noqa: S311 an order, not a secret
    day_of = {lesson.id: at * DAYS // len(order) for at, lesson in enumerate(order)}
    clock = {"day": 0}
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        fleet = Fleet.on(store, "default", embedder, lambda: START + timedelta(days=clock["day"]))
        try:
            for day in range(DAYS + 1):
                clock["day"] = day
                for lesson in order:
                    if day_of[lesson.id] == day:
                        await store_memory(fleet, PROGRAM, sent(lesson))
                if day % WEEK == 0:
                    await maintain_fleet(fleet, no_progress)
            return [
                await found(fleet, lesson, DAYS - day_of[lesson.id], held_out=held_out)
                for lesson in lessons
            ]
        finally:
            await store.close()


async def found(fleet: Fleet, lesson: OwnLesson, age: int, *, held_out: bool) -> Found:
    """Return how a lesson is found now."""
    place = await place_of(fleet, lesson.id, lesson.pattern)
    if not lesson.question or lesson.held_out is not held_out:
        return Found(age, place, None, in_boot=False)
    boot = await gsp_bootstrap(fleet, PROGRAM, task=lesson.question)
    in_boot = lesson.id in {pattern.id for pattern in boot.patterns}
    return Found(age, place, await place_of(fleet, lesson.id, lesson.question), in_boot)


async def place_of(fleet: Fleet, lesson_id: str, query: str) -> int:
    """Return the place of a lesson in the answer to a question, from 1; 0 if it is not there."""
    answer = await recall_memory(fleet, PROGRAM, query=query)
    ids = [pattern.id for pattern in answer.patterns]
    return ids.index(lesson_id) + 1 if lesson_id in ids else 0


def sent(lesson: OwnLesson) -> NewPattern:
    """Return the lesson as the agent stores it."""
    texts = {"domain": lesson.domain, "pattern": lesson.pattern, "evidence": lesson.evidence}
    return NewPattern.model_validate({"id": lesson.id, **texts, "confidence": CONFIDENCE})


def main() -> None:
    """Print a row for each class of ages; exit with 1 when the gate is missed."""
    parser = argparse.ArgumentParser(description="Measure what one agent finds after a year.")
    parser.add_argument(
        "--agent", default="one_agent", choices=AGENTS, help="whose lessons of asked/"
    )
    parser.add_argument(
        "--held-out", action="store_true", help="ask the questions that nothing was chosen on"
    )
    parser.add_argument(
        "--questions", type=Path, metavar="FILE", help="columns a (question) and b (lesson)"
    )
    options = parser.parse_args()
    lessons = (
        lessons_of(options.questions) if options.questions else one_agent(options.agent).lessons
    )
    year = anyio.run(lambda: after_a_year(lessons, MiniLM(), held_out=options.held_out))
    whose = options.questions.name if options.questions else options.agent
    half = "held out" if options.held_out else "public"
    rows = [
        row(f"{first} to {last}", [one for one in year if first <= one.age <= last])
        for first, last in AGES
    ]
    table(f"After a year, {whose}, questions {half}", YEAR, [*rows, row("any", year)])
    is_met = within([one.place for one in year], 5) >= MIN_FOUND
    raise SystemExit(0 if is_met else "missed")


if __name__ == "__main__":
    main()
