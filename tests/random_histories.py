"""Random histories of a fleet, as steps of the vocabulary of `tests/plain_fleet.py`.

A step says who does it; `days` since the step before and the clocks of the actors give its moment. Steps that are
impossible when their turn comes (an unknown lesson, a closed pair) are refused, by the model and the package alike.
"""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.histories import START, Json
from tests.plain_entry import words_of

PROGRAMS = ("basher", "iso", "ISO", "sark", "tron")
USUAL = ("basher", "iso", "sark") * 2 + ("ISO", "tron")
CLOCKS = {"basher": 0, "iso": 45, "ISO": -45, "sark": 30, "tron": -30, "people": 10, "maintainer": -20}  # seconds off
PROJECTS = {"sark": "proj-x", "tron": "proj-x", "basher": "proj-x"}
FAMILIES = (  # near enough that a run proposes the two of a family, without an objection; far from the other families
    ("Pin every dependency to an exact version", "Pin each dependency to one exact version"),
    ("Run the migrations on a copy of the database first", "First run the migrations on a copied database"),
)
LESSON_IDS = ("first", "first", "first", "second")
PAUSES = (0.0, 20 / 86_400, 40 / 86_400, 0.02, 0.3, 1.5, 30, 91)  # days
EVIDENCE = ("", "Seen twice", "It broke the build of the whole monday")

numbers = st.sampled_from((0, 0, 0, 1))  # few, so that steps meet
programs = st.sampled_from(USUAL)
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
        "project": PROJECTS.get(program) if draw(st.sampled_from((False, False, True))) else None,
    }
    return step


Known = dict[tuple[str, str], str]
"""The texts of the lessons that a history has stored so far, by program and id."""


@st.composite
def verdicts(draw: st.DrawFn, known: Known) -> Json:
    """Return a verdict about two lessons of one family in other words, or about one of them and an entry's text."""
    (program, name), text = draw(st.sampled_from(sorted(known.items())))
    family = next(members for members in FAMILIES if text in members)
    other_text = next(member for member in family if member != text)
    theirs = [["lesson", *place] for place, said in sorted(known.items()) if said == other_text]
    theirs = [side for side in theirs if side[1].casefold() != program.casefold()]
    one = draw(st.sampled_from((["lesson", program, name], ["lesson", program, name], ["entry", text])))
    other = draw(st.sampled_from([["entry", other_text], *theirs, *theirs]))
    own = [side[1] for side in (one, other) if side[0] == "lesson"]
    judge = draw(st.sampled_from((*own * 4, *PROGRAMS, None)))
    verdict = draw(st.sampled_from(("same", "same", "same", "different", "contradict", "unsure")))
    connection = None if judge is None else draw(connections)
    return {"do": "verdict", "judge": judge, "one": one, "other": other, "verdict": verdict, "connection": connection}


@st.composite
def rewrites(draw: st.DrawFn, known: Known) -> list[Json]:
    """Return the store of another text under a known id, and most of the time its author's verdict."""
    (program, name), text = draw(st.sampled_from(sorted(known.items())))
    new = next(member for members in FAMILIES if text in members for member in members if member != text)
    steps = [{**draw(stores()), "program": program, "lesson_id": name, "text": new}]
    verdict = draw(st.sampled_from(("same", "same", "different", "contradict", "unsure", None)))
    if verdict is not None:
        steps.append({"do": "verdict", "judge": program, "one": ["rewrite", program, name], "verdict": verdict})
    return steps


@st.composite
def words(draw: st.DrawFn, known: Known) -> Json:
    (program, name), text = draw(st.sampled_from(sorted(known.items())))
    is_own = draw(st.booleans())
    return {
        "do": "word",
        "program": program if is_own else draw(programs),
        "target": ["lesson", name] if is_own else ["entry", text],
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
KINDS = ("store", "store", "verdict", "verdict", "verdict", "rewrite", "word", "word", "run", "run", "show", "people")


@st.composite
def parts(draw: st.DrawFn, known: Known) -> list[Json]:
    """Return a step of any kind, or the two of a rewrite."""
    kind = draw(st.sampled_from(KINDS))
    if kind == "rewrite":
        return draw(rewrites(known))
    one = {"verdict": verdicts(known), "word": words(known), "run": runs, "show": showings, "people": curations}
    return [draw(one.get(kind, stores()))]


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
            text = FAMILIES[family][draw(st.sampled_from((0, 0, 1, 1)))]
            steps.append({**draw(stores()), "program": program, "lesson_id": lesson_id(text, "first"), "text": text})
    return [*steps, {"do": "propose"}]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Json, datetime]]:
    """Return steps, each with its moment: a beginning, anything, and two runs."""
    steps = draw(beginnings())
    known: Known = {}
    for _ in range(draw(st.integers(4, 25))):
        for step in steps:
            if step["do"] == "store":
                known[step["program"], step["lesson_id"]] = plain(step["text"])
        steps += draw(parts(known))
    steps += [{"do": "propose"}, {"do": "propose"}]
    return timed([(step, draw(st.sampled_from(PAUSES))) for step in steps])


def plain(text: str) -> str:
    """Return the text of a family that this one spells otherwise."""
    return next(one for members in FAMILIES for one in members if words_of(one) == words_of(text))
