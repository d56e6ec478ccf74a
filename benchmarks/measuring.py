"""Calls that take turns, and the figures of each kind of call: the ruler of calls.py and
peers.py.
"""

import json
import os
import platform
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from rpc import Arguments, RawServer, Reply

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROOT: Final = Path(__file__).parent.parent


class Sample(NamedTuple):
    """One call: the client's wait, and the server's processor time and bytes until its next call
    began.
    """

    seconds: float
    cpu_s: float
    written: int


@dataclass(frozen=True)
class Figures:
    """Figures of one kind of call: wall milliseconds, mean processor milliseconds, median and mean
    of kB written.

    The mean has also the pages that a database copies from its log to its file now and then.
    """

    calls: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    written_kb: float
    mean_written_kb: float


@dataclass(frozen=True)
class Surroundings:
    """Where and when a report was made; `load` is the machine's average load when it began."""

    at: str
    version: str
    commit: str
    processor: str
    cores: int
    python: str
    load: float


class Meter:
    """Calls one server and keeps a sample of each call by its kind.

    A call pays for all that its server does until the next call begins, so that work after the
    answer is counted.
    """

    def __init__(self, server: RawServer) -> None:
        self._server = server
        self._samples: dict[str, list[Sample]] = defaultdict(list)
        self._open: tuple[str, float, float, int] | None = None

    def call(self, kind: str, tool: str, arguments: Arguments) -> Reply:
        """Call a tool and keep the sample. Raises NoAnswerError, and RuntimeError for a refusal."""
        self.settle()
        cpu_s, written = self._server.cpu_s(), self._server.written()
        reply = accepted(self._server.call(tool, arguments))
        self._open = kind, reply.seconds, cpu_s, written
        return reply

    def settle(self) -> None:
        """Close the last call's sample: work that its server does from now on is not counted."""
        if self._open:
            kind, seconds, cpu_s, written = self._open
            self._samples[kind].append(
                Sample(seconds, self._server.cpu_s() - cpu_s, self._server.written() - written)
            )
            self._open = None

    def forget_samples(self) -> None:
        """Start over, e.g. after a first round that only warms up."""
        self.settle()
        self._samples.clear()

    def figures(self, kind: str) -> Figures:
        """Return the figures of a kind that has been called."""
        self.settle()
        return figures_of(self._samples[kind])


def accepted(reply: Reply) -> Reply:
    """Return the reply, or raise RuntimeError with its text when it is a refusal."""
    if reply.refused:
        raise RuntimeError(f"refused: {reply.text[:300]}")
    return reply


def figures_of(samples: Sequence[Sample]) -> Figures:
    """Return the figures of at least one sample."""
    return Figures(
        calls=len(samples),
        p50_ms=1000 * statistics.median(each.seconds for each in samples),
        p95_ms=1000 * percentile([each.seconds for each in samples], 95),
        cpu_ms=1000 * statistics.fmean(each.cpu_s for each in samples),
        written_kb=statistics.median(each.written for each in samples) / 1000,
        mean_written_kb=statistics.fmean(each.written for each in samples) / 1000,
    )


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least `percent` of 100 values do not exceed, e.g. the 95th
    of 100.
    """
    ranked = sorted(values)
    return ranked[max(0, -(-percent * len(ranked) // 100) - 1)]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Return a markdown table whose first `words` columns are text and whose others are figures."""
    lines = [header, [*["---"] * words, *["--:"] * (len(header) - words)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_json(path: Path, report: "DataclassInstance") -> None:
    """Write a report as JSON, figures with four digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rounded(asdict(report)), indent=1) + "\n", encoding="utf-8")


def rounded(value: object) -> object:
    """Return the value with each float in it rounded to four digits after the point."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def surroundings() -> Surroundings:
    """Return where and when this runs."""
    return Surroundings(
        at=f"{datetime.now(UTC):%Y-%m-%d}",
        version=version("fleet-memory"),
        commit=_commit(),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        python=platform.python_version(),
        load=round(os.getloadavg()[0], 1),
    )


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
