"""Random histories of a fleet, as steps of the vocabulary of `tests/plain_fleet.py`.

A step names its actor; `days` since the step before and the clocks of the actors give its moment.
Steps that are impossible when their turn comes (an unknown lesson, a closed pair) are refused, by
the model and the package alike.

Left out, as the design does not fix them to the last state:
* verdicts about two entries: their contributions are asked about one by one, in an order of the
  maintainer's;
* verdicts about texts that lessons of others share: each lesson's own pair decides when a run meets
  it;
* a rewrite by a program with two lessons of its old words: which of the two its verdict is about is
  a matter of ids;
* verdicts over connections: they are one verdict or a contributor's by who else came over one;
* verdicts about lessons that are rewritten too: a pair is about the texts of its day, and a run
  opens it again;
* a person's unsure after a verdict of theirs: the design leaves open whether it takes that back;
* split: it judges a text that others may share;
* reword: the pairs with the old text stay, and the design leaves open which of them still count;
* projects: a run chooses among lessons of several by an order that is its own.
"""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.histories import START, Json
from tests.plain_entry import words_of

CALLS = ("boot", "consolidate")  # steps that may show pairs
PROGRAMS = ("basher", "iso", "ISO", "sark", "tron")
USUAL = ("basher", "iso", "sark") * 2 + ("ISO", "tron")
CLOCKS = {
    "basher": 0,
    "iso": 45,
    "ISO": -45,
    "sark": 30,
    "tron": -30,
    "people": 10,
    "maintainer": -20,
}  # seconds off
# stored by all in equal words, so it needs no verdict
SHARED = "Pin every dependency to an exact version"
# two wordings of one lesson for each program, so no verdict is about a text that others share
OWN = {
    "basher": (
        "Run the migrations on a copy of the database first",
        "Rehearse migrations with a cloned database",
    ),
    "iso": (
        "First run the migrations on a copied database",
        "Try each migration out on a database clone",
    ),
    "ISO": (
        "Migrate a copy of the database before the real one",
        "Migrations go through a duplicate first",
    ),
    "sark": (
        "A migration belongs on a database copy at first",
        "Test migrations against copied data",
    ),
    "tron": (
        "Before migrating a database, migrate its copy",
        "A duplicate database takes migrations first",
    ),
}
PAUSES = (0.0, 20 / 86_400, 40 / 86_400, 0.02, 0.3, 1.5, 30, 91)  # days
WORKING_PAUSES = (
    0.0,
    40 / 86_400,
    0.02,
    *[0.3] * 5,
    1.5,
    1.5,
    5,
    16,
)  # days, where programs are asked in turn
EVIDENCE = ("", "Seen twice", "It broke the build of the whole monday")

programs = st.sampled_from(USUAL)
sessions = st.sampled_from((None, None, None, "monday", "tuesday"))
connections = st.sampled_from((None, None, None, "stdio-1", "stdio-2"))


def spelt(text: str, manner: int) -> str:
    """Return a text in equal words: as it is, not capitalised, with a full stop, or with wide gaps."""
    return (text, text[:1].lower() + text[1:], f"{text}.", text.replace(" ", "  "))[manner]


@st.composite
def stores(draw: st.DrawFn, program: str | None = None, *, is_shared: bool | None = None) -> Json:
    """Return the store of the shared text, or of the program's own wording of another lesson."""
    program = program or draw(programs)
    if is_shared is None:
        is_shared = draw(st.booleans())
    return {
        "do": "store",
        "program": program,
        "lesson_id": draw(st.sampled_from(("shared", "shared", "again"))) if is_shared else "own",
        "text": spelt(SHARED if is_shared else OWN[program][0], draw(st.integers(0, 3))),
        "evidence": draw(st.sampled_from(EVIDENCE)),
        "session": draw(sessions),
        "connection": draw(connections),
        "confidence": draw(st.sampled_from((0.7, 0.8, 0.9))),
    }


Known = dict[tuple[str, str], str]
"""The texts of the lessons that a history has stored so far, by program and id."""


@st.composite
def sides(draw: st.DrawFn, known: Known) -> tuple[list[str], list[str]] | None:
    """Return two programs' own lessons, or one of them and an entry's text; None without two."""
    own = [program for program, name in sorted(known) if name == "own"]
    if len(own) < 2:
        return None
    one, other = draw(st.permutations(own))[:2]
    return ["lesson", one, "own"], draw(
        st.sampled_from((["lesson", other, "own"], ["entry", OWN[other][0]]))
    )


@st.composite
def asks(draw: st.DrawFn, known: Known) -> Json | None:
    """Return that a run opens a pair, with marks of any kind."""
    pair = draw(sides(known))
    if pair is None:
        return None
    steering = draw(st.sampled_from(("", "", "", "answer same")))
    return {
        "do": "ask",
        "one": pair[0],
        "other": pair[1],
        "steering": steering,
        "likely": draw(st.booleans()),
    }


@st.composite
def verdicts(draw: st.DrawFn, known: Known) -> Json | None:
    """Return a verdict about any pair: a person's, or one of a program that may not have been shown
    it.
    """
    pair = draw(sides(known))
    if pair is None:
        return None
    judge = draw(st.sampled_from((None, None, pair[0][1], *PROGRAMS)))
    verdict = draw(
        st.sampled_from(
            ("same", "same", "different", "contradict", *([] if judge is None else ["unsure"]))
        )
    )
    return {"do": "verdict", "judge": judge, "one": pair[0], "other": pair[1], "verdict": verdict}


@st.composite
def calls(draw: st.DrawFn) -> Json:
    """Return a call of a program that shows pairs and may answer some that it was shown, the first
    by their texts.
    """
    call = draw(st.sampled_from(("boot", *["commit"] * 4, "consolidate")))
    step: Json = {"do": call, "program": draw(st.sampled_from(PROGRAMS))}
    if call != "boot":
        some = st.sampled_from(("same", "same", "same", "different", "contradict", "unsure"))
        step["answers"] = draw(st.lists(some, max_size=3))
    return step


@st.composite
def rewrites(draw: st.DrawFn, known: Known) -> list[Json]:
    """Return the store of a program's own wording under its shared lesson's id, or back, and mostly
    its verdict.
    """
    program, name = draw(st.sampled_from([place for place in sorted(known) if place[1] != "own"]))
    new = OWN[program][1] if known[program, name] == SHARED else SHARED
    steps = [{**draw(stores(program, is_shared=True)), "lesson_id": name, "text": new}]
    verdict = draw(st.sampled_from(("same", "same", "different", "contradict", "unsure", None)))
    if verdict is not None:
        steps.append(
            {
                "do": "verdict",
                "judge": program,
                "one": ["rewrite", program, name],
                "verdict": verdict,
            }
        )
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


texts = st.sampled_from((*[SHARED] * 5, *(wordings[0] for wordings in OWN.values())))
runs = _steps("propose")
curations = st.one_of(
    _steps("retire", text=texts),
    _steps("reinstate", text=texts),
    _steps(
        "set_policy",
        threshold=st.integers(2, 3),
        origins=st.sampled_from(("program", "connection")),
    ),
    _steps("apply_policy"),
)
showings = _steps(
    "show", program=programs, text=texts
).filter(  # a fleet shows a program the texts of others
    lambda step: step["text"] not in OWN[step["program"]]
)
KINDS = ("store", "store", "word", "word", "run", "run", "show", "people")
JUDGING = ("ask",) * 3 + ("call",) * 15 + ("verdict", *KINDS)


@st.composite
def parts(draw: st.DrawFn, known: Known, judged: str) -> list[Json]:
    """Return a step of any kind, or the two of a rewrite."""
    kind = draw(
        st.sampled_from((*KINDS, judged, judged, judged) if judged == "rewrite" else JUDGING)
    )
    if kind == "rewrite":
        return draw(rewrites(known))
    one = {
        "ask": asks(known),
        "call": calls(),
        "verdict": verdicts(known),
        "word": words(known),
        "run": runs,
        "show": showings,
        "people": curations,
    }
    step = draw(one.get(kind, stores()))
    return [] if step is None else [step]


def timed(steps: list[tuple[Json, float]]) -> list[tuple[Json, datetime]]:
    """Return each step with its moment by the clock of who takes it."""
    now, moments = START, []
    for step, pause in steps:
        now += timedelta(days=pause)
        actor = (
            step.get("program")
            or step.get("judge")
            or ("maintainer" if step["do"] == "propose" else "people")
        )
        moments.append((step, now + timedelta(seconds=CLOCKS[actor])))
    return moments


@st.composite
def beginnings(draw: st.DrawFn, judged: str) -> list[Json]:
    """Return steps after which the shared text has an entry, and the other lesson of several
    programs is compared.
    """
    sharing = draw(st.lists(programs, min_size=2, max_size=4, unique=True))
    least = 2 if judged == "judge" else 1
    owning = draw(
        st.lists(st.sampled_from(PROGRAMS), min_size=least, max_size=least + 2, unique=True)
    )
    steps = [draw(stores(program, is_shared=True)) for program in sharing]
    return [
        *steps,
        *(draw(stores(program, is_shared=False)) for program in owning),
        {"do": "propose"},
    ]


def only_once(steps: list[Json], judged: str) -> list[Json]:
    """Return the steps, in a history with rewrites without second ids for equal words."""
    if judged == "judge":
        return steps
    return [
        {**step, "lesson_id": "shared"} if step.get("lesson_id") == "again" else step
        for step in steps
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Json, datetime]]:
    """Return steps, each with its moment: a beginning, anything, and two runs."""
    judged = draw(st.sampled_from(("judge", "judge", "rewrite")))
    steps = only_once(draw(beginnings(judged)), judged)
    known: Known = {}
    for _ in range(draw(st.integers(4, 25) if judged == "rewrite" else st.integers(10, 40))):
        for step in steps:
            if step["do"] == "store":
                known[step["program"], step["lesson_id"]] = plain(step["text"])
        steps += only_once(draw(parts(known, judged)), judged)
    steps += [{"do": "propose"}, {"do": "propose"}]
    pauses = st.sampled_from(PAUSES if judged == "rewrite" else WORKING_PAUSES)
    return timed([(step, draw(pauses)) for step in steps])


def plain(text: str) -> str:
    """Return the text that this one spells otherwise."""
    everything = (SHARED, *(text for wordings in OWN.values() for text in wordings))
    return next(one for one in everything if words_of(one) == words_of(text))
