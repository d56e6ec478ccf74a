"""The knowledge that a program without lessons finds in a fleet, by asking `recall_memory` with its
defaults.

    python benchmarks/newcomers.py [FILE ...] [--limit N]

Each story of the folder `stories/` is lived to its end as in stories.py, verdicts given at once.
Then a newcomer asks the story's questions with its program and a query, nothing else. A question is
found when an entry of the answer has a contribution of the question's fact, on top when the first
by score has one. A fact that never became knowledge cannot be found: `shared` is the share of the
questions whose fact two agents stored, `published` of those that agents read. Exits with 1 when
less than .9 of the published are found, or less than .8 are on top.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from sets import FOLDER, table
from story import Labels, Question, Story, read_story
from telling import READ, Telling, truthful

from fleet_memory.fleet import Fleet
from fleet_memory.rules.entries import entry_state
from fleet_memory.schemas.programs import Caller
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.recall import recall_memory

NEWCOMER: Final = "newcomer"
FOUND: Final = (
    "story",
    "questions",
    "shared",
    "published",
    "found",
    "on top",
    "found of the published",
    "on top of the published",
    "entries in an answer",
)
MIN_FOUND, MIN_TOP = 0.9, 0.8


class Reading(NamedTuple):
    """A question, whether its fact can be read, and the place of the first entry with it, 0 for
    none.
    """

    question: Question
    shared: bool
    published: bool
    place: int
    entries: int


async def readings(story: Story, embedder: Embedder) -> Sequence[Reading]:
    """Return a newcomer's answers to each question of a story that was lived on a store of its
    own.
    """
    labels = Labels(story)
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        try:
            telling = Telling(store, story, embedder, truthful(labels))
            chronicle = await telling.told()
            facts = {
                entry.key: frozenset(labels.fact(line.pattern) for line in entry.provenance)
                for entry in chronicle.entries
                if entry_state(entry, chronicle.now) in READ
            }
            fleet = replace(telling.fleet, caller=Caller(NEWCOMER))
            shared = story.shared()
            return [
                await _reading(fleet, facts, one, shared=one.fact in shared)
                for one in story.questions
            ]
        finally:
            await store.close()


async def _reading(
    fleet: Fleet, facts: Mapping[str, frozenset[str]], question: Question, *, shared: bool
) -> Reading:
    answer = await recall_memory(fleet, NEWCOMER, query=question.question)
    best = sorted(answer.knowledge, key=lambda entry: -(entry.score or 0))
    places = [place for place, entry in enumerate(best, 1) if question.fact in facts[entry.key]]
    published = any(question.fact in known for known in facts.values())
    return Reading(question, shared, published, min(places, default=0), len(best))


def row(name: str, asked: Sequence[Reading]) -> tuple[str | float, ...]:
    """Return a row of `FOUND`."""
    shared, published = sum(one.shared for one in asked), sum(one.published for one in asked)
    found, top = sum(one.place > 0 for one in asked), sum(one.place == 1 for one in asked)
    of_all = (count / len(asked) for count in (shared, published, found, top))
    return (
        name,
        len(asked),
        *of_all,
        found / published,
        top / published,
        sum(one.entries for one in asked) / len(asked),
    )


def why(one: Reading) -> str:
    """Return why the first entry does not have the fact."""
    if one.place:
        return f"place {one.place}"
    return (
        "not found"
        if one.published
        else "not published"
        if one.shared
        else "one agent alone stored it"
    )


async def _all(stories: Iterable[Story]) -> Mapping[str, Sequence[Reading]]:
    embedder = MiniLM()
    return {story.fleet: await readings(story, embedder) for story in stories}


def main() -> None:
    """Print a row for each story and all, and the misses; exit with 1 when all miss a gate."""
    parser = argparse.ArgumentParser(description="Measure what newcomers find.")
    parser.add_argument(
        "files", type=Path, nargs="*", help="stories; all of benchmarks/stories/ when absent"
    )
    paths = parser.parse_args().files or sorted((FOLDER / "stories").glob("*.json"))
    by_story = anyio.run(_all, [read_story(path) for path in paths])
    asked = [one for readings_ in by_story.values() for one in readings_]
    table(
        "What newcomers find",
        FOUND,
        [*(row(name, of_one) for name, of_one in by_story.items()), row("all", asked)],
    )
    print()
    for one in asked:
        if one.place != 1:
            print(f"* {one.question.fact}, {why(one)}: {one.question.question}")
    *_, found, top, _entries = map(float, row("", asked)[1:])
    raise SystemExit(0 if found >= MIN_FOUND and top >= MIN_TOP else "missed")


if __name__ == "__main__":
    main()
