"""Which pairs a program is shown to judge, how often, with which hint, and which of its verdicts
count.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from fleet_memory.rules.lifecycle.decay import CLOCK_SKEW
from fleet_memory.rules.pairs import (
    has_answered,
    is_by_person,
    is_own,
    is_third,
    questions,
    takes_a_place,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Asked, Program

MAX_SHOWN: Final = 1024  # hashes of texts that a program was shown; Source: docs/consensus.md


def with_shown(program: Program, texts: Mapping[str, datetime]) -> Program:
    """Return the program after it was shown texts, by their hashes: the newest 1,024, each with its
    first time, and the time of the newest that was dropped.
    """
    shown = {**texts, **program.shown}
    if shown == program.shown:
        return program
    ordered = sorted(shown.items(), key=lambda item: (item[1], item[0]))
    dropped = [at for _, at in ordered[:-MAX_SHOWN]]
    known = program.shown_dropped_at
    return replace(
        program,
        shown=dict(ordered[-MAX_SHOWN:]),
        shown_dropped_at=max([*dropped, *([known] if known else [])], default=None),
    )


# Source of these limits: docs/consensus.md
MAX_SHOWN_PAIRS: Final = 3  # pairs to judge in one answer
MAX_SHOWINGS: Final = 3  # showings of a pair to a program; without an answer its side is silent
MAX_VERDICTS_PER_DAY: Final = 24  # of one program within 24 hours
SHOWN_FOR: Final = timedelta(days=30)  # a verdict counts for a pair that was shown so lately

# pairs that a program remembers it was shown; chosen: 24 it may be asked, and those of 30 days
MAX_ASKED: Final = 64
_ONE_SHOWING: Final = timedelta(
    hours=1
)  # a boot, its hook and the commit of a short session are one; chosen
_DAY: Final = timedelta(days=1)


class ChosenQuestions(NamedTuple):
    """The questions to a program. `ignored` are pairs that it was shown too often."""

    pairs: Sequence[Pair] = ()
    ignored: Sequence[Pair] = ()


def chosen_questions(
    program: Program,
    pairs: Iterable[Pair],
    now: datetime,
    *,
    any_pair: bool = False,
) -> ChosenQuestions:
    """Return the `pairs` to ask a program, in their order.

    A pair with a side of its own is asked until it answers; any other if it waits for a third
    program, or with `any_pair`, for a judge, if it waits for anybody.
    """
    waiting = [pair for pair in pairs if _waits_for(pair, program, any_pair=any_pair)]
    ignored = [pair for pair in waiting if _is_ignored(program, pair.pair_id, now)]
    left = [pair for pair in waiting if pair not in ignored]
    return ChosenQuestions(left, ignored)


def with_questions(program: Program, pairs: Sequence[Pair], now: datetime) -> Program:
    """Return the program after it was shown these pairs: their ids, and the texts of others by
    hash.

    It is the same object when nothing changed: all were shown within the hour.
    """
    ids = [pair.pair_id for pair in pairs]
    if not ids:
        return program
    own = {words for lesson in program.patterns.values() for words in lesson.texts}
    hashes = {text_hash(side.text) for pair in pairs for side in (pair.a, pair.b)}
    texts = dict.fromkeys(sorted(hashes - own), now)
    showings = {pair_id: _asked_again(program.asked.get(pair_id), now) for pair_id in ids}
    return with_asked(with_shown(program, texts) if texts else program, showings)


def with_next_pairs(program: Program, before: Pair | None, after: Pair) -> Program:
    """Return the program with its lessons of a pair that asks no side any more pending: their next
    best pairs follow.

    It is the same object where none did before, or one still does.
    """
    if before is None or not takes_a_place(before) or takes_a_place(after):
        return program
    own = [side for side in (after.a, after.b) if side.program_id == program.program_id]
    ids = [side.pattern_id for side in own if side.pattern_id in program.patterns]
    pending = tuple(dict.fromkeys((*program.pending, *ids)))
    return replace(program, pending=pending) if ids else program


def shown_pairs(program: Program, now: datetime) -> list[str]:
    """Return the ids of the pairs that a program's verdicts may be about: those shown lately."""
    return [pair_id for pair_id, asked in program.asked.items() if now - asked.at <= SHOWN_FOR]


def verdicts_left(program: Program, now: datetime) -> int:
    """Return how many verdicts of a program count until 24 hours after the oldest of its latest
    ones.

    Verdicts of a clock that ran ahead are not among them.
    """
    return MAX_VERDICTS_PER_DAY - sum(-CLOCK_SKEW <= now - at < _DAY for at in program.judged_at)


def with_verdict(program: Program, now: datetime) -> Program:
    """Return the program after one more verdict of its own."""
    return replace(program, judged_at=(*program.judged_at, now)[-MAX_VERDICTS_PER_DAY:])


def _waits_for(pair: Pair, program: Program, *, any_pair: bool) -> bool:
    asked = questions(pair)
    if has_answered(pair, program.program_id) or is_by_person(pair) or pair.steering:
        return False
    if is_own(pair, program):
        return pair.state == "open" or bool(asked.programs)
    if any_pair:
        return pair.state == "open"
    return asked.third and is_third(pair, program.program_id)


def _is_ignored(program: Program, pair_id: str, now: datetime) -> bool:
    asked = program.asked.get(pair_id)
    return asked is not None and asked.times >= MAX_SHOWINGS and not _goes_on(asked, now)


def with_asked(program: Program, showings: Mapping[str, Asked]) -> Program:
    """Return the program after these showings of pairs, by their ids: the newest 64."""
    asked = {**program.asked, **showings}
    if asked == program.asked:
        return program
    newest = sorted(asked.items(), key=lambda item: (item[1].at, item[0]))[-MAX_ASKED:]
    return replace(program, asked=dict(newest))


def _goes_on(asked: Asked, now: datetime) -> bool:
    """Whether the last showing goes on, but for one of a clock that ran ahead: it is over."""
    return -CLOCK_SKEW <= now - asked.at <= _ONE_SHOWING


def _asked_again(before: Asked | None, now: datetime) -> Asked:
    """Return the showings of a pair with one of now; it goes on for an hour from when it began."""
    if before is not None and _goes_on(before, now):
        return before
    return Asked(times=1 + (before.times if before else 0), at=now)


PEOPLE_JUDGE: Final = "pairId: in this fleet people judge pairs (fleet-memory review)"

_MIN_START_CHARS: Final = 6  # characters of a pair's id that stand for it


def refusal(
    pair: Pair,
    judging: Program | None,
    now: datetime,
    *,
    is_repeated: bool = False,
    by_role: bool = False,
) -> str:
    """Return why a verdict about a pair is refused, "" for one that counts.

    `judging` is the program that judges, None for a configured model. `is_repeated`: it has given
    this verdict before. `by_role`: it has the role `judge`, and counts as asked.
    """
    # First, because the other refusals describe the pair.
    if judging is not None and not is_repeated:
        name, shown = judging.program_id, shown_pairs(judging, now)
        if not by_role and pair.pair_id not in shown:
            return no_pair(pair.pair_id, name, shown)
        if not verdicts_left(judging, now):
            return f"verdicts: {name} gave {MAX_VERDICTS_PER_DAY} within 24 hours; go on tomorrow"
    if is_by_person(pair):
        return (
            f"pairId: a person has judged {pair.pair_id!r} ({pair.state}); nothing is left to say"
        )
    if pair.steering:
        return (
            f"pairId: people alone judge {pair.pair_id!r}, because one of its texts gives its "
            f"judge orders: {pair.steering}"
        )
    return ""


def no_pair(pair_id: str, agent: str | None, shown: Sequence[str] = ()) -> str:
    """Return why there is no pair to judge; an agent learns nothing about those that it was not
    `shown`.
    """
    if agent is None:
        return f"pairId: there is no pair {pair_id!r}"
    near = [each for each in shown if len(pair_id) >= _MIN_START_CHARS and each.startswith(pair_id)]
    return (
        f"pairId: {pair_id!r} is not among the pairs shown to {agent} within {SHOWN_FOR.days} "
        "days; " + (f"did you mean {near[0]}?" if near else "judge those in your toJudge")
    )


# A hint for the judge

_FIGURE: Final = re.compile(r"\d[\d.,:_]*")
_LETTERS: Final = re.compile(r"[a-z]+")
_NEGATIONS: Final = frozenset(
    ("not", "never", "no", "none", "nothing", "nor", "without", "avoid", "forbid", "forbidden")
)


def differs(a: str, b: str) -> Literal["figures", "negation"] | None:
    """Return in what two texts differ: `differs("Retry 3 times", "Retry 30 times") == "figures"`.

    Both have a figure that the other lacks, or one has an odd number of negations. It decides
    nothing, and is often wrong about words. English only.
    """
    one, other = ({each.rstrip(".,:_") for each in _FIGURE.findall(text)} for text in (a, b))
    if one - other and other - one:
        return "figures"
    return "negation" if _denies(a) != _denies(b) else None


def _denies(text: str) -> bool:
    plain = text.lower().replace("\u2019", "'").replace("n't", " not").replace("cannot", "not")
    return sum(word in _NEGATIONS for word in _LETTERS.findall(plain)) % 2 == 1
