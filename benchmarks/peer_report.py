"""The report of peers.py and its tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import shorten
from typing import Final

from measuring import Figures, Surroundings, markdown_table
from peer_timing import Speed
from peer_work import LIMIT, Questions, Race, Restart

NOT_MEASURED: Final = "–"
MAX_PROBLEM_CHARS: Final = 100


def _store_cpu(speed: Speed) -> float:
    return speed.store.cpu_ms


def _recall_cpu(speed: Speed) -> float:
    return speed.recall.cpu_ms


COSTS: Final[Mapping[str, Callable[[Speed], float]]] = {"store": _store_cpu, "recall": _recall_cpu}
"""The processor milliseconds of each kind of call."""


@dataclass(frozen=True)
class SystemReport:
    """One system: its figures, and its problems, the reasons why others are missing."""

    name: str
    version: str
    note: str
    questions: Sequence[Questions]
    restart: Restart | None
    race: Race | None
    speeds: Sequence[Speed]
    problems: Sequence[str]

    def answers_to(self, name: str) -> Questions | None:
        """Return how the questions of a set were answered, None if they were not asked."""
        return next((questions for questions in self.questions if questions.name == name), None)

    def speed(self, memories: int) -> Speed | None:
        """Return the speed at a number of memories, None if it was not measured."""
        return next((speed for speed in self.speeds if speed.memories == memories), None)

    def growth(self, kind: str, few: int, many: int) -> float | None:
        """Return the times that a kind of call of `COSTS` costs more at `many` memories, None if
        not measured.
        """
        before, after = self.speed(few), self.speed(many)
        return COSTS[kind](after) / COSTS[kind](before) if before and after else None


@dataclass(frozen=True)
class PeersReport:
    """All that one run measured, ours first."""

    surroundings: Surroundings
    rounds: int
    nothing: Figures
    systems: Sequence[SystemReport]

    def question_sets(self) -> Sequence[str]:
        """Return the names of the sets that somebody was asked."""
        return list(
            dict.fromkeys(
                questions.name for system in self.systems for questions in system.questions
            )
        )

    def sizes(self) -> Sequence[int]:
        """Return the numbers of memories at which somebody was measured, ascending."""
        return sorted({speed.memories for system in self.systems for speed in system.speeds})

    def steps(self) -> Sequence[tuple[str, int, int]]:
        """Return each kind of call with each two neighbouring numbers of memories."""
        return [(kind, few, many) for kind in COSTS for few, many in pairwise(self.sizes())]


def peers_tables(report: PeersReport) -> Iterator[str]:
    """Yield the tables as markdown, each after a line that introduces it."""
    yield "The systems, and the problems that they had:\n"
    header: Sequence[str] = ("system", "version", "measured as", "problems")
    yield markdown_table(header, [_identity(each) for each in report.systems], words=len(header))
    yield (
        f"\nThe share of questions in other words whose text was in the first {LIMIT}, then "
        "memories after a race of servers and after a restart without a network:\n"
    )
    sets = report.question_sets()
    header = ("system", *sets, "race: acknowledged", "found", "restart: found")
    yield markdown_table(
        header,
        [
            (
                each.name,
                *(_answers(each.answers_to(name)) for name in sets),
                *_race(each.race),
                _restart(each.restart),
            )
            for each in report.systems
        ],
    )
    few, *_, many = report.sizes()
    yield f"\nCalls at {few:,} / {many:,} memories, in turn, {report.rounds} of each kind:\n"
    header = (
        *("system", "store: p50 ms", "processor ms", "kB written"),
        *("recall: p50 ms", "processor ms", "resident MB"),
    )
    yield markdown_table(header, [_timed(each, few, many) for each in report.systems])


def _identity(system: SystemReport) -> Sequence[str]:
    problems = "; ".join(dict.fromkeys(system.problems)).replace("|", "/")
    return system.name, system.version, system.note, shorten(problems, MAX_PROBLEM_CHARS)


def _answers(done: Questions | None) -> str:
    return NOT_MEASURED if done is None else f"{done.in_five / done.asked:.2f}"


def _race(done: Race | None) -> Sequence[str]:
    if done is None:
        return [NOT_MEASURED] * 2
    started = (
        "" if done.started == done.servers else f", {done.started} of {done.servers} servers up"
    )
    return f"{done.acknowledged} of {done.sent}{started}", str(done.found)


def _restart(done: Restart | None) -> str:
    if done is None:
        return NOT_MEASURED
    return f"{done.found} of {done.looked_for}{'' if done.stores else ', stores nothing'}"


def _timed(system: SystemReport, few: int, many: int) -> Sequence[str]:
    """Return a row with two figures a cell, e.g. "8.3/8.5"."""
    figures = [_speed(system.speed(size)) for size in (few, many)]
    return system.name, *("/".join(both) for both in zip(*figures, strict=True))


def _speed(speed: Speed | None) -> Sequence[str]:
    if speed is None:
        return [NOT_MEASURED] * 6
    store, recall = speed.store, speed.recall
    return (
        *(f"{each:.1f}" for each in (store.p50_ms, store.cpu_ms, store.written_kb)),
        *(f"{each:.1f}" for each in (recall.p50_ms, recall.cpu_ms)),
        f"{speed.memory_mb:.0f}",
    )
