"""Where a peer is ahead of us, from the figures of peers.py."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from peer_report import COSTS, PeersReport, SystemReport
from peer_timing import Speed
from peer_work import LIMIT

# times: figures nearer than this are even. Source: chosen, some runs on a quiet machine differ so
EVEN: Final = 1.1


class Measure(NamedTuple):
    """One figure of a system, None where it was not measured, and whether less of it is better."""

    name: str
    unit: str
    value: Callable[[SystemReport], float | None]
    less_is_better: bool


class Comparison(NamedTuple):
    """Our figure, and those of the peers that are ahead by more than `EVEN`, the best first."""

    measure: Measure
    ours: float
    ahead: Sequence[tuple[SystemReport, float]]


def measures(report: PeersReport) -> Iterator[Measure]:
    """Yield all that is compared."""
    for name in report.question_sets():
        yield Measure(
            f"{name} in other words, found first", "%", _found_first(name), less_is_better=False
        )
        yield Measure(
            f"{name} in other words, in the first {LIMIT}",
            "%",
            _in_five(name),
            less_is_better=False,
        )
    yield Measure("sent in a race and found afterwards", "%", survivors, less_is_better=False)
    yield Measure("found after a restart without a network", "%", _restarted, less_is_better=False)
    for size in report.sizes():
        at = f"at {size:,} memories"
        for name, cost in COSTS.items():
            yield Measure(
                f"{name} {at}", "ms of processor", _of_speed(size, cost), less_is_better=True
            )
        yield Measure(
            f"written by a store {at}", "kB", _of_speed(size, _written), less_is_better=True
        )
        yield Measure(f"resident {at}", "MB", _of_speed(size, _resident), less_is_better=True)
    for kind, few, many in report.steps():
        name = f"growth of a {kind} from {few:,} to {many:,} memories"
        growth = partial(SystemReport.growth, kind=kind, few=few, many=many)
        yield Measure(name, "times", growth, less_is_better=True)


def comparisons(report: PeersReport) -> list[Comparison]:
    """Return a comparison per measure that we have, the first system being us."""
    us, *peers = report.systems
    found = []
    for measure in measures(report):
        ours = measure.value(us)
        if ours is not None:
            figures = [
                (peer, figure) for peer in peers if (figure := measure.value(peer)) is not None
            ]
            ahead = [(peer, figure) for peer, figure in figures if is_ahead(figure, ours, measure)]
            ahead.sort(key=lambda each: each[1], reverse=not measure.less_is_better)
            found.append(Comparison(measure, ours, ahead))
    return found


def is_ahead(theirs: float, ours: float, measure: Measure) -> bool:
    """Return whether a figure is better than ours by more than `EVEN`; a percentage by one point or
    more.
    """
    if measure.unit == "%":
        return theirs >= ours + 1
    return theirs * EVEN < ours


def comparison_cells(comparison: Comparison) -> tuple[str, str, str]:
    """Return what is compared, our figure, and the peers that are ahead with theirs, empty for
    none.
    """
    measure = comparison.measure
    peers = ", ".join(f"{peer.name} {_shown(figure, measure)}" for peer, figure in comparison.ahead)
    return measure.name, f"{_shown(comparison.ours, measure)} {measure.unit}", peers


def survivors(system: SystemReport) -> float | None:
    """Return the percentage of all memories sent in the race that were found; refused ones are
    missing too.
    """
    return 100 * system.race.found / system.race.sent if system.race else None


def _shown(figure: float, measure: Measure) -> str:
    return f"{figure:.0f}" if measure.unit in {"%", "MB"} else f"{figure:.1f}"


def _found_first(name: str) -> Callable[[SystemReport], float | None]:
    def value(system: SystemReport) -> float | None:
        answers = system.answers_to(name)
        return 100 * answers.first / answers.asked if answers else None

    return value


def _in_five(name: str) -> Callable[[SystemReport], float | None]:
    def value(system: SystemReport) -> float | None:
        answers = system.answers_to(name)
        return 100 * answers.in_five / answers.asked if answers else None

    return value


def _restarted(system: SystemReport) -> float | None:
    return 100 * system.restart.found / system.restart.looked_for if system.restart else None


def _of_speed(
    size: int, figure: Callable[[Speed], float]
) -> Callable[[SystemReport], float | None]:
    def value(system: SystemReport) -> float | None:
        speed = system.speed(size)
        return figure(speed) if speed else None

    return value


def _written(speed: Speed) -> float:
    return speed.store.written_kb


def _resident(speed: Speed) -> float:
    return speed.memory_mb
