"""The verdict of a pair's judges: open, the same, different or contradicting. Source: docs/consensus.md."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from fleet_memory.rules.knowledge.votes import same_program
from fleet_memory.schemas.pairs import Judgement, Pair, PairState, Side


class Ruling(NamedTuple):
    """The state that a pair's judgements give it; `sure` when a "same" hangs on no single judge."""

    state: PairState
    sure: bool = True


def ruling(pair: Pair) -> Ruling:
    """Return the state that follows from a pair's judgements.

    A person's verdict is the last word. One judge's `same` is enough, and not sure, unless something objects: then it
    takes two, of whom one has no lesson in it. Otherwise the majority decides, and a tie leaves the pair open.
    """
    persons = [one for one in pair.judgements if one.program_id is None and one.verdict != "unsure"]
    if persons:
        return Ruling(_as_state(persons[-1]))
    voices = [one for one in pair.judgements if one.verdict != "unsure"]
    same = [one for one in voices if one.verdict == "same"]
    others = [one for one in voices if one.verdict != "same"]
    if len(others) > len(same):
        return Ruling("contradict" if any(one.verdict == "contradict" for one in others) else "different")
    if len(same) == len(others):
        return Ruling("open")
    if pair.objection and (len(same) < 2 or all(one.contributed for one in same)):
        return Ruling("open")
    return Ruling("same", sure=len(same) > 1)


def with_judgement(pair: Pair, judgement: Judgement) -> Pair:
    """Return the pair after a verdict; a judge's later verdict replaces its earlier one.

    Verdicts of several names over one unbound connection are one verdict, as are those of one program.
    """
    others = tuple(one for one in pair.judgements if not _is_one_voice(one, judgement))
    replaced = [name for one in pair.judgements if one not in others for name in _names(one)]
    also = tuple(dict.fromkeys(name for name in replaced if name not in _names(judgement)))
    judged = replace(pair, judgements=(*others, replace(judgement, also=also)))
    by_person = any(one.program_id is None and one.verdict != "unsure" for one in judged.judgements)
    return replace(judged, state=ruling(judged).state, by_person=by_person)


def is_asked(pair: Pair, program_id: str) -> bool:
    """Whether a pair waits for this program's verdict: one side is its own, and it has not judged yet."""
    name = same_program(program_id)
    mine = any(same_program(side.program_id) == name for side in (pair.a, pair.b))
    return mine and not any(name in _names(one) for one in pair.judgements)


def asked(pair: Pair) -> Sequence[str]:
    """Return the programs that are still asked about a pair: none once it is closed, or sure.

    A `same` of one judge is asked of the other side too.
    """
    result = ruling(pair)
    if pair.state == "gone" or pair.by_person or result.state in ("different", "contradict"):
        return ()
    if result.state == "same" and result.sure:
        return ()
    names = {side.program_id: None for side in (pair.a, pair.b) if side.program_id}
    return [name for name in names if is_asked(pair, name)]


def sides_of(pair: Pair, program_id: str) -> tuple[Side, Side]:
    """Return a pair's sides with the program's own first."""
    name = same_program(program_id)
    return (pair.a, pair.b) if same_program(pair.a.program_id) == name else (pair.b, pair.a)


def _as_state(judgement: Judgement) -> PairState:
    match judgement.verdict:
        case "same" | "different" | "contradict":
            return judgement.verdict
        case "unsure":
            return "open"


def _names(judgement: Judgement) -> tuple[str, ...]:
    """Return the programs that have judged with this voice, as programs are compared; none for a person."""
    return (*((same_program(judgement.program_id),) if judgement.program_id else ()), *judgement.also)


def _is_one_voice(one: Judgement, other: Judgement) -> bool:
    if one.program_id is None or other.program_id is None:
        return one.program_id == other.program_id
    over_one = one.connection is not None and one.connection == other.connection
    return over_one or same_program(one.program_id) == same_program(other.program_id)
