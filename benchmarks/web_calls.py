"""The cost of each call over HTTP, against a tool that does nothing on the same server, and calls a
second.

    python benchmarks/web_calls.py [--rounds 200] [--clients 8] [--seconds 5] [--json FILE]

One server of a fleet with 1,000 lessons, 100 a program. Each client has the token of a program and
one connection. First one client makes the calls one at a time, each after one of the tool that does
nothing: other load of the machine hits both. A second tool makes the vectors of two texts and
writes one row, the least that a store can do. Then all clients call at once, a time for each kind
of call in turn, each next to the tool that does nothing. No question is asked twice. Prints
markdown tables.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import anyio
from made_fleet import FleetSize, lesson, made_evidence, made_fleet, made_text, question
from measuring import Surroundings, accepted, markdown_table, percentile, surroundings, write_json
from rpc import RawServer
from web_rpc import WebClient, WebServer, web_server

from fleet_memory.clock import clock
from fleet_memory.jobs.tokens import NewToken, create_token
from fleet_memory.server.composition import LazyFleet
from fleet_memory.settings import load

SIZE: Final = FleetSize(lessons=1000, per_program=100, entries=20)
NOTHING: Final = "nothing"
LEAST: Final = "embed two texts, write a row"
WEB_BUDGETS: Final = {"store": 5.4, "recall with a query": 4.0}
"""Times the tool that does nothing, at the median. Source: docs/decisions/cost-of-a-store.md,
chosen.
"""
# the numbers of texts below are those of the fleet: a store of one only reinforces it
FIRST_TEXT: Final = 40_000_000
TURNS: Final = 4  # times that each kind of call has its time with all clients
WITH_RULERS: Final = Path(__file__).parent / "with_rulers.py"


class WebSample(NamedTuple):
    """One call: the client's wait, and the server's processor time."""

    seconds: float
    cpu_s: float


@dataclass(frozen=True)
class WebFigures:
    """Figures of one kind of call: milliseconds of one client that waits, calls a second of all at
    once.

    `cpu_ms` is the median of the server's processor time until the answer is there.
    """

    calls: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    cpu_ms: float
    calls_a_second: float


@dataclass(frozen=True)
class WebRow:
    """One kind of call; `nothing` are the figures of the tool that does nothing, measured in
    turn.
    """

    kind: str
    figures: WebFigures
    nothing: WebFigures

    @property
    def times(self) -> float:
        """The median in medians of the tool that does nothing."""
        return self.figures.p50_ms / self.nothing.p50_ms


@dataclass(frozen=True)
class WebReport:
    """All that one run measured."""

    surroundings: Surroundings
    clients: int
    rows: Sequence[WebRow]
    memory_mb: float


class Work:
    """The calls of one program, each with a text that no other call has."""

    def __init__(self, program: str, first: int, ids: int) -> None:
        self.program = program
        self._stores = itertools.count(first)
        self._questions = itertools.count(first)
        # a store after so many replaces the first of them, so that the program keeps its size
        self._ids = itertools.cycle(f"round-{each}-store" for each in range(ids))

    def calls(self) -> Mapping[str, Callable[[WebClient], float]]:
        """Return functions that make one call of each kind and return its seconds.

        The first is the only one that reads a program which another server has changed.
        """
        return {
            "recall with a query, program changed": self._recall,
            "store": self._store,
            LEAST: self._embed_and_commit,
            "recall with a query": self._recall,
            "recall, plain": self._list,
        }

    def nothing(self, client: WebClient) -> float:
        """Call the tool that does nothing."""
        return accepted(client.call(NOTHING, {"text": "x"})).seconds

    def _store(self, client: WebClient) -> float:
        number = next(self._stores)
        pattern = lesson(made_text(number), made_evidence(number), next(self._ids))
        return self._call(client, "store_memory", pattern=pattern)

    def _embed_and_commit(self, client: WebClient) -> float:
        number = next(self._stores)
        texts = {"text": made_text(number), "evidence": made_evidence(number)}
        return accepted(client.call("embed_and_commit", texts)).seconds

    def _recall(self, client: WebClient) -> float:
        return self._call(
            client, "recall_memory", limit=5, scope="own", query=question(next(self._questions))
        )

    def _list(self, client: WebClient) -> float:
        return self._call(client, "recall_memory", limit=5, scope="own")

    def _call(self, client: WebClient, tool: str, **arguments: object) -> float:
        return accepted(client.call(tool, {"programId": self.program, **arguments})).seconds


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="how long all clients make calls of one kind"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = measured(asked.rounds, asked.clients, asked.seconds, Path(folder))
    for line in web_tables(report):
        print(line)
    if asked.json:
        write_json(asked.json, report)


def measured(rounds: int, clients: int, seconds: float, folder: Path) -> WebReport:
    """Return the figures of one server: of one client that waits, then of all clients at once."""
    where = surroundings()
    variables = {
        "FLEET_MEMORY_STORE": str(folder / "memory.db"),
        "FLEET_MEMORY_MAINTENANCE": "off",  # as in made_fleet.py
        "FLEET_MEMORY_RATE": "off",
    }
    command = [sys.executable, str(WITH_RULERS), "--http", "127.0.0.1:0"]
    with made_fleet(SIZE, folder) as fleet:
        programs = [f"program-{number}" for number in range(clients)]
        tokens = anyio.run(tokens_of, programs, str(folder / "memory.db"))
        with web_server(command, variables, folder / "web.log") as server:
            connected = {program: WebClient(server.url, token) for program, token in tokens.items()}
            waits = one_at_a_time(server, connected["program-0"], fleet.other, rounds)
            rates = all_at_once(connected, seconds)
            rows = [
                WebRow(
                    kind, *(web_figures(waits[each], rates[each]) for each in (kind, beside(kind)))
                )
                for kind in kinds()
            ]
            memory_mb = server.memory_mb()
            for client in connected.values():
                client.close()
    return WebReport(where, clients, rows, memory_mb)


async def tokens_of(programs: Sequence[str], address: str) -> Mapping[str, str]:
    """Create a token of each program in the fleet's store."""
    settings = load({"store": address, "embedder": "lexical"}, {})
    lazy = LazyFleet(settings, clock(settings.now))
    try:
        fleet = await lazy.fleet()
        return {
            program: (await create_token(fleet, NewToken(program))).token for program in programs
        }
    finally:
        await lazy.close()


def kinds() -> Sequence[str]:
    """Return the kinds of calls that are measured."""
    return tuple(Work("", 0, 1).calls())


def beside(kind: str) -> str:
    """Return the name of the calls that do nothing and are made in turn with those of a kind."""
    return f"{NOTHING}, {kind}"


def one_at_a_time(
    server: WebServer, client: WebClient, other: RawServer, rounds: int
) -> Mapping[str, Sequence[WebSample]]:
    """Return each call of one client, each after one that does nothing; another server forgets
    their lessons.
    """
    samples: dict[str, list[WebSample]] = defaultdict(list)
    work = Work("program-0", FIRST_TEXT, rounds + 1)
    for number in range(rounds + 1):
        for kind, call in work.calls().items():
            for name, make in ((beside(kind), work.nothing), (kind, call)):
                before = server.cpu_s()
                seconds = make(client)
                if number:  # the first round imports and opens
                    samples[name].append(WebSample(seconds, server.cpu_s() - before))
        stored = {
            "programId": work.program,
            "patternId": f"round-{number}-store",
            "reason": "end of the round",
        }
        accepted(other.call("forget_memory", stored))
    return samples


def all_at_once(clients: Mapping[str, WebClient], seconds: float) -> Mapping[str, float]:
    """Return the calls a second of each kind that all clients make at once, in turns with the one
    that does nothing.
    """
    works = {
        program: Work(program, FIRST_TEXT + 1_000_000 * number, 20)
        for number, program in enumerate(clients, start=1)
    }
    calls: dict[str, int] = defaultdict(int)
    for _ in range(TURNS):
        for kind in kinds():
            idle = [(client, works[program].nothing) for program, client in clients.items()]
            calls[beside(kind)] += calls_within(idle, seconds / TURNS)
            busy = [(client, works[program].calls()[kind]) for program, client in clients.items()]
            calls[kind] += calls_within(busy, seconds / TURNS)
    return {kind: count / seconds for kind, count in calls.items()}


def calls_within(
    makers: Sequence[tuple[WebClient, Callable[[WebClient], float]]], seconds: float
) -> int:
    """Return how many calls all clients make at once within a time."""
    counts: list[int] = []
    deadline = time.perf_counter() + seconds

    def work(client: WebClient, call: Callable[[WebClient], float]) -> None:
        count = 0
        while time.perf_counter() < deadline:
            call(client)
            count += 1
        counts.append(count)

    threads = [threading.Thread(target=work, args=pair) for pair in makers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(counts) < len(makers):
        raise RuntimeError("a client failed; its traceback is above")
    return sum(counts)


def web_figures(samples: Sequence[WebSample], calls_a_second: float) -> WebFigures:
    """Return the figures of a kind of call from its samples and its rate."""
    waits = [each.seconds for each in samples]
    p50, p95, p99 = (1000 * percentile(waits, percent) for percent in (50, 95, 99))
    cpu_ms = 1000 * statistics.median(each.cpu_s for each in samples)
    return WebFigures(len(waits), p50, p95, p99, cpu_ms, calls_a_second)


def web_tables(report: WebReport) -> Iterator[str]:
    """Yield a markdown table of the waits of one client and the rates of all."""
    rates = f"{report.clients} clients: calls a second"
    header = ("call", "× nothing", "p50 ms", "p99 ms", "processor ms", rates, "nothing's")
    yield markdown_table(header, [cells(row) for row in report.rows])


def cells(row: WebRow) -> Sequence[str]:
    """Return a row of the table."""
    ours, budget = row.figures, WEB_BUDGETS.get(row.kind)
    over = budget is not None and row.times > budget
    return (
        row.kind,
        f"{row.times:.1f}, over {budget:.1f}" if over else f"{row.times:.1f}",
        *(f"{each:.1f}" for each in (ours.p50_ms, ours.p99_ms, ours.cpu_ms)),
        *(f"{each.calls_a_second:.0f}" for each in (ours, row.nothing)),
    )


if __name__ == "__main__":
    main()
