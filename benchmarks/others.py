"""One agent's lessons that another finds by asking `recall_memory` in its own words, under
`sharing: lessons`.

    python benchmarks/others.py [FILE ...] [--together]

The lessons of each story of the folder `stories/` are told by their agents and put on the shelf.
Each fact is known to one agent alone: the first fleet has the first lesson of each fact, the second
the second one of those that have two, and so on. A newcomer asks each question in each fleet that
has a lesson of its fact, with its program and a query, nothing else. It is found when one of the
five lessons of others is of the question's fact. `--together` tells all stories to one fleet, as
several stacks. Exits with 1 when less than .85 are found in five.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from sets import FOLDER, table
from story import Question, Story, ToldLesson, read_story

from fleet_memory.fleet import Fleet, no_progress
from fleet_memory.jobs.maintenance import maintain_fleet
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import store_memory
from fleet_memory.tools.core.recall import recall_memory

NEWCOMER: Final = "newcomer"
NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
MIN_FOUND: Final = 0.85
FOUND: Final = ("story", "lessons asked for", "first", "in five", "others in an answer")


class Asked(NamedTuple):
    """A question, the place of the first lesson of its fact, 0 for none, and how many came."""

    question: Question
    place: int
    others: int


def told_alone(stories: Sequence[Story]) -> Iterator[tuple[Sequence[ToldLesson], Sequence[Story]]]:
    """Yield the lessons of fleets that know each fact by one agent alone, until no fact is left."""
    by_fact: dict[tuple[str, str], list[ToldLesson]] = {}
    for story in stories:
        for lesson in story.lessons:
            by_fact.setdefault((story.fleet, lesson.fact), []).append(lesson)
    for number in range(max(map(len, by_fact.values()))):
        facts = {
            fact: lessons[number] for fact, lessons in by_fact.items() if number < len(lessons)
        }
        asking = [
            replace(
                story,
                questions=tuple(one for one in story.questions if (story.fleet, one.fact) in facts),
            )
            for story in stories
        ]
        yield [*facts.values()], asking


async def asked(stories: Sequence[Story], embedder: Embedder) -> Mapping[str, Sequence[Asked]]:
    """Return by story what a newcomer to fleets of all of them finds."""
    found: dict[str, list[Asked]] = {story.fleet: [] for story in stories}
    for lessons, asking in told_alone(stories):
        with TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "memory.db")
            try:
                fleet = await _told(Fleet.on(store, "f1", embedder, lambda: NOW), lessons)
                facts = {text_hash(lesson.pattern): lesson.fact for lesson in lessons}
                for story in asking:
                    found[story.fleet] += [
                        await _asked(fleet, facts, question) for question in story.questions
                    ]
            finally:
                await store.close()
    return found


async def _told(fleet: Fleet, lessons: Sequence[ToldLesson]) -> Fleet:
    fleet, last = replace(fleet, default_sharing="lessons"), max(lesson.day for lesson in lessons)
    for lesson in lessons:
        at = NOW - timedelta(days=last - lesson.day)
        stored = NewPattern.model_validate(
            {
                "pattern": lesson.pattern,
                "domain": lesson.domain,
                "evidence": lesson.evidence,
                "confidence": lesson.confidence,
            }
        )
        await store_memory(_at(fleet, at), lesson.agent, stored)
    await maintain_fleet(fleet, no_progress)
    return fleet


def _at(fleet: Fleet, moment: datetime) -> Fleet:
    return replace(fleet, now=lambda: moment)


async def _asked(fleet: Fleet, facts: Mapping[str, str], question: Question) -> Asked:
    answer = await recall_memory(fleet, NEWCOMER, query=question.question)
    others = answer.others or ()
    places = [
        place
        for place, lesson in enumerate(others, 1)
        if facts[text_hash(lesson.pattern)] == question.fact
    ]
    return Asked(question, min(places, default=0), len(others))


def row(name: str, every: Sequence[Asked]) -> tuple[str | float, ...]:
    """Return a row of `FOUND`."""
    first = sum(one.place == 1 for one in every) / len(every)
    found = sum(one.place > 0 for one in every) / len(every)
    return name, len(every), first, found, sum(one.others for one in every) / len(every)


def main() -> None:
    """Print a row for each story and all, and the misses; exit with 1 when all miss the gate."""
    parser = argparse.ArgumentParser(description="Measure what agents find of each other.")
    parser.add_argument(
        "files", type=Path, nargs="*", help="stories; all of benchmarks/stories/ when absent"
    )
    parser.add_argument("--together", action="store_true", help="all stories in one fleet")
    given = parser.parse_args()
    paths = given.files or sorted((FOLDER / "stories").glob("*.json"))
    stories = [read_story(path) for path in paths]

    async def measured() -> Mapping[str, Sequence[Asked]]:
        embedder, found = MiniLM(), dict[str, Sequence[Asked]]()
        for group in [stories] if given.together else [[story] for story in stories]:
            found |= await asked(group, embedder)
        return found

    by_story = anyio.run(measured)
    every = [one for found in by_story.values() for one in found]
    table(
        "What agents find of each other",
        FOUND,
        [*(row(name, found) for name, found in by_story.items()), row("all", every)],
    )
    print()
    for one in every:
        if not one.place:
            print(f"* {one.question.fact}: {one.question.question}")
    raise SystemExit(0 if float(row("all", every)[3]) >= MIN_FOUND else "missed")


if __name__ == "__main__":
    main()
