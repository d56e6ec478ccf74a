"""The verdict of a pair's judges, and who is asked next. Source: docs/consensus.md."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from fleet_memory.rules.knowledge.votes import (
    Testimony,
    independent_origins,
    is_one_origin,
    of_other_origins,
    same_program,
)
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair, PairState, Side

MAX_THIRD_PROGRAMS: Final = (
    2  # programs without a lesson in a pair that judge it before it is left to people; chosen
)
ANSWER_WITHIN: Final = timedelta(
    days=14
)  # of the other side's answer; after that a side counts as unsure. Chosen
UNANSWERED: Final = f"no answer within {ANSWER_WITHIN.days} days"


class Ruling(NamedTuple):
    """The state that a pair's judgements give it; `sure` when a "same" hangs on no single judge."""

    state: PairState
    sure: bool = True


class Questions(NamedTuple):
    """Who is asked about a pair now.

    `programs` have a side of it. `third`: any program that `is_third`; the next to commit a
    session. `people`: no program is left to ask. All are empty for a pair that is settled.
    """

    programs: tuple[str, ...] = ()
    third: bool = False
    people: bool = False


def is_for_people(pair: Pair) -> bool:
    """Whether people alone judge a pair: one of its texts gives its judge orders."""
    return bool(pair.steering)


def ruling(pair: Pair) -> Ruling:
    """Return the state that follows from a pair's judgements.

    A person's verdict is the last word, and the only one about a text that gives its judge orders.
    One judge's `same` is enough, and not sure. Otherwise the majority decides, and a tie leaves the
    pair open. A program and those below it are one judge; so are all callers of the role `judge`,
    whose `contradict` alone decides nothing.
    """
    persons = [
        judgement
        for judgement in pair.judgements
        if judgement.program_id is None and judgement.verdict != "unsure"
    ]
    if persons:
        return Ruling(_as_state(persons[-1]))
    if is_for_people(pair):
        return Ruling("open")
    voices = _voices(pair)
    same = [voice for voice in voices if voice.verdict == "same"]
    others = [voice for voice in voices if voice.verdict != "same"]
    sames, against = _judges(same), _judges(others)
    if against > sames:
        return Ruling(_contrary(others))
    if sames == against:
        return Ruling("open")
    return Ruling("same", sure=sames > 1)


def with_judgement(pair: Pair, judgement: Judgement) -> Pair:
    """Return the pair after a verdict; a judge's later verdict replaces its earlier one.

    Verdicts of several names over one unbound connection are one verdict, as are those of one
    program; it is a contributor's if one of them was.
    """
    others = tuple(earlier for earlier in pair.judgements if not _is_one_voice(earlier, judgement))
    replaced = [earlier for earlier in pair.judgements if earlier not in others]
    names = (
        *judgement.also,
        *(
            name
            for earlier in replaced
            for name in _names(earlier)
            if name not in _names(judgement)
        ),
    )
    contributed = judgement.contributed or any(earlier.contributed for earlier in replaced)
    judged = replace(
        pair,
        judgements=(
            *others,
            replace(judgement, also=tuple(dict.fromkeys(names)), contributed=contributed),
        ),
    )
    by_person = any(
        judgement.program_id is None and judgement.verdict != "unsure"
        for judgement in judged.judgements
    )
    return replace(judged, state=ruling(judged).state, by_person=by_person)


def questions(pair: Pair) -> Questions:
    """Return who is asked about a pair now: first the programs of its sides, then a third, at last
    people.

    A `same` of one judge is asked of the other side too, and so is a single `different` about a
    `likely` pair or one that callers of the role `judge` contradict. A third program is asked where
    the sides leave a pair undecided; people are where the fleet has none.
    """
    if pair.state == "gone" or pair.by_person:
        return Questions()
    result = ruling(pair)
    if is_for_people(pair):
        return Questions(people=True)
    if (result.state == "same" and result.sure) or result.state == "contradict":
        return Questions()
    sides = tuple(name for name in _programs(pair) if not has_judged(pair, name))
    if result.state == "different":
        voices = _voices(pair)
        contradicted = any(
            voice.verdict == "contradict" for voice in voices
        )  # by the role `judge` alone
        return Questions(sides if contradicted or (pair.likely and _judges(voices) == 1) else ())
    limit = MAX_THIRD_PROGRAMS if pair.thirds is None else pair.thirds
    third = not sides and len(_third_programs(pair)) < limit
    return Questions(sides, third, people=not sides and not third)


def with_thirds(pair: Pair, programs: Set[str], contributors: Mapping[str, Set[str]]) -> Pair:
    """Return the pair with the number of programs that can judge it, or have, as a third
    (`is_third`).

    None can that is one origin with a program with a lesson in its entries. `programs` are those of
    the fleet, and `contributors` those with a lesson in an entry by its key, all named as programs
    are compared. It is the same object when the number has not changed.
    """
    judged = _third_programs(pair)
    known = {
        *map(same_program, _programs(pair)),
        *(name for judgement in pair.judgements for name in _names(judgement)),
    }
    known |= {name for side in (pair.a, pair.b) for name in contributors.get(side.key or "", ())}
    free = islice(of_other_origins(programs, known), MAX_THIRD_PROGRAMS)
    count = len(judged) + sum(1 for _ in free)
    thirds = count if count < MAX_THIRD_PROGRAMS else None
    return pair if thirds == pair.thirds else replace(pair, thirds=thirds)


def with_unanswered(pair: Pair, now: datetime) -> Pair:
    """Return the pair with `unsure` for the side that has not answered within 14 days of the
    other's answer.

    It is the same object where no answer is overdue; a pair that neither side has answered waits.
    """
    answered = [
        judgement.at
        for judgement in pair.judgements
        if judgement.program_id and is_own(pair, judgement.program_id)
    ]
    if not answered or now - max(pair.opened_at, *answered) < ANSWER_WITHIN:
        return pair
    for name in questions(pair).programs:
        unsure = Judgement(
            verdict="unsure", program_id=name, at=now, reason=UNANSWERED, contributed=True
        )
        pair = with_judgement(pair, unsure)
    return pair


def has_judged(pair: Pair, program_id: str) -> bool:
    """Whether a program has given its verdict about a pair, `unsure` too."""
    name = same_program(program_id)
    return any(name in _names(judgement) for judgement in pair.judgements)


def judgement_of(pair: Pair, program_id: str, connection: str | None) -> Judgement | None:
    """Return the verdict of a program's voice about a pair: its own, or the one that replaced
    it.
    """
    name = same_program(program_id)
    over_one = (
        judgement
        for judgement in pair.judgements
        if connection is not None and judgement.connection == connection
    )
    return next(
        (judgement for judgement in pair.judgements if name in _names(judgement)),
        next(over_one, None),
    )


def is_own(pair: Pair, program_id: str) -> bool:
    """Whether one side of a pair is a program's: its lesson, or an entry that it is asked about."""
    name = same_program(program_id)
    return any(same_program(side.program_id) == name for side in (pair.a, pair.b))


def is_third(pair: Pair, program_id: str) -> bool:
    """Whether a program can judge a pair as a third: it is one origin with no side, and with no
    judge until now.
    """
    names = (
        *_programs(pair),
        *(name for judgement in pair.judgements for name in _names(judgement)),
    )
    return not any(is_one_origin(program_id, name) for name in names)


def sides_of(pair: Pair, program_id: str) -> tuple[Side, Side]:
    """Return a pair's sides with the program's own first."""
    name = same_program(program_id)
    return (pair.a, pair.b) if same_program(pair.a.program_id) == name else (pair.b, pair.a)


def _programs(pair: Pair) -> tuple[str, ...]:
    return tuple(dict.fromkeys(side.program_id for side in (pair.a, pair.b) if side.program_id))


def _voices(pair: Pair) -> list[Judgement]:
    return [judgement for judgement in pair.judgements if judgement.verdict != "unsure"]


def _judges(voices: Iterable[Judgement]) -> int:
    """Count the independent judges; all of the role `judge` are one: one person may have made their
    tokens.
    """
    return independent_origins(
        Testimony(voice.program_id or "", "role" if voice.by_role else None) for voice in voices
    )


def _contrary(others: Sequence[Judgement]) -> PairState:
    """Return the state that a majority of contrary voices gives a pair.

    A `contradict` of the role `judge` is no word against an entry; if it closed the pair, no author
    would be asked.
    """
    contradicting = [voice for voice in others if voice.verdict == "contradict"]
    if not contradicting:
        return "different"
    if any(not voice.by_role for voice in contradicting):
        return "contradict"
    return "open" if all(voice.by_role for voice in others) else "different"


def _third_programs(pair: Pair) -> set[str]:
    """Return the judges of a pair that are one origin with no side, as they are compared.

    A model is none, and a caller of the role `judge` takes no third program's place.
    """
    own = {same_program(name) for name in (*_programs(pair), MODEL_NAME)}
    judges = (judgement for judgement in pair.judgements if not judgement.by_role)
    return set(of_other_origins((name for judgement in judges for name in _names(judgement)), own))


def _as_state(judgement: Judgement) -> PairState:
    match judgement.verdict:
        case "same" | "different" | "contradict":
            return judgement.verdict
        case "unsure":
            return "open"


def _names(judgement: Judgement) -> tuple[str, ...]:
    """Return the programs that have judged with this voice, as programs are compared; none for a
    person.
    """
    return (
        *((same_program(judgement.program_id),) if judgement.program_id else ()),
        *judgement.also,
    )


def _is_one_voice(one: Judgement, other: Judgement) -> bool:
    if one.program_id is None or other.program_id is None:
        return one.program_id == other.program_id
    over_one = one.connection is not None and one.connection == other.connection
    return over_one or same_program(one.program_id) == same_program(other.program_id)
