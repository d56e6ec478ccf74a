"""Questions to pools of texts, and which of the texts answer each: the sets that retrieval.py
measures.

Of this repository: lessons.tsv, the questions of the stories, and asked/, by people who did not
know the rules: questions to a story that name something in code (`identifiers`), and those that
none of its lessons answers (`unanswered`, `near` when its lessons are about the same topic); and
one_agent.json, 300 lessons of one agent, each with a question that avoids its words, and
logistics_agent.json, 300 of another and 150 questions that need not: half of them room.py alone
asks, once (`heldOut`). From another folder, and not in this repository: lint_pairs.tsv and
lint_corpus.json (sets.py), commands.tsv (command, a, b: one command in the words of two manuals)
and dialogues.json (a list of pools: `texts` are the turns of a dialogue, `questions` have the
numbers of the turns that answer them as `right`).
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sets import FOLDER, rows_of
from story import Story, read_story

from fleet_memory.rules.retrieval.ranking import named_in
from fleet_memory.schemas.patterns import context_text
from fleet_memory.schemas.value import Value

STORIES: Final = FOLDER / "stories"
ASKED: Final = FOLDER / "asked"
HUMPED: Final = re.compile(r"\b\w*[a-z][A-Z]\w*")  # GitHub, macOS: no names of code to recall


class Asked(NamedTuple):
    """Questions to one pool. Words are found in `texts`, meaning in `patterns`; `right` are
    positions in both.

    `evidence` is that of each pattern, and `contexts` what its search vector mixes in; empty for a
    pool without any.
    """

    name: str
    questions: Sequence[str]
    texts: Sequence[str]
    patterns: Sequence[str]
    right: Sequence[Sequence[int]]
    evidence: Sequence[str] = ()
    contexts: Sequence[str] = ()


class Unanswered(Value):
    """A question that no lesson answers; `near`: some are about its topic."""

    question: str
    near: bool


class Naming(Value):
    """A question that names something in code, and the ids of the lessons that hold the name."""

    question: str
    identifier: str
    lessons: tuple[str, ...]


class AskedFile(Value):
    """The questions of asked/ to one story."""

    unanswered: tuple[Unanswered, ...]
    identifiers: tuple[Naming, ...]


class OwnLesson(Value):
    """A lesson of an agent, and a question in other words that it answers; "" for none."""

    id: str
    domain: str
    pattern: str
    evidence: str
    question: str = ""
    held_out: bool = False


class OneAgent(Value):
    """All that one agent learnt, in the order in which it is stored; `about` names its author."""

    about: str
    lessons: tuple[OwnLesson, ...]


def one_agent(name: str = "one_agent") -> OneAgent:
    """Return the lessons of one agent, from its file in asked/."""
    return OneAgent.from_json((ASKED / f"{name}.json").read_text(encoding="utf-8"))


def public_questions(agent: str = "one_agent", name: str = "a lesson of one agent") -> Asked:
    """Return the questions to the lessons of an agent of asked/ that are not held out."""
    lessons = one_agent(agent).lessons
    public = [
        place for place, lesson in enumerate(lessons) if lesson.question and not lesson.held_out
    ]
    return Asked(
        name,
        [lessons[place].question for place in public],
        [f"{lesson.pattern} {lesson.domain} {lesson.evidence}" for lesson in lessons],
        [lesson.pattern for lesson in lessons],
        [[place] for place in public],
        [lesson.evidence for lesson in lessons],
        [context_text(lesson.domain, lesson.evidence) for lesson in lessons],
    )


def our_lessons() -> Asked:
    """Return our lessons in other words, among those that are near to another one."""
    rows = rows_of(FOLDER / "lessons.tsv")
    pairs = [(row["a"], row["b"]) for row in rows if row["kind"] == "same"]
    return in_other_words(
        "one of our lessons", pairs, [row["b"] for row in rows if row["kind"] != "same"]
    )


def asked_of_every_system() -> Sequence[Asked]:
    """Return the sets of peers.py: those whose questions avoid the words of their lessons, and one
    whose need not.
    """
    logistics = public_questions("logistics_agent", "a lesson of a logistics firm's agent")
    return our_lessons(), public_questions(), logistics


def own_sets() -> Iterable[Asked]:
    """Yield our lessons in other words, those of one agent, the questions of the stories, and
    identifiers alone.
    """
    yield from (our_lessons(), public_questions())
    yield from of_stories(sorted(STORIES.glob("*.json")), "")


def held_out_sets() -> Iterable[Asked]:
    """Yield the questions and the identifiers of stories that nothing was chosen on."""
    yield from of_stories(sorted((STORIES / "held_out").glob("*.json")), ", held out")


def of_stories(paths: Sequence[Path], which: str) -> Iterable[Asked]:
    """Yield the sets of stories, their names with `which`."""
    stories = {path: read_story(path) for path in paths}
    yield from (of_story(f"a question of a story{which}", story) for story in stories.values())
    yield from (identifiers_of(f"an identifier alone{which}", story) for story in stories.values())
    for path, story in stories.items():
        if asked := asked_of(path):
            yield naming(
                f"a question that names something in code{which}", story, asked.identifiers
            )


def asked_of(path: Path) -> AskedFile | None:
    """Return the questions of asked/ to the story of a file; None without any."""
    file = ASKED / path.name
    return AskedFile.from_json(file.read_text(encoding="utf-8")) if file.exists() else None


def other_sets(folder: Path) -> Iterable[Asked]:
    """Yield the sets of a folder. Raises OSError for a file that is not there."""
    corpus = json.loads((folder / "lint_corpus.json").read_text(encoding="utf-8"))
    lint = rows_of(folder / "lint_pairs.tsv")
    known = {row["code"] for row in lint}
    rest = [text for code, text in corpus.items() if code not in known]
    yield in_other_words("a lint rule", [(row["a"], corpus[row["code"]]) for row in lint], rest)
    commands = [(row["a"], row["b"]) for row in rows_of(folder / "commands.tsv")]
    yield in_other_words("a command", commands, [])
    for pool in json.loads((folder / "dialogues.json").read_text(encoding="utf-8")):
        asked = pool["questions"]
        questions, right = [one["question"] for one in asked], [one["right"] for one in asked]
        yield Asked("a turn of a long dialogue", questions, pool["texts"], pool["texts"], right)


def in_other_words(name: str, pairs: Sequence[tuple[str, str]], rest: Sequence[str]) -> Asked:
    """Return pairs of wordings as questions and answers; equal answers are one text."""
    texts = list(dict.fromkeys([*(answer for _, answer in pairs), *rest]))
    place = {text: at for at, text in enumerate(texts)}
    return Asked(
        name,
        [question for question, _ in pairs],
        texts,
        texts,
        [[place[answer]] for _, answer in pairs],
    )


def of_story(name: str, story: Story) -> Asked:
    """Return a story's questions to all of its lessons; each lesson of the question's fact answers
    it.
    """
    right = [
        [at for at, one in enumerate(story.lessons) if one.fact == asked.fact]
        for asked in story.questions
    ]
    return _of_lessons(name, story, [asked.question for asked in story.questions], right)


def naming(name: str, story: Story, asked: Sequence[Naming]) -> Asked:
    """Return questions that name something in code; each lesson that holds the name answers."""
    place = {lesson.id: at for at, lesson in enumerate(story.lessons)}
    right = [[place[id_] for id_ in one.lessons] for one in asked]
    return _of_lessons(name, story, [one.question for one in asked], right)


def identifiers_of(name: str, story: Story) -> Asked:
    """Return every name in code of a story's lessons as a question; each lesson with that name in
    it answers it.
    """
    texts, patterns = lesson_texts(story), [lesson.pattern for lesson in story.lessons]
    found = ((*named_in(pattern), *HUMPED.findall(pattern)) for pattern in patterns)
    names = list(dict.fromkeys(name for names in found for name in names))
    right = [[at for at, text in enumerate(texts) if one in text] for one in names]
    return _of_lessons(name, story, names, right)


def _of_lessons(
    name: str, story: Story, questions: Sequence[str], right: Sequence[Sequence[int]]
) -> Asked:
    patterns, evidence = (
        [one.pattern for one in story.lessons],
        [one.evidence for one in story.lessons],
    )
    return Asked(name, questions, lesson_texts(story), patterns, right, evidence, contexts(story))


def contexts(story: Story) -> Sequence[str]:
    """Return what the search vectors of a story's lessons mix in."""
    return [context_text(lesson.domain, lesson.evidence) for lesson in story.lessons]


def lesson_texts(story: Story) -> Sequence[str]:
    """Return the texts that recall finds words in."""
    return [f"{lesson.pattern} {lesson.domain} {lesson.evidence}" for lesson in story.lessons]
