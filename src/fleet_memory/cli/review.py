"""`fleet-memory review`: judge pairs of lessons that may be the same."""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, get_args

from fleet_memory.cli.arguments import Actions, argument, limit
from fleet_memory.cli.memory import with_memory
from fleet_memory.cli.printing import Output, say
from fleet_memory.errors import InvalidArgumentError
from fleet_memory.jobs.curation import judge_pair
from fleet_memory.jobs.looking import WaitingPair, waiting_pairs
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.schemas.pairs import NewVerdict, Verdict
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.settings import Settings

VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
_COLUMNS: Final = {"judgements": "by verdict reason at"}
_CHOICE: Final = "/".join((*VERDICTS, "skip", "quit"))
HELP: Final = """\
same        the same insight: who follows one text does what the other asks
different   anything else
contradict  nobody can follow both: they choose otherwise, or one denies the other
unsure      the texts do not settle it
skip        leave it for later
quit        stop here"""

SendVerdict: TypeAlias = Callable[[NewVerdict], Output]
"""Sends a verdict; returns the outcome."""


def run_review(given: argparse.Namespace, settings: Settings) -> Output | int:
    """List the pairs, or ask about each and carry out the verdicts, or carry out the one that is
    given.
    """
    if (given.pair is None) != (given.verdict is None):
        raise InvalidArgumentError(
            "--pair and --verdict: give both, e.g. --pair 3f1c… --verdict same"
        )

    def carry_out(verdict: NewVerdict) -> Output:
        judged = with_memory(settings, lambda fleet: judge_pair(fleet, verdict))
        change = judged.change
        entry = {"key": change.entry.key, "entryState": change.after} if change else {}
        return Output({"pairId": judged.pair_id, "state": judged.state, **entry})

    if given.pair is not None:
        answer = carry_out(_new_verdict(given.pair, given.verdict, given.reason))
        with_memory(settings, publish_now)
        return answer
    pairs = with_memory(settings, waiting_pairs)
    if given.json:
        listed = [waiting.wire() for waiting in pairs[: given.limit]]
        return Output({"pairs": listed}, omitted={"pairs": len(pairs) - len(listed)})
    count = review_pairs(pairs, sys.stdin, say, carry_out)
    if count:
        with_memory(settings, publish_now)
    pending = 0 if pairs else with_memory(settings, lambda fleet: fleet.programs.count_pending())
    notes = [f"{pending} lessons wait for the next run: fleet-memory maintain"] if pending else ()
    return Output({"judged": count, "left": len(pairs) - count}, notes=notes)


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
    given, judged = iter(answers), 0
    for number, waiting in enumerate(pairs, 1):
        shown = Output({"pair": f"{number} of {len(pairs)}", **waiting.wire()}, _COLUMNS)
        say("\n".join(["", *shown.lines(), _CHOICE]))
        word = _whole_word(given, say)
        if word == "quit":
            break
        if word == "skip":
            continue
        try:
            outcome = send(_new_verdict(waiting.pair.pair_id, word, ""))
        except InvalidArgumentError as error:  # an agent, or an earlier answer, was faster
            say(str(error))
        else:
            say("\n".join(outcome.lines()))
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


ACTIONS: Final[Actions] = {
    "review": (
        run_review,
        limit("how many pairs --json lists"),
        argument("--pair", "ID", "judge this pair alone, with --verdict"),
        argument("--verdict", None, "the verdict about --pair", choices=VERDICTS),
        argument("--reason", "TEXT", "why, kept with the verdict", default=""),
    )
}
