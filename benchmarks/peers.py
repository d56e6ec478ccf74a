"""The same work for Fleet Memory and for the memories that people would pick instead, each as it
installs.

    python benchmarks/peers.py [--systems a,b] [--memories 100,1000,10000] [--rounds 50] [--race
    20x20] [--limit 600]
                               [--questions FILE] [--python PATH]... [--environments DIR] [--json
                               FILE]

Each peer comes from PyPI or npm into an environment of its own, in a temporary folder unless
--environments names one to keep. A system that cannot be had or does not answer is in the table
with its reason. Linux only.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from environments import Installed, Unavailable, install, interpreters_of
from measuring import surroundings, write_json
from peer_report import PeersReport, SystemReport, peers_tables
from peer_timing import Timing, timings
from peer_work import ask_questions, has_unshare, race, restart_offline
from questions import Asked, asked_of_every_system, in_other_words
from rpc import NoAnswerError
from sets import rows_of
from systems import SYSTEMS

_T = TypeVar("_T")


class Options(argparse.Namespace):
    """The command line."""

    systems: str
    memories: str
    rounds: int
    race: str
    limit: float
    questions: Path | None
    python: list[str]
    environments: Path | None
    json: Path | None


@dataclass
class Attempts:
    """Steps of one system; each that fails leaves its problem."""

    problems: list[str] = field(default_factory=list)

    def result(self, step: str, work: Callable[[], _T]) -> _T | None:
        """Return the work's result, None if it fails."""
        try:
            return work()
        except (NoAnswerError, RuntimeError) as error:
            self.problems.append(f"{step}: {' '.join(str(error).split())[:200]}")
            return None


def main() -> None:
    """Print the tables."""
    options = _options()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        report = measured(options, options.environments or folder / "environments", folder)
    for line in peers_tables(report):
        print(line)
    if options.json:
        write_json(options.json, report)


def measured(options: Options, environments: Path, folder: Path) -> PeersReport:
    """Return the figures of every system: by itself first, then in turn with the others."""
    where = surroundings()
    sets = [questions_of(options.questions)] if options.questions else asked_of_every_system()
    names = options.systems.split(",") if options.systems else [system.name for system in SYSTEMS]
    chosen = [system for system in SYSTEMS if system.name in names]
    interpreters = interpreters_of(options.python)
    had = [
        install(system, environments / system.name.replace(" ", ""), interpreters)
        for system in chosen
    ]
    reports = [
        measured_alone(each, options, sets, folder / f"alone-{number}")
        for number, each in enumerate(had)
    ]
    sizes = [int(size) for size in options.memories.split(",")]
    installed = [each for each in had if isinstance(each, Installed)]
    nothing, times = timings(installed, sizes, options.rounds, options.limit, folder / "timed")
    finished = [with_timing(report, times) for report in reports]
    return PeersReport(where, options.rounds, nothing, finished)


def questions_of(path: Path) -> Asked:
    """Return the questions of a tab-separated file: columns a and b, only rows of kind same if it
    has kinds.
    """
    rows = [row for row in rows_of(path) if row.get("kind", "same") == "same"]
    return in_other_words(path.name, [(row["a"], row["b"]) for row in rows], [])


def measured_alone(
    had: Installed | Unavailable, options: Options, sets: Sequence[Asked], folder: Path
) -> SystemReport:
    """Return the report of one system by itself, without its speeds."""
    system = had.system
    if isinstance(had, Unavailable):
        return SystemReport(
            system.name, "–", system.note, (), None, None, (), [f"cannot be had: {had.reason}"]
        )
    print(f"measuring {system.name} {had.version}", file=sys.stderr)
    servers, stores = (int(number) for number in options.race.split("x"))
    attempts = Attempts()
    questions = [
        attempts.result("questions", partial(ask_questions, had, folder / asked.name, asked))
        for asked in sets
    ]
    if has_unshare():
        folder_, texts = folder / sets[0].name, sets[0].patterns
        restart = attempts.result("restart", lambda: restart_offline(had, folder_, texts))
    else:
        restart = None
        attempts.problems.append("restart: this machine has no `unshare -rn`")
    if restart and restart.refusal:
        attempts.problems.append(f"after a restart offline: {restart.refusal}")
    raced = attempts.result(
        "race", lambda: race(had, folder / "race", servers, stores, options.limit)
    )
    if raced and raced.failure:
        attempts.problems.append(f"race: {raced.failure}")
    answered = [each for each in questions if each]
    return SystemReport(
        system.name, had.version, system.note, answered, restart, raced, (), attempts.problems
    )


def with_timing(report: SystemReport, times: Sequence[Timing]) -> SystemReport:
    """Return the report with the speeds of its system."""
    timing = next((each for each in times if each.name == report.name), None)
    if timing is None:
        return report
    problems = [*report.problems, *([f"speed: {timing.problem}"] if timing.problem else [])]
    return replace(report, speeds=timing.speeds, problems=problems)


def _options() -> Options:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--systems", default="", help="names, separated by commas; all by default")
    parser.add_argument(
        "--memories", default="100,1000,10000", help="numbers at which calls are timed"
    )
    parser.add_argument("--rounds", type=int, default=50, help="calls of each kind at each number")
    parser.add_argument(
        "--race", default="20x20", metavar="SERVERSxSTORES", help="servers that store at once"
    )
    parser.add_argument(
        "--limit", type=float, default=600.0, help="seconds of a fill, and of a race"
    )
    parser.add_argument(
        "--questions", type=Path, help="columns a (question) and b (text), instead of our sets"
    )
    parser.add_argument(
        "--python", action="append", default=[], help="an interpreter that environments may use"
    )
    parser.add_argument("--environments", type=Path, help="folder to keep the environments in")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser.parse_args(namespace=Options())


if __name__ == "__main__":
    main()
