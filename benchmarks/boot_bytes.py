"""The composition of an agent's boot: how many of its bytes are lessons, evidence and state.

    python benchmarks/boot_bytes.py [FILE ...]

Each story of the folder `stories/` is lived to its end as `stories.py` does, verdicts at once; then
each of its agents boots as usual, and somebody new. The bytes are those of the compact JSON.
Characters count that an agent wrote for readers, and nothing around them: as lessons the texts of
`constitution`, `knowledge`, `patterns` and `toJudge`; as evidence theirs; as state the notes and
the values of `program`. Each text counts once, however often a boot shows it. Ids, keys, domains,
figures, field names, quotes and braces do not count. It fails when a boot's share is below the
goal.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

import anyio
from pydantic import JsonValue
from sets import FOLDER, table
from story import Labels, Story, read_story
from telling import Telling, truthful

from fleet_memory.fleet import Caller
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.gsp_bootstrap import gsp_bootstrap

GOAL: Final = 0.5  # of a boot's bytes; chosen: lessons are the most of it
NEWCOMER: Final = "somebody-new"
QUOTES: Final = 2  # bytes around a text
Boot: TypeAlias = Mapping[str, JsonValue]


class Parts(NamedTuple):
    """The bytes of a boot that are lessons, evidence and state, and by section those that are none
    of these.
    """

    lessons: int
    evidence: int
    state: int
    rest: Mapping[str, int]

    @property
    def total(self) -> int:
        """All bytes, but for the braces around the answer."""
        return self.lessons + self.evidence + self.state + sum(self.rest.values())

    @property
    def share(self) -> float:
        """The share of lessons, evidence and state."""
        return (self.lessons + self.evidence + self.state) / self.total


def parts_of(boot: Boot) -> Parts:
    """Return the bytes of a boot by part."""
    counted = {"lessons": 0, "evidence": 0, "state": 0}
    rest: dict[str, int] = {}
    seen: set[str] = set()
    for name, section in boot.items():
        rest[name] = size({name: section}) - 1  # a comma instead of two braces
        for kind, text in _texts(name, section):
            if text not in seen:
                counted[kind] += size(text) - QUOTES
                rest[name] -= size(text) - QUOTES
                seen.add(text)
    return Parts(**counted, rest=rest)


def _texts(name: str, section: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the texts of a section that count, each with its kind."""
    if name in ("program", "notes"):
        yield from (("state", text) for text in _leaves(section, without="id"))
    if name in ("constitution", "knowledge", "patterns", "toJudge"):
        for item in _objects(section):
            for field, kind in (("pattern", "lessons"), ("evidence", "evidence")):
                text = item.get(field)
                if isinstance(text, str):
                    yield kind, text


def _objects(value: JsonValue) -> Iterator[Mapping[str, JsonValue]]:
    """Yield every object in a value."""
    if isinstance(value, dict):
        yield value
    for item in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from _objects(item)


def _leaves(value: JsonValue, without: str) -> Iterator[str]:
    """Yield the texts and figures in a value, as texts, but for the members of one name."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name != without:
                yield from _leaves(item, without)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, without)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


async def boots_of(story: Story, embedder: Embedder) -> Mapping[str, Boot]:
    """Return the boot of each agent of a story after its end, and of a newcomer, by name."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        try:
            telling = Telling(store, story, embedder, truthful(Labels(story)), answering="at-once")
            await telling.told()
            return {
                name: (
                    await gsp_bootstrap(replace(telling.fleet, caller=Caller(name)), name)
                ).wire()
                for name in (*story.names, NEWCOMER)
            }
        finally:
            await store.close()


def print_story(story: Story, parts: Mapping[str, Parts]) -> None:
    """Print the parts of each boot, by agent."""
    sections = sorted({name for one in parts.values() for name in one.rest})
    table(
        f"{story.fleet}: bytes of a boot; goal: {GOAL} of them lessons, evidence and state",
        (
            "agent",
            "bytes",
            "lessons",
            "evidence",
            "state",
            "share",
            *(f"rest of {name}" for name in sections),
        ),
        (
            (
                name,
                one.total,
                one.lessons,
                one.evidence,
                one.state,
                one.share,
                *(one.rest.get(s, 0) for s in sections),
            )
            for name, one in parts.items()
        ),
    )


def below_goal(parts: Mapping[str, Parts]) -> list[str]:
    """Return the agents whose boot has a smaller share of lessons, evidence and state than the
    goal.
    """
    return [name for name, one in parts.items() if one.share < GOAL]


async def _boots_of_all(stories: Sequence[Story]) -> list[str]:
    """Print each story, and return its boots below the goal."""
    embedder = MiniLM()
    poor: list[str] = []
    for story in stories:
        parts = {name: parts_of(boot) for name, boot in (await boots_of(story, embedder)).items()}
        print_story(story, parts)
        poor += [f"{name} of {story.fleet}" for name in below_goal(parts)]
    return poor


def main() -> None:
    """Print how much of each boot is lessons, evidence and state."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "files", type=Path, nargs="*", help="stories; all of benchmarks/stories/ when absent"
    )
    args = parser.parse_args()
    stories = [
        read_story(path) for path in args.files or sorted((FOLDER / "stories").glob("*.json"))
    ]
    if poor := anyio.run(_boots_of_all, stories):
        sys.exit(f"\nbelow {GOAL}: {', '.join(poor)}")


if __name__ == "__main__":
    main()
