"""Which share of the lessons of several agents is offered to readers, and whether evidence in the
vectors helps.

    python benchmarks/offered.py [FILE ...]

Prints markdown tables about the stories of the folder `stories/`, or those named.
"""

import argparse
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import numpy as np
from sets import FOLDER, table, vectors
from story import Question, ToldLesson, read_story

from fleet_memory.rules.consensus.choosing import KnownPairs, chosen
from fleet_memory.rules.consensus.proposing import proposals
from fleet_memory.rules.retrieval.ranking import by_relevance, identifier_shares
from fleet_memory.rules.text.keys import pair_id, text_hash
from fleet_memory.rules.text.vectors import Vectors, int8_rows, packed
from fleet_memory.schemas.comparison import ComparableLesson
from fleet_memory.schemas.similarity import Profile
from fleet_memory.similarity import Embedder
from fleet_memory.similarity.minilm import MiniLM
from fleet_memory.similarity.words import word_scores

WEIGHTS: Final = (0.0, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
EVIDENCE_CHARS: Final = 160
ANOTHER: Final = 17  # lessons further on is the one whose evidence the control takes
LEAST_MARGINS: Final = (0.30, 0.25, 0.22, 0.20, 0.15, 0.10)
WEIGHED: Final = (
    "story",
    "evidence",
    "average precision",
    "offered",
    "pairs per shared fact",
    "hit@1",
    "hit@5",
)
MARGINS: Final = (
    "story",
    "review",
    "offered",
    "pairs per shared fact",
    "median rank of the true",
    "of the others",
)


class AskedStory(NamedTuple):
    """A story, its shared facts, and questions to its memory."""

    name: str
    lessons: Sequence[ToldLesson]
    shared: frozenset[str]
    questions: Sequence[Question]


class Offered(NamedTuple):
    """A pair that was opened: its fact, None if the two sides state different ones, and its
    rank.
    """

    fact: str | None
    rank: float


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Measure which shared lessons are offered.")
    parser.add_argument("stories", type=Path, nargs="*", metavar="FILE")
    engine = MiniLM()
    paths = parser.parse_args().stories or sorted((FOLDER / "stories").glob("*.json"))
    stories = [read_asked_story(path) for path in paths]
    table("Evidence in the vectors, all lessons at once", WEIGHED, weighed_rows(stories, engine))
    table("The least margin, day by day", MARGINS, margin_rows(stories, engine))


def read_asked_story(path: Path) -> AskedStory:
    """Return a story with its questions. Raises OSError, and ValueError for one whose parts do not
    fit together.
    """
    story = read_story(path)
    return AskedStory(story.fleet, story.lessons, frozenset(story.shared()), story.questions)


def weighed_rows(
    stories: Sequence[AskedStory], engine: Embedder
) -> Iterable[tuple[str | float, ...]]:
    """Yield `WEIGHED` for each story and weight, with the lesson's own evidence and with that of
    another.
    """
    for story in stories:
        for weight in WEIGHTS:
            for further, name in ((0, f"{weight}"), (ANOTHER, f"{weight}, of another lesson")):
                if weight or not further:
                    rows = mixed_vectors(story, engine, weight, further)
                    offered = offered_pairs(at_once(story), rows, engine.profile)
                    precision = average_precision(story, rows, engine.profile)
                    yield (
                        story.name,
                        name,
                        precision,
                        *shares(story, offered),
                        *hits(story, engine, rows),
                    )


def margin_rows(
    stories: Sequence[AskedStory], engine: Embedder
) -> Iterable[tuple[str | float, ...]]:
    """Yield `MARGINS` for each story and least margin."""
    for story in stories:
        rows = mixed_vectors(story, engine, 0)
        for least in LEAST_MARGINS:
            offered = offered_pairs(story, rows, replace(engine.profile, review=least))
            true, others = (
                [one.rank for one in offered if (one.fact is None) is not right]
                for right in (True, False)
            )
            yield story.name, f"{least:.2f}", *shares(story, offered), median(true), median(others)


def mixed_vectors(story: AskedStory, engine: Embedder, weight: float, further: int = 0) -> Vectors:
    """Return n unit rows: of each lesson's text and, by `weight`, of the evidence of the lesson
    `further` on.
    """
    texts = vectors(engine, [lesson.pattern for lesson in story.lessons])
    others = [*story.lessons[further:], *story.lessons[:further]]
    evidence = vectors(engine, [lesson.evidence[:EVIDENCE_CHARS] or "-" for lesson in others])
    weights = np.array([[weight if lesson.evidence else 0.0] for lesson in others], np.float32)
    mixed = (1 - weights) * texts + weights * evidence
    rows: Vectors = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return rows


def at_once(story: AskedStory) -> AskedStory:
    """Return the story with all lessons on its first day."""
    return story._replace(lessons=[replace(lesson, day=1) for lesson in story.lessons])


def average_precision(story: AskedStory, rows: Vectors, profile: Profile) -> float:
    """Return the average precision of all pairs of different agents by rank; pairs without a margin
    count as last.
    """
    told = story.lessons
    found = proposals(
        [comparable(one) for one in told],
        stored(rows),
        range(len(told)),
        replace(profile, review=0.0001),
    )
    right = np.array([told[pair.a].fact == told[pair.b].fact for pair in found])
    true = sum(
        one.fact == other.fact and one.agent != other.agent for one, other in combinations(told, 2)
    )
    return float((np.cumsum(right) / np.arange(1, len(right) + 1))[right].sum() / true)


def shares(story: AskedStory, offered: Sequence[Offered]) -> tuple[float, float]:
    """Return the share of the shared facts with a true pair that was opened, and all opened pairs
    for each.
    """
    facts = story.shared
    return len({one.fact for one in offered} & facts) / len(facts), len(offered) / len(facts)


def hits(story: AskedStory, engine: Embedder, rows: Vectors) -> tuple[float, float]:
    """Return the share of questions that recall answers with another agent's lesson first, and
    among the first five.
    """
    texts = [lesson.pattern for lesson in story.lessons]
    places = []
    for question, row in zip(
        story.questions, vectors(engine, [one.question for one in story.questions]), strict=True
    ):
        right = [one.fact == question.fact and one.agent != question.agent for one in story.lessons]
        words, names = (
            word_scores(question.question, texts),
            identifier_shares(question.question, texts),
        )
        ranked = by_relevance(list(rows @ row), list(words), names, [0.8] * len(texts))
        if any(right):
            places.append(
                next((at for at, one in enumerate(ranked) if right[one.position]), len(texts))
            )
    return float(np.mean([at == 0 for at in places])), float(np.mean([at < 5 for at in places]))


def stored(rows: Vectors) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    """Return vectors as documents keep them."""
    return int8_rows([(b64decode(packed(row)), "") for row in rows], "")


def comparable(told: ToldLesson) -> ComparableLesson:
    """Return a lesson as proposing compares it."""
    return ComparableLesson(told.agent, told.id, told.domain, told.pattern, text_hash(told.pattern))


# A fleet whose readers judge every pair by its label, on the day on which it is opened


@dataclass
class _Fleet:
    """The facts of a story as far as they were judged: entries by key (their lesson's position),
    and who is in one.
    """

    story: AskedStory
    rows: Vectors
    entries: Mapping[str, int] = field(default_factory=dict)
    members: frozenset[int] = frozenset()
    judged: frozenset[str] = frozenset()
    offered: list[Offered] = field(default_factory=list)

    def open_and_judge(self, day: int, profile: Profile) -> bool:
        """Open the pairs that the limits allow, and judge them; return whether there was any."""
        told = self.story.lessons
        free = [at for at, one in enumerate(told) if one.day <= day and at not in self.members]
        places = [*free, *self.entries.values()]
        entries = [
            comparable(told[at])._replace(program_id="", lesson_id=key)
            for key, at in self.entries.items()
        ]
        lessons = [*(comparable(told[at]) for at in free), *entries]
        found = proposals(lessons, stored(self.rows[places]), range(len(lessons)), profile)
        asked = {key: told[at].agent for key, at in self.entries.items()}
        opened = chosen(found, lessons, KnownPairs(self.judged), (), asked)
        for pair in opened:
            self._judge(places[pair.a], places[pair.b], pair.rank)
        return bool(opened)

    def _judge(self, one: int, other: int, rank: float) -> None:
        a, b = self.story.lessons[one], self.story.lessons[other]
        self.judged |= {pair_id(text_hash(a.pattern), text_hash(b.pattern))}
        self.offered.append(Offered(a.fact if a.fact == b.fact else None, rank))
        if a.fact != b.fact:
            return
        texts = set(self.entries.values())
        if not {one, other} & (self.members | texts):
            better = min(
                (one, other),
                key=lambda at: (-self.story.lessons[at].confidence, self.story.lessons[at].day),
            )
            self.entries = {**self.entries, f"entry-{better}": better}
            self.members |= {one, other}
        elif {one, other} & texts:
            self.members |= {one, other}


def offered_pairs(story: AskedStory, rows: Vectors, profile: Profile) -> list[Offered]:
    """Return the pairs that are opened until nothing is left to open, in order; `rows` has a vector
    for each lesson.
    """
    fleet = _Fleet(story, rows)
    for day in sorted({lesson.day for lesson in story.lessons}):
        while fleet.open_and_judge(day, profile):
            pass
    return fleet.offered


if __name__ == "__main__":
    main()
