"""How much one agent may know: 300 lessons of one program under the defaults, and a question to
each in other words.

    python benchmarks/room.py [--agent NAME] [--held-out | --questions FILE]

The lessons of asked/NAME.json (one_agent) are stored by `store_memory`, and `recall_memory` with
its defaults is asked the questions of the public half once 100 are stored and once all are;
`--held-out` asks those of the other half instead, on which nothing was chosen, and `--questions`
the first 300 of a tab-separated file (columns a, the question, and b, its lesson). `findable` are
the stored lessons that their own words bring among the first 5. Exits with 1 when less than .7 of
the questions find their lesson first once all are stored. retrieval.py has the same questions to
the same lessons without a program, so without any cap.
"""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from questions import OwnLesson, one_agent
from sets import rows_of, table

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory

AGENTS: Final = ("one_agent", "logistics_agent")
PROGRAM: Final = "agent"
NOW: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)  # of every call: all lessons are equally strong
CONFIDENCE: Final = 0.8
SIZES: Final = (100, 300)
MIN_FIRST: Final = 0.7  # of the questions, once all are stored. Source: chosen
ROOM: Final = ("stored", "findable", "questions", "MRR", "hit@1", "hit@5")


class Room(NamedTuple):
    """A program with so many lessons stored.

    `findable` are those that their own words find, `places` those of the questions' lessons in the
    answers, 0 for none.
    """

    stored: int
    findable: int
    places: Sequence[int]

    def row(self) -> tuple[str | float, ...]:
        """Return a row of `ROOM`."""
        reciprocal = sum(1 / place for place in self.places if place) / len(self.places)
        return (
            self.stored,
            self.findable,
            len(self.places),
            reciprocal,
            self.share_within(1),
            self.share_within(5),
        )

    def share_within(self, limit: int) -> float:
        """Return the share of the questions whose lesson was among the first `limit`."""
        return sum(0 < place <= limit for place in self.places) / len(self.places)


def lessons_of(path: Path) -> Sequence[OwnLesson]:
    """Return the first lessons of a file, each with its first question; equal texts are one
    lesson.
    """
    questions = {row["b"]: row["a"] for row in reversed(rows_of(path))}
    texts = list(dict.fromkeys(row["b"] for row in rows_of(path)))[: SIZES[-1]]
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


async def rooms(
    lessons: Sequence[OwnLesson], sizes: Sequence[int], embedder: Embedder, *, held_out: bool
) -> Sequence[Room]:
    """Return the lessons that one program finds once so many of its lessons are stored, for
    ascending sizes.
    """
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        fleet = Fleet.on(store, "default", embedder, lambda: NOW)
        measured: list[Room] = []
        try:
            for number, lesson in enumerate(lessons, 1):
                await store_memory(fleet, PROGRAM, sent(lesson))
                if number in sizes:
                    measured.append(await _room(fleet, lessons[:number], held_out=held_out))
        finally:
            await store.close()
    return measured


async def _room(fleet: Fleet, stored: Sequence[OwnLesson], *, held_out: bool) -> Room:
    findable = [0 < await place_of(fleet, lesson.id, lesson.pattern) <= 5 for lesson in stored]
    asked = [lesson for lesson in stored if lesson.question and lesson.held_out is held_out]
    return Room(
        len(stored),
        sum(findable),
        [await place_of(fleet, lesson.id, lesson.question) for lesson in asked],
    )


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
    """Print a row for each size; exit with 1 when the last misses the gate."""
    parser = argparse.ArgumentParser(description="Measure how many lessons one agent may know.")
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
    measured = anyio.run(lambda: rooms(lessons, SIZES, MiniLM(), held_out=options.held_out))
    whose = options.questions.name if options.questions else options.agent
    half = "held out" if options.held_out else "public"
    table(
        f"Questions of one agent to its own lessons, {whose}, {half}",
        ROOM,
        [each.row() for each in measured],
    )
    raise SystemExit(0 if measured[-1].share_within(1) >= MIN_FIRST else "missed")


if __name__ == "__main__":
    main()
