"""A story: a fleet's lessons in the words of its agents, and the facts that the lessons are about.

Stories were written by somebody who knew neither rules nor guards: facts first, then each agent's
lessons in its own words and domains. The labels follow from the facts: two lessons of one fact are
the same.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Verdict
from fleet_memory.schemas.value import Value


class Teller(Value):
    """An agent of a story."""

    id: str
    role: str = ""


class ToldLesson(Value):
    """One lesson: its agent stores it on `day`, counted from 1; `fact` is the label."""

    id: str
    agent: str
    day: int
    fact: str
    pattern: str
    domain: str
    evidence: str = ""
    confidence: float


class Question(Value):
    """A question of an agent to its memory, about a fact."""

    agent: str
    question: str
    fact: str


class Story(Value):
    """A fleet and its lessons; `contradict` are the pairs of facts that cannot both be followed."""

    fleet: str
    about: str = ""
    agents: tuple[Teller, ...]
    lessons: tuple[ToldLesson, ...]
    contradict: tuple[tuple[str, str], ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def names(self) -> Sequence[str]:
        """The ids of its agents."""
        return [agent.id for agent in self.agents]

    @property
    def last_day(self) -> int:
        """The day of the last lesson."""
        return max(lesson.day for lesson in self.lessons)

    def shared(self, until: int | None = None) -> Mapping[str, Sequence[ToldLesson]]:
        """Return the lessons of each fact that two agents or more have stored, by a day or in all,
        in order of days.
        """
        told: dict[str, list[ToldLesson]] = {}
        for lesson in sorted(self.lessons, key=lambda lesson: lesson.day):
            if until is None or lesson.day <= until:
                told.setdefault(lesson.fact, []).append(lesson)
        return {
            fact: lessons
            for fact, lessons in told.items()
            if len({lesson.agent for lesson in lessons}) > 1
        }


class Labels:
    """The right verdict about any two texts of a story."""

    def __init__(self, story: Story) -> None:
        self._lessons: dict[str, ToldLesson] = {}
        for lesson in story.lessons:
            other = self._lessons.setdefault(text_hash(lesson.pattern), lesson)
            if other.fact != lesson.fact:
                raise ValueError(
                    f"{story.fleet}: {other.id} and {lesson.id} are of two facts in equal words"
                )
        self._contradict = {frozenset(pair) for pair in story.contradict}

    def fact(self, text: str) -> str:
        """Return the fact that a text is about. Raises KeyError for a text that is not the
        story's.
        """
        return self._lessons[text_hash(text)].fact

    def verdict(self, one: str, other: str) -> Verdict:
        """Return the verdict of a reader who knows the facts."""
        facts = frozenset((self.fact(one), self.fact(other)))
        if len(facts) == 1:
            return "same"
        return "contradict" if facts in self._contradict else "different"


def read_story(path: Path) -> Story:
    """Return the story of a file. Raises OSError, and ValueError for one whose parts do not fit
    together.
    """
    story = Story.from_json(path.read_text(encoding="utf-8"))
    ids = [lesson.id for lesson in story.lessons]
    unknown = {lesson.agent for lesson in story.lessons} - {*story.names}
    strange = {fact for pair in story.contradict for fact in pair} - {
        lesson.fact for lesson in story.lessons
    }
    if len(set(ids)) < len(ids) or unknown or strange:
        raise ValueError(
            f"{path}: ids are not unique, or nobody's: agents {unknown}, facts {strange}"
        )
    Labels(story)
    return story
