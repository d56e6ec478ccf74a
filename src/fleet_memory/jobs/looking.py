"""Reads for people at the command line. They change nothing, are no showing to a program, and read
a bounded part.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from fleet_memory.errors import UnknownProgramError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.documents import iter_readable
from fleet_memory.repositories.records import LedgerTime, ledger_line
from fleet_memory.rules.asking import differs
from fleet_memory.rules.explaining import reasons
from fleet_memory.rules.health import MIN_PROGRAMS_OF_A_THIRD
from fleet_memory.rules.pairs import Questions, questions
from fleet_memory.schemas.knowledge import LedgerLine
from fleet_memory.schemas.pairs import MODEL_NAME, Judgement, Pair
from fleet_memory.schemas.programs import Program

MAX_PROGRAMS_READ_FOR_PEOPLE: Final = 100  # programs of a fleet, one billed read each; chosen
MAX_LEDGER_LINES: Final = 1_000  # lines of the ledger, one billed read each; chosen


class LatestPrograms(NamedTuple):
    """The programs that changed last, the newest first; `omitted` counts the
    others.
    """

    programs: Sequence[Program]
    omitted: int


class LatestLines(NamedTuple):
    """The newest changes of the ledger, or its newest reads, the newest first.

    `omitted` counts those of the same kind before, 0 where a date ended them.
    """

    lines: Sequence[LedgerLine]
    omitted: int


async def latest_programs(
    fleet: Fleet, limit: int = MAX_PROGRAMS_READ_FOR_PEOPLE
) -> LatestPrograms:
    """Return the programs that changed last. Billed 1 read each and 1 sum. Raises ForbiddenError
    for a bound caller.
    """
    fleet.caller.require_curation()
    programs = await fleet.programs.map_latest(lambda program: program, limit)
    return LatestPrograms(programs, max(0, await fleet.programs.count() - len(programs)))


async def existing_program(fleet: Fleet, program_id: str) -> Program:
    """Return a program. Billed 1 read. Raises UnknownProgramError, with close
    names.
    """
    fleet.caller.require_read(program_id)
    program = await fleet.programs.read(program_id)
    if not program.exists:
        raise UnknownProgramError(program_id, await fleet.programs.suggestions(program_id))
    return program


async def explained(fleet: Fleet, program_id: str, lesson_id: str) -> list[str] | None:
    """Return why a lesson is not knowledge, a sentence each; None where it is not in the memory.

    Billed 1 read, 1 for each of its entries, and 1 for each pair of the fleet.
    """
    fleet.caller.require_curation()
    program = await existing_program(fleet, program_id)
    lesson = program.patterns.get(lesson_id)
    if lesson is None:
        return None
    read = await fleet.knowledge.read_through(lesson.knowledge_keys)
    entries = {key: each.entry for key, each in read.items() if each.entry is not None}
    return reasons(program, lesson, entries, await fleet.pairs.all(), fleet.now())


async def latest_lines(
    fleet: Fleet, since: datetime | None, limit: int, *, reads: bool = False
) -> LatestLines:
    """Return the newest changes of the ledger, or its newest reads, at most `limit` and
    MAX_LEDGER_LINES, none from before `since`.

    Billed 1 read each and 1 sum. Raises ForbiddenError for a bound caller.
    """
    fleet.caller.require_curation()
    ledger = fleet.knowledge.ledger
    time: LedgerTime = "readAt" if reads else "at"
    read = list(iter_readable(await ledger.latest(time, min(limit, MAX_LEDGER_LINES)), ledger_line))
    lines = [line for line in read if since is None or line.at >= since]
    lines.sort(
        key=lambda line: line.at, reverse=True
    )  # stores order times as texts, with and without milliseconds
    if len(lines) < len(read):
        return LatestLines(lines, 0)
    return LatestLines(lines, max(0, await ledger.total(time) - len(lines)))


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

    def wire(self) -> dict[str, object]:
        """Return it as JSON: both texts and the verdicts so far."""
        pair, hint = self.pair, differs(self.pair.a.text, self.pair.b.text)
        judged = [{**each.wire(), "by": _judge_of(each)} for each in pair.judgements]
        differing = {"differs": hint} if hint else {}
        wire = {name: value for name, value in pair.wire().items() if name != "margin"}
        return {**wire, **differing, "waitsFor": self.waits_for, "judgements": judged}


async def waiting_pairs(fleet: Fleet, limit: int | None = None) -> list[WaitingPair]:
    """Return the pairs that wait, or the first `limit`: for people alone first, then for a third
    program; of each the likeliest first.

    Where people judge all of them wait for people, and so do those for a third program where there
    is none. Billed 1 read for each pair, with a limit for at most so many of each kind, and 1 sum.
    Raises ForbiddenError unless the caller may curate.
    """
    fleet.caller.require_curation()
    pairs = await fleet.pairs.waiting() if limit is None else []
    for who in ("people", "third", "programs") if limit else ():
        first = await fleet.pairs.some({"waits": who}, "", "", limit or 0)
        pairs += [each.pair for each in first if each.pair]
    people_judge = (await fleet.policies.read(fleet.now())).judging == "people"
    has_third = await fleet.programs.count() >= MIN_PROGRAMS_OF_A_THIRD
    waiting: list[WaitingPair] = []
    for pair in pairs:
        asked = questions(pair)
        nobody = people_judge or (asked.third and not has_third)
        waiting.append(WaitingPair(pair, Questions(people=True) if nobody else asked))
    waiting.sort(
        key=lambda each: (
            0 if each.asked.people else 1 if each.asked.third else 2,
            -each.pair.margin,
            each.pair.pair_id,
        )
    )
    return waiting[:limit]


def _judge_of(judgement: Judgement) -> str:
    names = {None: "a person", MODEL_NAME: "the model"}
    return names.get(judgement.program_id, str(judgement.program_id))
