"""How often the lessons that a hook adds to a person's prompt help.

    python benchmarks/prompt_lessons.py FILE [--show] [--others] [--model]

FILE is {"projects": [{"name", "lessons": [{"id", "domain", "pattern", "evidence"}], "prompts":
[{"text", "helps"}]}]}: each project is a program with these lessons, each prompt the first of its
session, and `helps` are the ids of the lessons that help with it. Precision: of the lessons
brought, the share that helps. Recall: of those that help, the share brought. `--show` lists every
lesson brought, `--others` adds the 220 lessons of lessons.tsv to each project. `--model` compares
with a hook that loads the embedder: the cosine is added to the fit in words, with the weight and
the least sum that are best for this very file.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import anyio

from fleet_memory.clock import clock
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.prompting import lessons_for_prompt
from fleet_memory.rules.retrieval.prompting import (
    MAX_FITTING,
    MIN_OF_BEST,
    fits_of,
    is_worth_reading,
)
from fleet_memory.rules.text.vectors import cosines, int8_matrix
from fleet_memory.schemas.patterns import NewPattern, Pattern
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import load
from fleet_memory.tools.retrieval import embed_question
from fleet_memory.tools.store_memory import store_memory

PROGRAM: Final = "agent"
MIN_PRECISION: Final = 0.8  # the aim: more wrong help is worse than none
WEIGHTS: Final = (0.05, 0.1, 0.15, 0.2, 0.3)  # of a rare word in common, where a cosine counts 1
Project: TypeAlias = Mapping[str, Sequence[Mapping[str, object]]]


class Brought(NamedTuple):
    """A prompt, the ids of the lessons that help with it, and those brought with a score, best
    first.
    """

    prompt: str
    helps: frozenset[str]
    lessons: Sequence[tuple[str, float]]


class Figures(NamedTuple):
    """Lessons brought, those of them that help, and all that help."""

    brought: int
    right: int
    wanted: int

    def __str__(self) -> str:
        """Return the figures as a line."""
        precision, recall = self.right / max(1, self.brought), self.right / max(1, self.wanted)
        return (
            f"precision {precision:.2f} ({self.right} of {self.brought}), recall {recall:.2f} (of "
            f"{self.wanted})"
        )


def figures(rows: Iterable[Brought], least: float = 0.0) -> Figures:
    """Return the figures of prompts when no lesson of a lower score is brought."""
    brought = right = wanted = 0
    for row in rows:
        top = max((score for _, score in row.lessons), default=0.0)
        ids = [
            name
            for name, score in row.lessons[:MAX_FITTING]
            if score >= max(least, MIN_OF_BEST * top)
        ]
        brought, right, wanted = (
            brought + len(ids),
            right + len(row.helps.intersection(ids)),
            wanted + len(row.helps),
        )
    return Figures(brought, right, wanted)


async def by_words(fleet: Fleet, prompt: str) -> Sequence[tuple[str, float]]:
    """Return the lessons that the hook brings."""
    found = await lessons_for_prompt(fleet, PROGRAM, prompt) if is_worth_reading(prompt) else ()
    return [(lesson.id, 1.0) for lesson in found if isinstance(lesson, Pattern)]


async def by_model(fleet: Fleet, prompt: str, weight: float) -> Sequence[tuple[str, float]]:
    """Return every lesson by its cosine and its fit in words, the best first."""
    lessons = list((await fleet.programs.read_whole(PROGRAM)).patterns.values())
    question = await embed_question(fleet, prompt)
    if question is None or question.vector is None or not is_worth_reading(prompt):
        return ()
    fits = fits_of(prompt, [lesson.searched_text for lesson in lessons])
    alike = cosines(int8_matrix([lesson.searched_vector for lesson in lessons]), question.vector)
    scores = [
        (lesson.id, float(alike[at]) + weight * fits.get(at, 0.0))
        for at, lesson in enumerate(lessons)
    ]
    return sorted(scores, key=lambda scored: -scored[1])


def other_lessons() -> list[Mapping[str, object]]:
    """Return the first wording of each pair of lessons.tsv."""
    lines = (Path(__file__).parent / "lessons.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = (line.split("\t") for line in lines)
    return [{"pattern": row[2], "domain": row[1], "evidence": ""} for row in rows]


async def ask(
    projects: Iterable[Project], weight: float | None, others: Sequence[Mapping[str, object]] = ()
) -> list[Brought]:
    """Return the lessons brought for every prompt; `weight` None for words alone."""
    rows = []
    for project in projects:
        with tempfile.TemporaryDirectory() as folder:
            lazy = LazyFleet(load({"store": str(Path(folder) / "memory.db")}, {}), clock(None))
            fleet = await lazy.fleet()
            for lesson in (*project["lessons"], *others):
                await store_memory(
                    fleet, PROGRAM, NewPattern.model_validate({**lesson, "confidence": 0.8})
                )
            for prompt in project["prompts"]:
                text, helps = str(prompt["text"]), prompt["helps"]
                found = by_words(fleet, text) if weight is None else by_model(fleet, text, weight)
                rows.append(
                    Brought(
                        text,
                        frozenset(map(str, helps if isinstance(helps, list) else ())),
                        await found,
                    )
                )
            await lazy.close()
    return rows


def best_figures(rows: Sequence[Brought]) -> Figures:
    """Return the figures of most recall at a precision of `MIN_PRECISION` or more, over every least
    score.
    """
    leasts = sorted({score for row in rows for _, score in row.lessons})
    all_figures = [figures(rows, least) for least in leasts]
    good = [each for each in all_figures if each.right >= MIN_PRECISION * each.brought]
    return max(good, key=lambda each: each.right, default=Figures(0, 0, 0))


def main() -> int:
    """Print the figures; 1 where the precision is below the aim."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument("--model", action="store_true")
    given = parser.parse_args()
    projects = json.loads(given.file.read_text(encoding="utf-8"))["projects"]
    others = other_lessons() if given.others else []
    rows = anyio.run(ask, projects, None, others)
    for row in rows if given.show else ():
        for name, _ in row.lessons:
            sys.stdout.write(f"{'+' if name in row.helps else '-'} {name}  {row.prompt[:90]!r}\n")
    found = figures(rows)
    sys.stdout.write(f"{len(rows)} prompts, words alone: {found}\n")
    for weight in WEIGHTS if given.model else ():
        sys.stdout.write(
            f"with the model, a rare word {weight}: "
            f"{best_figures(anyio.run(ask, projects, weight, others))}\n"
        )
    return 0 if found.right >= MIN_PRECISION * found.brought else 1


if __name__ == "__main__":
    raise SystemExit(main())
