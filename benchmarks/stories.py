"""How much of the lessons that agents share becomes knowledge, in stories by other hands, and at
how many questions.

    python benchmarks/stories.py [FILE ...] [--contrary AGENT|each] [--no-judging]

Each story of the folder `stories/` is lived day by day on the real tools, an SQLite file and the
bundled model: every agent boots once a day, stores the lessons of that day with its commit, and
answers the pairs that its boot showed it, by the labels of the story. A maintenance runs each
evening.
`--contrary` makes one agent answer the opposite, `--careless` one call every pair the same.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import reduce
from itertools import combinations
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
from sets import FOLDER, table
from story import Labels, Story, read_story
from story_counts import Counts, counted, curve, goal_day
from story_missed import Missed, lost_tellers, missed
from telling import DAYS_AFTER, Telling, truthful, with_careless, with_contrary

from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.stores.sqlite import SqliteStore

BECAME: Final = (
    "run",
    "lessons",
    "shared",
    "published",
    "share",
    "fresh",
    "contested",
    "share that agents read",
    "twice",
    "wrong fresh, verify, contested",
    "ever wrong: fresh, all",
    "wrong echoes",
    "unasked",
    "never offered",
    "tellers: voters, late, lost",
)
ASKED: Final = (
    "run",
    "pairs",
    "offered",
    "questions",
    "distinct",
    "verdicts",
    "refused",
    "days until published",
)
CURVE_STEP: Final = 5  # days
_QUOTED: Final = re.compile(r"'[^']*'")


class Run(NamedTuple):
    """One telling of a story. `contrary` is the agent that answers the opposite, "" for none, or
    with `is_careless` calls every pair the same.
    """

    story: Story
    answering: bool = True
    contrary: str = ""
    is_careless: bool = False
    seed: int = 0
    days_after: int = DAYS_AFTER

    @property
    def name(self) -> str:
        """The name of a row."""
        how = "careless" if self.is_careless else "contrary"
        return f"{self.story.fleet}, {self.contrary} {how}" if self.contrary else self.story.fleet


class Told(NamedTuple):
    """A run's counts. `goal_day`: the first day with .9 of the shared facts published, `read_day`:
    or contested.

    `curve` is (shared, published) by day. `refused` counts the reasons of verdicts that were
    refused.
    """

    name: str
    counts: Counts
    goal_day: int | None
    read_day: int | None
    curve: Sequence[tuple[int, int]]
    missed: Sequence[Missed]
    lost: Sequence[Missed]
    refused: Mapping[str, int]


async def told(run: Run, embedder: Embedder) -> Told:
    """Return the outcome of a story on a store of its own."""
    labels = Labels(run.story)
    judge = with_contrary(labels, run.contrary) if run.contrary else truthful(labels)
    if run.is_careless:
        judge = with_careless(labels, run.contrary)
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memory.db")
        try:
            telling = Telling(
                store, run.story, embedder, judge, answering=run.answering, seed=run.seed
            )
            chronicle = await telling.told(run.days_after)
        finally:
            await store.close()
    return Told(
        name=run.name,
        counts=counted(run.story, chronicle),
        goal_day=goal_day(run.story, chronicle.days),
        read_day=goal_day(run.story, chronicle.read),
        curve=curve(run.story, chronicle),
        missed=[*missed(run.story, chronicle, await _cosines(run.story, embedder))],
        lost=[*lost_tellers(run.story, chronicle)],
        refused=Counter(
            _QUOTED.sub("...", given.error) for given in chronicle.verdicts if given.error
        ),
    )


async def _cosines(story: Story, embedder: Embedder) -> Mapping[frozenset[str], float]:
    """Return the cosine of each two texts of a shared fact."""
    cosines: dict[frozenset[str], float] = {}
    for lessons in story.shared().values():
        texts = [lesson.pattern for lesson in lessons]
        rows = await embedder.vectors(texts)
        for one, other in combinations(range(len(texts)), 2):
            cosines[frozenset((texts[one], texts[other]))] = float(rows[one] @ rows[other])
    return cosines


def became(one: Told) -> tuple[str | float, ...]:
    """Return a row of `BECAME`."""
    counts = one.counts
    return (
        one.name,
        counts.lessons,
        counts.shared,
        counts.published,
        counts.published / counts.shared,
        counts.fresh,
        counts.contested,
        (counts.published + counts.contested) / counts.shared,
        counts.twice,
        f"{counts.wrong_fresh}, {counts.wrong_verify}, {counts.wrong_contested}",
        f"{counts.ever_wrong_fresh}, {counts.ever_wrong}",
        counts.wrong_echoes,
        counts.unasked,
        counts.never_offered,
        f"{counts.tellers}: {counts.voters}, {counts.late}, {counts.lost}",
    )


def cost(one: Told) -> tuple[str | float, ...]:
    """Return a row of `ASKED`, per shared fact except for shares and days."""
    counts = one.counts
    asking = (
        counts.pairs,
        counts.offered,
        counts.questions,
        counts.distinct,
        counts.verdicts,
        counts.refused,
    )
    return (
        one.name,
        *(count / counts.shared for count in asking),
        counts.lag_days / max(counts.published, 1),
    )


def summed(runs: Sequence[Told]) -> Told:
    """Return the sums of runs, with neither days nor misses."""
    return Told("all", reduce(add, (one.counts for one in runs)), None, None, (), (), (), {})


def print_tables(title: str, runs: Sequence[Told]) -> None:
    """Print the runs and their sum, how knowledge grew, and the misses."""
    rows = [*runs, summed(runs)] if len(runs) > 1 else runs
    table(title, BECAME, map(became, rows))
    table(f"{title}: per shared fact", ASKED, map(cost, rows))
    days = range(CURVE_STEP, max(len(one.curve) for one in runs) + 1, CURVE_STEP)
    grown = (
        (
            one.name,
            one.goal_day or "-",
            one.read_day or "-",
            *(
                f"{one.curve[day - 1][1]} of {one.curve[day - 1][0]}"
                for day in days
                if day <= len(one.curve)
            ),
        )
        for one in runs
    )
    table(
        f"{title}: published of what two agents had told",
        ("run", "sessions until .9", "or contested", *map(str, days)),
        grown,
    )
    for one in runs:
        print_missed(f"{one.name}: missed", one.missed)
        print_missed(f"{one.name}: tellers that were lost", one.lost)
        for error, times in one.refused.items():
            print(f"* {times} refused: {error}")


def print_missed(title: str, facts: Sequence[Missed]) -> None:
    """Print facts with their lessons and why they were missed."""
    print(f"\n#### {title}: {len(facts)}")
    for fact, lessons, why in facts:
        print(f"\n* {fact}")
        for lesson in lessons:
            print(f"  * day {lesson.day}, {lesson.agent} [{lesson.domain}]: {lesson.pattern}")
        print("".join(f"  * -> {line}\n" for line in why), end="")


def runs_of(stories: Sequence[Story], given: argparse.Namespace, contrary: str) -> Iterator[Run]:
    """Yield the runs of a command line; `contrary` is an agent, "each" or ""."""
    for story in stories:
        names = (
            story.names
            if contrary == "each"
            else [contrary]
            if contrary in ("", *story.names)
            else []
        )
        for name in names:
            is_careless = bool(given.careless)
            yield Run(story, not given.no_judging, name, is_careless, given.seed, given.days)


async def _told_all(runs: Sequence[Run]) -> list[Told]:
    embedder = MiniLM()
    return [await told(run, embedder) for run in runs]


def main() -> None:
    """Print the outcomes of stories."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "files", type=Path, nargs="*", help="stories; all of benchmarks/stories/ when absent"
    )
    parser.add_argument(
        "--contrary",
        default="",
        metavar="AGENT",
        help='always answers the opposite; "each": in turn',
    )
    parser.add_argument(
        "--careless", default="", metavar="AGENT", help='calls all the same; "each": in turn'
    )
    parser.add_argument("--no-judging", action="store_true", help="nobody answers")
    parser.add_argument("--seed", type=int, default=0, help="who comes first on a day")
    parser.add_argument("--days", type=int, default=DAYS_AFTER, help="days after the last lesson")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    stories = [
        read_story(path) for path in args.files or sorted((FOLDER / "stories").glob("*.json"))
    ]
    answering = not args.no_judging
    runs = [*runs_of(stories, args, args.contrary or args.careless)]
    if not runs:
        parser.error(f"--contrary: no agent is called {args.contrary}")
    outcomes = anyio.run(_told_all, runs)
    if args.json:
        print(json.dumps([_wire(one) for one in [*outcomes, summed(outcomes)]], indent=1))
    else:
        print_tables("Answered" if answering else "Never answered", outcomes)


def _wire(told_: Told) -> Mapping[str, object]:
    facts = {"missed": told_.missed, "lost": told_.lost}
    return {
        **told_._asdict(),
        "counts": asdict(told_.counts),
        **{
            name: [
                {"fact": one.fact, "lessons": [*map(asdict, one.lessons)], "why": one.why}
                for one in missing
            ]
            for name, missing in facts.items()
        },
    }


if __name__ == "__main__":
    main()
