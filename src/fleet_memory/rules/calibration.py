"""How far a program's word has held: its confidence, discounted by how often its lessons proved true.

    reliability = (confirmed + w × fleet) / (confirmed + contradicted + w)        w = 10 reports
    calibrated  = confidence × reliability

The first is the mean of a Beta posterior whose prior is worth `w` reports at the fleet's own rate: who has few reports
is taken for an average member. Source: empirical Bayes shrinkage of a binomial rate, Efron & Morris 1975; Gelman et
al., Bayesian Data Analysis, chapter 5.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program

PRIOR_REPORTS: Final = 10.0  # what a program's own reports must outweigh
MOST_REPORTS: Final = 50  # of one program in the fleet's rate: nobody is the fleet


class Outcomes(NamedTuple):
    """How many reports confirmed and contradicted the lessons that a program has."""

    confirmed: int = 0
    contradicted: int = 0


def outcomes(program: Program) -> Outcomes:
    """Return the reports on a program's own lessons."""
    patterns = program.patterns.values()
    return Outcomes(sum(p.confirmations for p in patterns), sum(p.contradictions for p in patterns))


def fleet_rate(found: Iterable[Outcomes]) -> float | None:
    """Return the share of reports that confirmed, every program counting up to 50; None while there are none."""
    confirmed = contradicted = 0.0
    for one in found:
        share = min(1.0, MOST_REPORTS / max(1, sum(one)))
        confirmed += share * one.confirmed
        contradicted += share * one.contradicted
    if not confirmed + contradicted:
        return None
    return (confirmed + 1) / (confirmed + contradicted + 2)


def reliability(one: Outcomes, fleet: float) -> float:
    """Return a program's posterior mean, 0..1; `fleet` is the fleet's rate."""
    return (one.confirmed + PRIOR_REPORTS * fleet) / (sum(one) + PRIOR_REPORTS)


class Trust(NamedTuple):
    """The fleet's rate, None while nobody reported anything, and how reliable each program is."""

    fleet: float | None = None
    programs: Mapping[str, float] = MappingProxyType({})

    def of(self, program_id: str) -> float | None:
        """Return a program's reliability, the fleet's rate for one that is not known; None without any report."""
        return self.programs.get(program_id, self.fleet)


def trust(known: Mapping[str, Outcomes]) -> Trust:
    """Return how reliable each program is, from the reports on each."""
    fleet = fleet_rate(known.values())
    return Trust() if fleet is None else Trust(fleet, {name: reliability(one, fleet) for name, one in known.items()})


def calibrated(pattern: Pattern, program: Program) -> float | None:
    """Return one of a program's own lessons' calibrated confidence; None before a consolidation knew the fleet's rate.

    The fleet's rate is the one of the last consolidation that considered the program.
    """
    if program.fleet_rate is None:
        return None
    return round(pattern.confidence * reliability(outcomes(program), program.fleet_rate), 4)
