"""The report of peers.py and its tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from measuring import Figures, Surroundings, markdown_table
from peer_timing import Speed
from peer_work import LIMIT, Questions, Race, Restart

NOT_MEASURED: Final = "–"


@dataclass(frozen=True)
class SystemReport:
    """One system: its figures, and its problems, which say why others are missing."""

    name: str
    version: str
    note: str
    questions: Questions | None
    restart: Restart | None
    race: Race | None
    speeds: Sequence[Speed]
    problems: Sequence[str]

    def speed(self, memories: int) -> Speed | None:
        """Return the speed at a number of memories, None if it was not measured."""
        return next((speed for speed in self.speeds if speed.memories == memories), None)


@dataclass(frozen=True)
class PeersReport:
    """All that one run measured, ours first; `questions` names the set of questions."""

    surroundings: Surroundings
    rounds: int
    questions: str
    nothing: Figures
    systems: Sequence[SystemReport]

    def sizes(self) -> Sequence[int]:
        """Return the numbers of memories at which somebody was measured, ascending."""
        return sorted({speed.memories for system in self.systems for speed in system.speeds})


def peers_tables(report: PeersReport) -> Iterator[str]:
    """Yield the tables as markdown, each after a line that introduces it."""
    yield "The systems, and the problems that they had:\n"
    header: Sequence[str] = ("system", "version", "measured as", "problems")
    yield markdown_table(header, [_identity(each) for each in report.systems], words=len(header))
    yield f"\nQuestions in other words, {report.questions}; survivors; a restart without a network:\n"
    header = (
        *("system", "stored", "found first", f"in the first {LIMIT}", "race: acknowledged", "of these found"),
        *("restarted offline: found", "stores"),
    )
    yield markdown_table(header, [_keeping(each) for each in report.systems])
    for size in report.sizes():
        yield f"\nCalls at {size:,} memories, in turn, {report.rounds} of each kind:\n"
        header = (
            *("system", "store p50 ms", "p95", "processor ms", "× nothing", "kB written"),
            *("recall p50 ms", "p95", "processor ms", "× nothing", "resident MB"),
        )
        yield markdown_table(header, [_timed(each, size, report.nothing) for each in report.systems])


def _identity(system: SystemReport) -> Sequence[str]:
    return system.name, system.version, system.note, "; ".join(dict.fromkeys(system.problems)).replace("|", "/")


def _keeping(system: SystemReport) -> Sequence[str]:
    return system.name, *_questions(system.questions), *_race(system.race), *_restart(system.restart)


def _questions(done: Questions | None) -> Sequence[str]:
    if done is None:
        return [NOT_MEASURED] * 3
    return f"{done.stored} of {done.asked}", f"{done.first / done.asked:.2f}", f"{done.in_five / done.asked:.2f}"


def _race(done: Race | None) -> Sequence[str]:
    if done is None:
        return [NOT_MEASURED] * 2
    started = "" if done.started == done.servers else f", {done.started} of {done.servers} servers up"
    return f"{done.acknowledged} of {done.sent}{started}", str(done.found)


def _restart(done: Restart | None) -> Sequence[str]:
    if done is None:
        return [NOT_MEASURED] * 2
    return f"{done.found} of {done.looked_for}", "yes" if done.stores else "no"


def _timed(system: SystemReport, size: int, nothing: Figures) -> Sequence[str]:
    speed = system.speed(size)
    if speed is None:
        return [system.name, *[NOT_MEASURED] * 10]
    return [
        system.name,
        *_figures(speed.store, nothing),
        f"{speed.store.written_kb:.1f}",
        *_figures(speed.recall, nothing),
        f"{speed.memory_mb:.0f}",
    ]


def _figures(figures: Figures, nothing: Figures) -> Sequence[str]:
    times = figures.cpu_ms / nothing.cpu_ms
    return f"{figures.p50_ms:.1f}", f"{figures.p95_ms:.1f}", f"{figures.cpu_ms:.1f}", f"{times:.1f}"
