"""What each rule of docs/consensus.md changes: every rule is switched off in turn, and the public
stories, the launderings and the histories of tests/law_histories.py are played without it.

    PYTHONPATH=. python benchmarks/rules_off.py [PART OF A NAME ...]

Prints a row a rule: the new counts of the stories that change (all agents honest, with the
questions; the first agent of the second story contrary, and careless), the launderings that end
otherwise, and the histories that no longer end as wanted, by number.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import anyio
import pytest
from laundering import SCENARIOS, outcome
from laundering_scenario import Scenario
from sets import FOLDER
from stories import Run, told
from story import read_story
from story_counts import Counts

from fleet_memory.rules import entries, pairs
from fleet_memory.rules.pairs import Voice
from fleet_memory.schemas.knowledge import Contribution, Entry
from fleet_memory.schemas.pairs import Pair, PairState
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.similarity.minilm import MiniLM
from tests.law_histories import HISTORIES as OF_ENTRIES
from tests.law_histories_of_readers import HISTORIES as OF_READERS
from tests.law_steps import History, orders
from tests.law_worlds import WORLDS

PACKAGE: Final = "fleet_memory"
MANY: Final = 100_000
LONG: Final = timedelta(days=MANY)
LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
MAX_ORDERS: Final = 3  # of a history that are played; the suite plays all
SHOWN: Final = ("published", "contested", "ever_wrong_fresh", "ever_wrong")
# as they are, for those that take their place
_answer, _ruling, _voices = pairs._answer, pairs.ruling, pairs.voices
_read, _published = entries.could_have_read, entries._published
_suffices, _of_lessons = entries.Standing.suffices, entries._marks_of_lessons
_of_word, _of = entries._marks_of_word, entries._marks_of


def first_decides(pair: Pair, heard: Sequence[Voice]) -> list[pairs._Answer | None]:
    """Ask the other author no more once one has answered."""
    answers = [_answer(pair, name, heard) for name in pairs.SIDES]
    return [each or "silent" for each in answers] if any(answers) else answers


def one_is_enough(pair: Pair) -> PairState:
    """Let one author's `same` hold where nobody says otherwise."""
    said = {voice.verdict for voice in _voices(pair) if voice.verdict != "unsure"}
    state = _ruling(pair)
    return "same" if state == "open" and said == {"same"} and not pair.steering else state


def milder(pair: Pair) -> Sequence[Voice]:
    """Take every `contradict` for `different`."""
    heard = _voices(pair)
    return [
        each._replace(verdict="different") if each.verdict == "contradict" else each
        for each in heard
    ]


def not_stored_then(entry: Entry, line: Contribution, program: Program | None) -> str:
    """Forget when a lesson was stored."""
    why = _read(entry, replace(line, stored_at=LONG_AGO), None)
    return why or _read(replace(entry, publications=()), line, program)


def not_read(entry: Entry, line: Contribution, program: Program | None) -> str:
    """Forget which knowledge a program had read."""
    return _read(entry, replace(line, read_first=None, read_last=None), program)


def not_dropped(entry: Entry, line: Contribution, program: Program | None) -> str:
    """Forget that showings were forgotten."""
    return _read(entry, line, program and replace(program, shown_dropped_at=None))


def under_newest(entry: Entry, policy: Policy, now: datetime) -> Entry:
    """Withdraw what the present policy would not publish."""
    return _published(entries.withdrawn_by_policy(entry, policy, now), policy, now)


def unmarked(mark: str) -> Mapping[str, object]:
    """Return the functions of marks without those that begin with `mark`."""

    def less(marks: Collection[str]) -> set[str]:
        return {each for each in marks if not each.startswith(mark)}

    return {
        "_marks_of_lessons": lambda lines, entry: [*map(less, _of_lessons(lines, entry))],
        "_marks_of_word": lambda word, lines: less(_of_word(word, lines)),
        "_marks_of": lambda name, session: less(_of(name, session)),
    }


def margin(least: float) -> Mapping[str, object]:
    """Return the least margin of a pair in place of MiniLM's."""
    return {"MiniLM.profile": replace(MiniLM.profile, review=least)}


class EveryPair(list[str]):
    """The pairs that a program was shown, where it was shown every pair."""

    def __contains__(self, _: object) -> bool:
        return True


RULES: Final[Mapping[str, Mapping[str, object]]] = {
    "both authors are asked": {"_answers": first_decides},
    "one author's `same` is not enough": {"ruling": one_is_enough},
    "after a `different` the other author is asked from margin .50: never": {"LIKELY_MARGIN": 2.0},
    "the same: always": {"LIKELY_MARGIN": 0.0},
    "an author's `contradict` holds": {"voices": milder},
    "third programs decide where authors disagree": {"MAX_THIRD_PROGRAMS": 0},
    "silent after 14 days": {"ANSWER_WITHIN": LONG},
    "silent after three showings": {"MAX_SHOWINGS": MANY},
    "only who was shown a pair answers": {"shown_pairs": lambda *_: EveryPair()},
    "24 verdicts a day": {"verdicts_left": lambda *_: MANY},
    "a closed pair makes room for the next": {"with_next_pairs": lambda program, *_: program},
    "least margin .20: .15": margin(0.15),
    "least margin .20: .25": margin(0.25),
    "three partners a lesson: 8": {"MAX_PARTNERS": 8},
    "three open pairs a lesson": {"MAX_OPEN_PER_LESSON": MANY},
    "12 open pairs a program": {"MAX_OPEN_PER_PROGRAM": MANY},
    "projects stay apart": {
        "may_meet": lambda *_: True,
        "Comparison._may_meet": lambda self, ones, others: self.words[ones] != self.words[others],
    },
    "texts with orders wait for people": {"lesson_steering": lambda *_: None},
    "the better text is the entry's": {"better_text": lambda found: next(iter(found))},
    "two entries are read as one": {"read_as_one": lambda two, _: two},
    "joined at once, in order of time": {"in_order_of_time": list},
    "a lesson brings its newest word": {"_with_own_word": lambda entry, *_: entry},
    "who could have read it confirms": {"could_have_read": lambda *_: ""},
    "... stored while it was published": {"could_have_read": not_stored_then},
    "... had read knowledge": {"could_have_read": not_read},
    "... had been shown it": {"could_have_read": lambda entry, line, _: _read(entry, line, None)},
    "... shown too long ago": {"could_have_read": not_dropped},
    "one origin: program and subagents": {"origin_of": entries.same_program},
    "one origin: names in one form": {"same_program": str},
    "one origin: session": unmarked("session "),
    "one origin: unbound connection": unmarked("connection "),
    "one origin: connection of verdicts": {
        "_marks": lambda each: {f"program {entries.origin_of(each.program_id)}"}
    },
    "one origin: imported": unmarked("imported"),
    "one origin: equal words and evidence": unmarked("copy "),
    "evidence of three words says nothing": {"MAX_COMMON_WORDS": 0},
    "`tried`: a lesson and one confirmation": {
        "Standing.suffices": lambda counts, threshold, _: _suffices(counts, threshold, 0)
    },
    "fewer than three origins: verify": {"MIN_ORIGINS": 0},
    "180 days without a word: verify": {"VERIFY_AFTER": LONG},
    "two contradict: retired": {"RETIRE_FROM": MANY},
    "two confirmations answer a contradiction": {"CONFIRM_FROM": MANY},
    "a fourth contradiction a day waits": {"MAX_CONTRADICTIONS_A_DAY": MANY},
    "an entry keeps its threshold": {"_published": under_newest},
    "`differs` is a hint": {"differs": lambda *_: None},
}


@contextmanager
def switched_off(off: Mapping[str, object]) -> Iterator[int]:
    """Put values in the place of functions and constants in each module that has them; yield how
    many places.
    """
    places: list[tuple[object, str, object, object]] = []
    modules = [sys.modules[name] for name in sorted(sys.modules) if name.startswith(PACKAGE)]
    modules.sort(key=lambda each: not each.__name__.startswith(f"{PACKAGE}.rules"))
    for name, value in off.items():
        owner, _, attribute = name.rpartition(".")
        having = [each for each in modules if (owner or attribute) in vars(each)]
        if not having:
            raise LookupError(f"{PACKAGE} has no {name}")
        known = vars(having[0])[owner or attribute]
        having = [each for each in having if vars(each)[owner or attribute] is known]
        owners = [vars(having[0])[owner]] if owner else having
        places += [(each, attribute, vars(each)[attribute], value) for each in owners]
    try:
        for place, attribute, _, value in places:
            setattr(place, attribute, value)
        yield len(places)
    finally:
        for place, attribute, value, _ in places:
            setattr(place, attribute, value)


class Found(NamedTuple):
    """What the stories, the launderings and the histories come to under some rules."""

    counts: Mapping[str, Counts]
    outcomes: Mapping[str, tuple[str, str]]
    failed: frozenset[int]


async def found() -> Found:
    """Play everything."""
    stories = [read_story(path) for path in sorted((FOLDER / "stories").glob("*.json"))]
    name = stories[1].names[0]
    embedder = MiniLM()
    honest = [(await told(Run(story), embedder)).counts for story in stories]
    contrary = await told(Run(stories[1], contrary=name), embedder)
    careless = await told(Run(stories[1], contrary=name, is_careless=True), embedder)
    counts = {"": reduce(add, honest), "contrary": contrary.counts, "careless": careless.counts}
    outcomes = {each.name: await endings(each) for each in SCENARIOS}
    failed = [each.number for each in (*OF_ENTRIES, *OF_READERS) if not await ends(each)]
    return Found(counts, outcomes, frozenset(failed))


async def endings(scenario: Scenario) -> tuple[str, str]:
    """Return how a laundering and its honest twin end; "?" for one that cannot be played."""
    told = []
    for honest in (False, True):
        try:
            told.append(await outcome(scenario, honest=honest))
        except Exception:  # noqa: BLE001  # whatever it is, it ends otherwise without the rule
            told.append("?")
    return told[0], told[1]


async def ends(history: History) -> bool:
    """Whether a history ends as wanted on the package, in its first orders."""
    for steps, _ in zip(orders(history), range(MAX_ORDERS), strict=False):
        with TemporaryDirectory() as folder:
            try:
                async with WORLDS["fleet"](history.near, Path(folder)) as world:
                    await world.set_policy(history.policy)
                    for step in steps:
                        await step.happen(world)
                    await history.end(world)
            except (Exception, pytest.fail.Exception):  # noqa: BLE001  # it does not end as wanted
                return False
    return True


def differences(before: Found, after: Found) -> tuple[str, str, str]:
    """Return what is other in the stories, the launderings and the histories, "" for nothing."""
    told = []
    for who, counts in before.counts.items():
        one, other = asdict(counts), asdict(after.counts[who])
        names = SHOWN if who else (*SHOWN, "questions")
        changed = [name for name in names if one[name] != other[name]]
        changes = [f"{name.replace('_', ' ')} {other[name]}" for name in changed]
        told += [" ".join([f"{who}:"] * bool(who) + [", ".join(changes)])] if changes else []
    other_ends = [name for name, pair in before.outcomes.items() if after.outcomes[name] != pair]
    named = "; ".join(other_ends[:1]) + (f"; {len(other_ends) - 1} more" if other_ends[1:] else "")
    rows = ", ".join(map(str, sorted(after.failed - before.failed)))
    return "; ".join(told), named, rows


def main() -> None:
    """Print the table."""
    before = anyio.run(found)
    print("| rule | off: stories | off: launderings | histories |\n| --- | --- | --- | --- |")
    for name, off in RULES.items():
        if not sys.argv[1:] or any(part in name for part in sys.argv[1:]):
            with switched_off(off):
                after = anyio.run(found)
            print(f"| {name} | {' | '.join(differences(before, after))} |", flush=True)


if __name__ == "__main__":
    main()
