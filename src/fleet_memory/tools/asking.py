"""The pairs that a program is asked about, and the record that it was shown them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.pairs import VersionedPair
from fleet_memory.repositories.programs import VersionedChange
from fleet_memory.rules.asking import (
    MAX_SHOWN_PAIRS,
    ChosenQuestions,
    chosen_questions,
    first_of_each_lesson,
    rewrite_pair_id,
    with_next_pairs,
    with_questions,
)
from fleet_memory.rules.lifecycle.stamping import ProgramChange, stamped
from fleet_memory.rules.pairs import with_judgement
from fleet_memory.rules.retrieval.budget import size
from fleet_memory.schemas.answers.common import ToJudge
from fleet_memory.schemas.pairs import Judgement, Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.views.consolidation import rewrite_to_judge, to_judge_answer

MAX_THIRD_PAIRS: Final = (
    12  # pairs that wait for a third program and are read to find some for this one; chosen
)
MAX_JUDGE_PAIRS: Final = (
    12  # of each kind that are read to find 3 for a judge; chosen, as for a third program
)
BOOT_SHARE: Final = 0.2  # of a boot; chosen, so that lessons stay the most of it
IGNORED: Final = "shown three times without an answer"


class AskedPairs(NamedTuple):
    """The pairs that may be shown to a program, as they were read, the likeliest first; `any_pair`
    to a judge.
    """

    versioned: Sequence[VersionedPair] = ()
    any_pair: bool = False

    @property
    def pairs(self) -> list[Pair]:
        """The pairs alone."""
        return [versioned.pair for versioned in self.versioned if versioned.pair is not None]


async def asked_pairs(
    fleet: Fleet,
    program_id: str,
    policy: Policy,
    *,
    answered: Collection[str] = (),
    third: bool = False,
) -> AskedPairs:
    """Return the pairs with a side of a program, and with `third` those that wait for a program
    without one.

    A judge's are of any program. None where people judge. `answered` are the ids of pairs that this
    call judges. Billed 2 queries, and 2 for `third` unless enough pairs are its own.
    """
    if policy.judging == "people":
        return AskedPairs()
    if fleet.caller.is_judge:
        turn = fleet.now().isoformat()
        return AskedPairs(
            await fleet.pairs.open_to_judge(program_id, turn, MAX_JUDGE_PAIRS), any_pair=True
        )
    own = await fleet.pairs.asked_of(program_id)
    open_pairs = (
        versioned.pair
        for versioned in own
        if versioned.pair is not None and versioned.pair_id not in answered
    )
    if not third or len(first_of_each_lesson(open_pairs, program_id)) >= MAX_SHOWN_PAIRS:
        return AskedPairs(own)
    known = {
        versioned.pair_id for versioned in own
    }  # a side may be asked, and at once a third program
    others = await fleet.pairs.asking_third(program_id, fleet.now().isoformat(), MAX_THIRD_PAIRS)
    return AskedPairs([*own, *(other for other in others if other.pair_id not in known)])


def to_judge_answers(program: Program, chosen: ChosenQuestions) -> list[ToJudge]:
    """Return the questions as the program sees them."""
    return [
        *(rewrite_to_judge(rewrite, rewrite_pair_id(rewrite) or "") for rewrite in chosen.rewrites),
        *(to_judge_answer(pair, program.program_id, program.patterns) for pair in chosen.pairs),
    ]


def fitting_questions(
    program: Program, asked: AskedPairs, max_tokens: int, now: datetime
) -> ChosenQuestions:
    """Return the questions of a boot: at most 3, those that fit into a fifth of an answer of so
    many tokens.

    None for a program that does not exist, though pairs of its name may be left: a boot creates no
    program. A judge stores nothing, and is asked all the same.
    """
    if not (program.exists or asked.any_pair):
        return ChosenQuestions()
    room = int(max_tokens * 4 * BOOT_SHARE)  # a token is 4 bytes
    every = chosen_questions(
        program, asked.pairs, now, limit=len(asked.pairs) + 1, any_pair=asked.any_pair
    )
    each = [
        *(ChosenQuestions(rewrites=[rewrite]) for rewrite in every.rewrites),
        *(ChosenQuestions(pairs=[pair]) for pair in every.pairs),
    ]
    fitting: list[ChosenQuestions] = []
    for question in each:
        (answer,) = to_judge_answers(program, question)
        if len(fitting) < MAX_SHOWN_PAIRS and size(answer.wire()) <= room:
            room -= size(answer.wire())
            fitting.append(question)
    return ChosenQuestions(
        [rewrite for question in fitting for rewrite in question.rewrites],
        [pair for question in fitting for pair in question.pairs],
        every.ignored,
    )


async def leave_ignored(
    fleet: Fleet, program_id: str, asked: AskedPairs, chosen: ChosenQuestions
) -> None:
    """Note `unsure` for the pairs that a program was shown too often; their lessons' next best
    pairs follow.

    Billed 2 reads and at most 3 writes each, seldom any.
    """
    ids = {pair.pair_id for pair in chosen.ignored}
    for versioned in asked.versioned:
        if versioned.pair is not None and versioned.pair_id in ids:
            try:
                await _leave(fleet, program_id, versioned, versioned.pair)
            except ConflictError:  # somebody judges it at this moment; the next call looks again
                continue


async def _leave(fleet: Fleet, program_id: str, versioned: VersionedPair, pair: Pair) -> None:
    now, by_role = fleet.now(), fleet.caller.is_judge
    unsure = Judgement(
        verdict="unsure", program_id=program_id, at=now, reason=IGNORED, by_role=by_role
    )
    left = with_judgement(pair, unsure)
    names = {side.program_id for side in (pair.a, pair.b) if side.key is None}
    programs = await fleet.programs.read_versioned(*sorted(names)) if names else []
    changes = [
        VersionedChange(
            versioned,
            stamped(versioned.program, with_next_pairs(versioned.program, pair, left), now),
        )
        for versioned in programs
    ]
    await fleet.programs.commit(changes, [fleet.pairs.write(versioned, left)])


async def pairs_to_judge(
    fleet: Fleet, program_id: str | None, limit: int, policy: Policy
) -> list[ToJudge]:
    """Return the pairs that a program should judge, an own rewrite first, and remember that it was
    shown them.

    None without a program. Where people judge, its own rewrites alone. Billed 1 read, 2 queries,
    and 1 write when one is shown.
    """
    if program_id is None or not limit:
        return []
    program = await fleet.programs.read(program_id)
    if not (program.exists or fleet.caller.is_judge):
        return []
    asked = await asked_pairs(fleet, program_id, policy)
    now = fleet.now()
    chosen = chosen_questions(program, asked.pairs, now, limit=limit, any_pair=asked.any_pair)
    await leave_ignored(fleet, program_id, asked, chosen)
    if chosen.pairs or chosen.rewrites:
        show = partial(with_questions, chosen=chosen, now=now)
        await fleet.programs.update(program_id, lambda program: ProgramChange(show(program)), now)
    return to_judge_answers(program, chosen)
