"""Random histories of a fleet, as steps of the vocabulary of `tests/plain_fleet.py`.

A step says who does it; `days` since the step before and the clocks of the actors give its moment. Steps that are
impossible when their turn comes (an unknown lesson, a closed pair) are refused, by the model and the package alike.
"""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.histories import START, Json

PROGRAMS = ("basher", "iso", "ISO", "sark", "tron")
CLOCKS = {"basher": 0, "iso": 45, "ISO": -45, "sark": 30, "tron": -30, "people": 10, "maintainer": -20}  # seconds off
PROJECTS = {"sark": "proj-x", "tron": "proj-y"}
FAMILIES = (  # near enough that a run proposes the two of a family, without an objection; far from the other families
    ("Pin every dependency to an exact version", "Pin each dependency to one exact version"),
    ("Run the migrations on a copy of the database first", "First run the migrations on a copied database"),
    ("Rotate the log files every night", "Rotate all log files each night"),
    ("Ask the owner before deleting a branch", "Ask its owner before you delete a branch"),
)
LESSON_IDS = ("first", "second")
PAUSES = (0.0, 20 / 86_400, 40 / 86_400, 0.02, 0.3, 1.5, 30, 91)  # days
EVIDENCE = ("", "Seen twice", "It broke the build of the whole monday")

numbers = st.integers(0, len(FAMILIES) - 1)
programs = st.sampled_from(PROGRAMS)
texts = st.tuples(numbers, st.integers(0, 1)).map(lambda place: FAMILIES[place[0]][place[1]])
lesson_ids = st.sampled_from(LESSON_IDS)
sessions = st.sampled_from((None, None, None, "monday", "tuesday"))
connections = st.sampled_from((None, None, None, "stdio-1", "stdio-2"))


def spelt(text: str, manner: int) -> str:
    """Return a text in equal words: as it is, in capitals, with a full stop, or with wide gaps."""
    return (text, text.upper(), f"{text}.", text.replace(" ", "  "))[manner]


def lesson_id(text: str, name: str) -> str:
    """Return an id of its family, so that storing under it rewrites within the family."""
    family = next(at for at, members in enumerate(FAMILIES) if text in members)
    return f"{name}-{family}"


@st.composite
def lessons(draw: st.DrawFn) -> tuple[str, str]:
    """Return a program and the id of a lesson that it may have."""
    return draw(programs), lesson_id(draw(texts), draw(lesson_ids))


@st.composite
def sides(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Return two sides of one family: lessons of different programs, or a lesson and a text of an entry."""
    members = FAMILIES[draw(numbers)]
    one = draw(programs)
    other = draw(programs.filter(lambda name: name.casefold() != one.casefold()))
    mine = ["lesson", one, lesson_id(members[0], draw(lesson_ids))]
    theirs = ["lesson", other, lesson_id(members[0], draw(lesson_ids))]
    entries = [["entry", member] for member in members]
    return draw(
        st.sampled_from([(mine, theirs), (mine, theirs), (mine, entries[0]), (mine, entries[1]), tuple(entries)])
    )


@st.composite
def stores(draw: st.DrawFn) -> Json:
    text, program = draw(texts), draw(programs)
    step: Json = {
        "do": "store",
        "program": program,
        "lesson_id": lesson_id(text, draw(lesson_ids)),
        "text": spelt(text, draw(st.integers(0, 3))),
        "evidence": draw(st.sampled_from(EVIDENCE)),
        "session": draw(sessions),
        "connection": draw(connections),
        "confidence": draw(st.sampled_from((0.7, 0.8, 0.9))),
        "project": PROJECTS.get(program) if draw(st.booleans()) else None,
    }
    return step


@st.composite
def verdicts(draw: st.DrawFn) -> Json:
    one, other = draw(sides())
    judge = draw(st.sampled_from([side[1] for side in (one, other) if side[0] == "lesson"] * 3 + [*PROGRAMS, None]))
    verdict = draw(st.sampled_from(("same", "same", "same", "different", "contradict", "unsure")))
    connection = None if judge is None else draw(connections)
    return {"do": "verdict", "judge": judge, "one": one, "other": other, "verdict": verdict, "connection": connection}


@st.composite
def rewrite_verdicts(draw: st.DrawFn) -> Json:
    program, name = draw(lessons())
    verdict = draw(st.sampled_from(("same", "different", "contradict", "unsure")))
    return {"do": "verdict", "judge": program, "one": ["rewrite", program, name], "verdict": verdict}


@st.composite
def words(draw: st.DrawFn) -> Json:
    program, name = draw(lessons())
    target = draw(st.sampled_from((["lesson", name], ["entry", draw(texts)])))
    return {
        "do": "word",
        "program": program,
        "target": target,
        "outcome": draw(st.sampled_from(("confirmed", "contradicted"))),
        "evidence": draw(st.sampled_from(EVIDENCE)),
        "session": draw(sessions),
        "connection": draw(connections),
    }


def _steps(do: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"do": st.just(do), **fields})


runs = _steps("propose")
curations = st.one_of(
    _steps("retire", text=texts),
    _steps("reinstate", text=texts),
    _steps("split", text=texts, program=programs),
    _steps("set_policy", threshold=st.integers(2, 3), origins=st.sampled_from(("program", "connection"))),
    _steps("apply_policy"),
)
showings = _steps("show", program=programs, text=texts)
anything = st.one_of(
    stores(),
    stores(),
    stores(),
    verdicts(),
    verdicts(),
    rewrite_verdicts(),
    words(),
    words(),
    runs,
    runs,
    showings,
    curations,
)


def timed(steps: list[tuple[Json, float]]) -> list[tuple[Json, datetime]]:
    """Return each step with its moment by the clock of who takes it."""
    now, moments = START, []
    for step, pause in steps:
        now += timedelta(days=pause)
        actor = step.get("program") or step.get("judge") or ("maintainer" if step["do"] == "propose" else "people")
        moments.append((step, now + timedelta(seconds=CLOCKS[actor])))
    return moments


@st.composite
def beginnings(draw: st.DrawFn) -> list[Json]:
    """Return steps after which two families have an entry or an open pair, most of the time."""
    steps = [draw(stores()) for _ in range(draw(st.integers(0, 3)))]
    for family in draw(st.lists(numbers, min_size=1, max_size=2, unique=True)):
        for program in draw(st.lists(programs, min_size=2, max_size=4, unique=True)):
            text = FAMILIES[family][draw(st.sampled_from((0, 0, 1)))]
            steps.append({**draw(stores()), "program": program, "lesson_id": lesson_id(text, "first"), "text": text})
    return [*steps, {"do": "propose"}]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Json, datetime]]:
    """Return steps, each with its moment: a beginning, anything, and two runs."""
    steps = [*draw(beginnings()), *draw(st.lists(anything, min_size=8, max_size=40)), {"do": "propose"}, {"do": "propose"}]
    return timed([(step, draw(st.sampled_from(PAUSES))) for step in steps])
