"""What becomes knowledge where agents are shown each other's lessons, under `sharing: lessons`.

    python benchmarks/sharing.py [--tried N] [FILE ...]

Each story is lived as in stories.py, but every agent asks `recall_memory` in the words of its
lesson before it stores it, and confirms with its evidence what it is shown of the same fact. With
`careless` one agent of the story confirms all that it is shown. Of each two facts that contradict
each other the second counts as wrong. Prints the facts that two agents told and that agents read
now, the wrong ones among these, and how many tellers were shown their fact before.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from sets import FOLDER, table
from story import Labels, Story, read_story
from telling import READ, Telling, truthful

from fleet_memory.rules.entries import entry_state
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Caller
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore
from fleet_memory.tools.core.lessons import reinforce_memory
from fleet_memory.tools.core.recall import recall_memory


class Sharing(Telling):
    """A telling in which agents ask before they tell; `careless` confirms all that it is shown."""

    careless = ""
    shown = 0

    async def _session(self, agent: str, day: int) -> None:
        fleet = replace(self.fleet, caller=Caller(agent))
        for lesson in self._story.lessons:
            if (lesson.agent, lesson.day) == (agent, day):
                answer = await recall_memory(fleet, agent, query=lesson.pattern)
                for other in answer.others or ():
                    is_same = self._labels.fact(other.pattern) == lesson.fact
                    self.shown += is_same
                    if is_same or agent == self.careless:
                        seen = lesson.evidence or lesson.pattern
                        await reinforce_memory(fleet, agent, other.key, evidence=seen)
        await super()._session(agent, day)


def wrong_facts(story: Story) -> set[str]:
    """Return the second of each two facts that contradict each other, told by one agent."""
    told: dict[str, set[str]] = {}
    for lesson in story.lessons:
        told.setdefault(lesson.fact, set()).add(lesson.agent)
    return {second for _, second in story.contradict if len(told.get(second, ())) == 1}


async def outcome(
    story: Story, embedder: Embedder, tried: int, careless: str
) -> tuple[str | int, ...]:
    """Return a row: the story, shared facts, those read and fresh, wrong ones, showings."""
    labels = Labels(story)
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        try:
            life = Sharing(store, story, embedder, truthful(labels))
            life.careless = careless
            before = await life.fleet.policies.read_versioned()
            policy = Policy(sharing="lessons", tried=tried)
            await store.commit(life.fleet.policies.write(before, policy))
            chronicle = await life.told()
        finally:
            await store.close()
    states = {
        labels.fact(entry.value.pattern): entry_state(entry, chronicle.now)
        for entry in chronicle.entries
        if entry_state(entry, chronicle.now) in READ
    }
    shared, wrong = story.shared().keys(), wrong_facts(story)
    fresh = [fact for fact, state in states.items() if state == "fresh"]
    unwarned = [fact for fact in wrong & states.keys() if states[fact] != "contested"]
    return (
        f"{story.fleet}{', careless ' + careless if careless else ''}",
        len(shared),
        len(shared & states.keys()),
        len(shared & set(fresh)),
        len(wrong),
        len(unwarned),
        len(wrong & set(fresh)),
        life.shown,
    )


async def outcomes(stories: Sequence[Story], tried: int) -> list[tuple[str | int, ...]]:
    """Return the rows of honest agents, and of one careless agent in turn."""
    embedder = MiniLM()
    return [
        await outcome(story, embedder, tried, careless)
        for story in stories
        for careless in ("", story.names[0], story.names[-1])
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("files", type=Path, nargs="*", help="all of benchmarks/stories/ if absent")
    parser.add_argument("--tried", type=int, default=Policy().tried, help="confirmations")
    args = parser.parse_args()
    files = args.files or sorted((FOLDER / "stories").glob("*.json"))
    rows = anyio.run(outcomes, [read_story(file) for file in files], args.tried)
    names = ("story", "shared", "read", "fresh", "wrong", "wrong read", "wrong fresh", "shown")
    table(f"sharing: lessons, tried {args.tried}", names, rows)


if __name__ == "__main__":
    main()
