"""Pairs that wait, by who is left to judge them. Source: docs/consolidation.md, "Counters"."""

from typing import Final, NamedTuple

from fleet_memory.rules.text.counting import counted
from fleet_memory.schemas.health import JudgingCounts

MIN_PROGRAMS_OF_A_THIRD: Final = (
    3  # programs; in a smaller fleet every program has a lesson in a pair
)


class WaitingTotals(NamedTuple):
    """The pairs that somebody is asked about: programs of their lessons alone, a third program, or
    people alone.
    """

    programs: int
    third: int
    people: int


def judging_counts(waiting: WaitingTotals, *, programs: int, people_judge: bool) -> JudgingCounts:
    """Return the number of waiting pairs by their next judge, in a fleet of so many programs; each
    counts once.

    `people_judge`: the policy leaves all pairs to people. A fleet of two has no third program.
    """
    if people_judge:
        return JudgingCounts(people=sum(waiting))
    has_third = programs >= MIN_PROGRAMS_OF_A_THIRD
    return JudgingCounts(
        people=waiting.people if has_third else waiting.people + waiting.third,
        third=waiting.third if has_third else 0,
        programs=waiting.programs,
    )


def people_advice(judging: JudgingCounts) -> tuple[str, ...]:
    """Return the line about pairs that only people are left to judge."""
    return (f"{_pairs(judging.people)} for people: fleet-memory review",) if judging.people else ()


def programs_advice(judging: JudgingCounts) -> tuple[str, ...]:
    """Return the lines about pairs that a third program, or the programs of their lessons, are
    asked about.
    """
    lines = {
        f"{_pairs(judging.third)} for a third program: commit_session asks those without a "
        "lesson in the pair.": (judging.third),
        f"{_pairs(judging.programs)} for the programs that learnt the lessons: gsp_bootstrap "
        "and commit_session ask "
        "them; people answer any with fleet-memory review.": judging.programs,
    }
    return tuple(line for line, count in lines.items() if count)


def own_advice(to_judge: int) -> tuple[str, ...]:
    """Return the line for a program about the pairs that it is asked about."""
    if not to_judge:
        return ()
    return (
        f"{_pairs(to_judge)} for you: see `toJudge` of gsp_bootstrap, and answer with "
        "`verdicts` of commit_session "
        "or pattern_consolidate.",
    )


def _pairs(count: int) -> str:
    return counted(count, "pair waits", "pairs wait")
