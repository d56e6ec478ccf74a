"""`fleet-memory review`: judge pairs of lessons that may be the same."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias, get_args

from fleet_memory.cli.existing import with_memory
from fleet_memory.cli.printing import (
    add_limit_flag,
    print_answer,
    print_json,
    say,
    with_omitted,
)
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import judge_pair
from fleet_memory.jobs.judging import Judged
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.rules.health import MIN_PROGRAMS_OF_A_THIRD
from fleet_memory.rules.pairs import UNANSWERED, Questions, questions
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.differing import differs
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, NewVerdict, Pair, Verdict
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.settings import Settings

_FIELDS: Final = (
    "pairId",
    "a",
    "b",
    "state",
    "cosine",
    "steering",
    "openedAt",
)  # as they are; the others do not help a judge


class WaitingPair(NamedTuple):
    """A pair that somebody is asked about."""

    pair: Pair
    asked: Questions

    @property
    def waits_for(self) -> str:
        """Who is asked, e.g. "people", "a third program", "basher and iso"."""
        if self.asked.people:
            return "people"
        return " and ".join(
            [*self.asked.programs, *(["a third program"] if self.asked.third else [])]
        )


async def waiting_pairs(fleet: Fleet) -> list[WaitingPair]:
    """Return the pairs that wait: for people alone first, then for a third program; of each the
    likeliest first.

    Where people judge all of them wait for people, and so do those for a third program where there
    is none. Billed 1 read for each pair, and 1 sum. Raises ForbiddenError unless the caller may
    curate.
    """
    fleet.caller.require_curation()
    pairs = await fleet.pairs.waiting()
    people_judge = (await fleet.policies.read(fleet.now())).judging == "people"
    has_third = await fleet.programs.count() >= MIN_PROGRAMS_OF_A_THIRD
    waiting: list[WaitingPair] = []
    for pair in pairs:
        asked = questions(pair)
        nobody = people_judge or (asked.third and not has_third)
        waiting.append(WaitingPair(pair, Questions(people=True) if nobody else asked))
    return sorted(
        waiting,
        key=lambda each: (
            0 if each.asked.people else 1 if each.asked.third else 2,
            -each.pair.margin,
            each.pair.pair_id,
        ),
    )


def pair_report(waiting: WaitingPair) -> Iterable[str]:
    """Return the lines about a pair: since when it waits and for whom, the hint, both texts,
    and the verdicts.
    """
    pair = waiting.pair
    state = "" if pair.state == "open" else f", {pair.state}"
    yield (
        f"opened {pair.opened_at:%Y-%m-%d}, alike {pair.cosine:.2f}{state}; waits for "
        f"{waiting.waits_for}"
    )
    if pair.steering:
        yield f"gives its judge orders: {pair.steering}"
    elif hint := differs(pair.a.text, pair.b.text):
        yield f"other {hint}"
    for side in (pair.a, pair.b):
        name = f"entry {side.key}" if side.key else f"{side.program_id}/{side.pattern_id}"
        yield f"  {name} ({side.domain}): {side.text}"
        if side.evidence:
            yield f"    evidence: {side.evidence}"
    yield from map(_said, pair.judgements)


def pair_wire(waiting: WaitingPair) -> dict[str, object]:
    """Return the same as JSON."""
    pair = waiting.pair
    judged = [{**judgement.wire(), "by": _judge_of(judgement)} for judgement in pair.judgements]
    wire = {name: value for name, value in pair.wire().items() if name in _FIELDS}
    return {**wire, "judgements": judged, "waitsFor": waiting.waits_for}


def _judge_of(judgement: Judgement) -> str:
    names = {None: "a person", MODEL_NAME: "the model"}
    return names.get(judgement.program_id, str(judgement.program_id))


def _said(judgement: Judgement) -> str:
    by = _judge_of(judgement)
    if judgement.is_silence:
        return f"{by} gave {UNANSWERED}"
    return f"{by} said {judgement.verdict}" + (f": {judgement.reason}" if judgement.reason else "")


VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
_CHOICE: Final = "/".join((*VERDICTS, "skip", "quit"))
HELP: Final = """\
same        the same insight: who follows one text does what the other asks
different   anything else
contradict  nobody can follow both: they choose otherwise, or one denies the other
unsure      the texts do not settle it
skip        leave it for later
quit        stop here"""

SendVerdict: TypeAlias = Callable[[NewVerdict], str]
"""Sends a verdict; returns a line with the outcome."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    add_limit_flag(parser, "how many pairs --json lists")
    parser.add_argument("--pair", metavar="ID", help="judge this pair alone, with --verdict")
    parser.add_argument("--verdict", choices=VERDICTS, help="the verdict about --pair")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why, kept with the verdict")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """List the pairs, or ask about each and carry out the verdicts, or carry out the one that is
    given.
    """
    if (given.pair is None) != (given.verdict is None):
        raise InvalidArgumentError(
            "--pair and --verdict: give both, e.g. --pair 3f1c… --verdict same"
        )

    def carry_out(verdict: NewVerdict) -> Judged:
        return with_memory(settings, lambda fleet: judge_pair(fleet, verdict))

    if given.pair is not None:
        judged = carry_out(_new_verdict(given.pair, given.verdict, given.reason))
        with_memory(settings, publish_now)
        change = judged.change
        entry = {"key": change.entry.key, "entryState": change.after} if change else {}
        wire = {"pairId": judged.pair_id, "state": judged.state, **entry}
        print_answer(wire, _outcome(judged), as_json=given.json)
        return 0
    pairs = with_memory(settings, waiting_pairs)
    if given.json:
        listed = [pair_wire(pair) for pair in pairs[: given.limit]]
        print_json(with_omitted({"pairs": listed}, pairs=len(pairs) - len(listed)))
        return 0
    count = review_pairs(pairs, sys.stdin, say, lambda verdict: _outcome(carry_out(verdict)))
    if count:
        with_memory(settings, publish_now)
    say(
        f"{count} judged, {len(pairs) - count} left"
        if pairs
        else with_memory(settings, _nothing_waits)
    )
    return 0


async def _nothing_waits(fleet: Fleet) -> str:
    """Return why no pair waits, e.g. for somebody who has just stored two lessons."""
    pending = await fleet.programs.count_pending()
    waiting = counted(pending, "lesson waits", "lessons wait")
    return (
        f"no pair waits; {waiting} for the next run: fleet-memory maintain"
        if pending
        else "no pair waits"
    )


def review_pairs(
    pairs: Sequence[WaitingPair],
    answers: Iterable[str],
    say: Callable[[str], None],
    send: SendVerdict,
) -> int:
    """Ask about each pair until the answers end; return how many were judged.

    An answer is a whole word; anything else is asked again, because a slip would be the last word
    about a pair.
    """
    given = iter(answers)
    judged = 0
    for number, waiting in enumerate(pairs, 1):
        lines = [
            f"\n{number} of {len(pairs)}: pair {waiting.pair.pair_id}",
            *pair_report(waiting),
            _CHOICE,
        ]
        say("\n".join(lines))
        word = _whole_word(given, say)
        if word == "quit":
            break
        if word == "skip":
            continue
        try:
            say(send(_new_verdict(waiting.pair.pair_id, word, "")))
        except InvalidArgumentError as error:  # an agent, or an earlier answer, was faster
            say(str(error))
        else:
            judged += 1
    return judged


def _whole_word(given: Iterable[str], say: Callable[[str], None]) -> str:
    """Return the next answer that is one of the words; "quit" at the end of the input."""
    for line in given:
        word = line.strip().lower()
        if word in (*VERDICTS, "skip", "quit"):
            return word
        say(HELP)
    return "quit"


def _new_verdict(pair_id: str, word: str, reason: str) -> NewVerdict:
    try:
        return NewVerdict.model_validate({"pairId": pair_id, "verdict": word, "reason": reason})
    except InvalidValueError as error:
        problem = error.errors(include_url=False)[0]
        raise InvalidArgumentError(
            f"--{problem['loc'][0]}: {problem['msg']}".replace("pairId", "pair")
        ) from error


def _outcome(judged: Judged) -> str:
    entry = f"; {judged.change.entry.key} is {judged.change.after}" if judged.change else ""
    return f"{judged.pair_id}: {judged.state}{entry}"
