"""Calls of all systems in turn, at more and more memories, for peers.py."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from environments import Installed
from made_fleet import made_evidence, made_text, question
from measuring import Figures, Meter
from peer_work import LIMIT, START_S
from rpc import Launch, NoAnswerError, RawServer
from startup import BARE
from systems import Memory

PER_AGENT: Final = 100  # memories of one agent
STORE, RECALL, NOTHING = "store", "recall", "nothing"


@dataclass(frozen=True)
class Speed:
    """Timed calls at a number of memories: store and recall, and the resident megabytes of the
    server afterwards.
    """

    memories: int
    store: Figures
    recall: Figures
    memory_mb: float


@dataclass(frozen=True)
class Timing:
    """The speeds of one system, and why there are no more, if so."""

    name: str
    speeds: Sequence[Speed]
    problem: str = ""


@dataclass
class TimedSystem:
    """A system that is filled and then called in turn with others, until it has a problem."""

    installed: Installed
    server: RawServer
    meter: Meter = field(init=False)
    stored: int = 0
    speeds: list[Speed] = field(default_factory=list)
    problem: str = ""

    def __post_init__(self) -> None:
        self.meter = Meter(self.server)

    def fill(self, memories: int, limit_s: float) -> None:
        """Store until there are so many memories. Raises NoAnswerError when that takes longer than
        `limit_s`.
        """
        deadline = time.monotonic() + limit_s
        while self.stored < memories:
            if time.monotonic() > deadline:
                raise NoAnswerError(f"{self.stored:,} memories after {limit_s:g} s of storing")
            self._store(f"agent-{self.stored // PER_AGENT}")
        self.take_turn(memories)  # warms up
        self.meter.forget_samples()

    def take_turn(self, memories: int) -> None:
        """Make one call of each kind, for an agent that has its share of the memories."""
        agent = f"agent-{self.stored % max(1, memories // PER_AGENT)}"
        self._store(agent)
        self.meter.call(RECALL, *self.installed.system.recall(question(self.stored), agent, LIMIT))

    def keep_speed(self, memories: int) -> None:
        """Keep the figures of the turns since `fill`."""
        figures = self.meter.figures(STORE), self.meter.figures(RECALL)
        self.speeds.append(Speed(memories, *figures, self.server.memory_mb()))

    def timing(self) -> Timing:
        """Return all that was measured."""
        return Timing(self.installed.system.name, self.speeds, self.problem)

    def _store(self, agent: str) -> None:
        memory = Memory(self.stored, made_text(self.stored), agent, made_evidence(self.stored))
        self.meter.call(STORE, *self.installed.system.store(memory))
        self.stored += 1


def timings(
    systems: Sequence[Installed], sizes: Sequence[int], rounds: int, limit_s: float, folder: Path
) -> tuple[Figures, list[Timing]]:
    """Return the figures of a tool that does nothing, and of each system at each size; no fill
    takes over `limit_s`.
    """
    with ExitStack() as stack:
        idle = Meter(
            stack.enter_context(
                RawServer(Launch([sys.executable, "-c", BARE], {}, folder / "bare"))
            )
        )
        idle.call(NOTHING, "echo", {"text": "x"})
        idle.forget_samples()
        started = [
            started_system(each, folder / str(number), stack) for number, each in enumerate(systems)
        ]
        timed = [each for each in started if isinstance(each, TimedSystem)]
        for size in sizes:
            time_at(size, timed, idle, rounds, limit_s)
        return idle.figures(NOTHING), [
            each if isinstance(each, Timing) else each.timing() for each in started
        ]


def started_system(installed: Installed, folder: Path, stack: ExitStack) -> TimedSystem | Timing:
    """Return the system with its server, or its problem if the server does not start."""
    try:
        return TimedSystem(
            installed, stack.enter_context(RawServer(installed.launch(folder), wait_s=START_S))
        )
    except NoAnswerError as error:
        return Timing(installed.system.name, (), str(error))


def time_at(
    size: int, timed: Sequence[TimedSystem], idle: Meter, rounds: int, limit_s: float
) -> None:
    """Fill the systems one after another, then let them take turns."""
    for each in timed:
        print(f"filling {each.installed.system.name} to {size:,}", file=sys.stderr)
        attempt(each, lambda one: one.fill(size, limit_s))
    for _ in range(rounds):
        for each in timed:
            idle.call(NOTHING, "echo", {"text": "x"})
            attempt(each, lambda one: one.take_turn(size))
    for each in timed:
        attempt(each, lambda one: one.keep_speed(size))


def attempt(timed: TimedSystem, work: Callable[[TimedSystem], None]) -> None:
    """Do the work unless the system has a problem already; a failure becomes its problem."""
    if timed.problem:
        return
    try:
        work(timed)
    except (NoAnswerError, RuntimeError) as error:
        timed.problem = str(error)
