"""What consolidation costs: a large fleet from cold, then a little that is new.

Run: python benchmarks/consolidation.py [--programs 1000] [--patterns 100] [--domains 200] [--promotions 500]

Lessons are made up: a direction per domain, a direction of its own per lesson, and near-copies of 500 of them in other
programs. It prints figures and fails when the run after ten sessions of five lessons costs more than a twentieth of the
cold one, or when a run reads more than the programs, shards and snapshot that the new lessons touch.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import anyio
import numpy as np

from fleet_memory.fleet import Fleet
from fleet_memory.jobs.consolidation import ConsolidationReport
from fleet_memory.jobs.consolidation.runs import consolidate
from fleet_memory.jobs.consolidation.scene import RunScope
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.vectors import Vectors, packed, unpacked
from fleet_memory.schemas.patterns import Pattern
from fleet_memory.schemas.programs import Program
from fleet_memory.schemas.similarity import Profile
from fleet_memory.stores import Document, Query, Ref, Store
from fleet_memory.stores.sqlite import SqliteStore

SPOKEN: Final = (
    "agent always archive batch branch budget cache claim cluster commit context copy deploy diff domain drain "
    "emulator entry error fence file flag fleet flush gate graph group guard hash heap hook index job key lease "
    "ledger limit link lock log loop map merge metric model nudge order page parse patch path pin plan pool port "
    "probe prompt proxy queue quota read rebase record reset retry review role roll rotate rule run scan schema "
    "scope seed shard shell slot snapshot stage state store stream sweep table tag task tenant test token tool "
    "topic trace trim vector view "
)
WORDS: Final = SPOKEN.split()
NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
SIZE: Final = 384
NEW: Final = 50
SESSIONS: Final = (10, 50)  # a quarter of an hour's work of ten agents; the same, scattered as widely as it can be


class Unasked:
    """An embedder that is never asked: every lesson here comes with its vector."""

    name = "made-up/1"
    profile = Profile()
    degraded = ""

    async def ready(self) -> None:
        """See `Embedder.ready`."""

    async def vectors(self, texts: Sequence[str]) -> Vectors:
        """See `Embedder.vectors`."""
        raise AssertionError(f"asked for {len(texts)} vectors")


class Counting(SqliteStore):
    """A store that counts the documents it reads, by collection."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: Counter[str] = Counter()

    async def get(self, *refs: Ref) -> list[Document | None]:
        """See `Store.get`."""
        self.read.update(ref.collection.rpartition("/")[2] for ref in refs)
        return await super().get(*refs)

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        found = await super().find(query)
        self.read[query.collection.rpartition("/")[2]] += max(1, len(found))
        return found


def main() -> int:
    """Run the benchmark and return 0 when the second run kept its promises."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in (("programs", 1000), ("patterns", 100), ("domains", 200), ("promotions", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return anyio.run(measured, parser.parse_args())


async def measured(sizes: argparse.Namespace) -> int:
    """Print what both runs cost."""
    made = MadeUp(sizes)
    with tempfile.TemporaryDirectory() as folder:
        store = Counting(Path(folder) / "memory.db")
        fleet = Fleet.on(store, "default", Unasked(), lambda: NOW)
        await seeded(store, fleet, made.programs())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cold_s, cold = await timed(store, fleet)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reads = dict(store.read)
        print(f"| cold: {sizes.programs * sizes.patterns} patterns | {cold_s:.1f} s | {told(cold)} | {reads} |")
        print(f"| peak memory | {peak / 1024:.0f} MB ({before / 1024:.0f} MB before the run) | | |")
        kept = len(cold.promoted) >= sizes.promotions * 0.9
        for sessions in SESSIONS:
            touched = await stored_anew(fleet, made, sessions)
            new_s, new = await timed(store, fleet)
            reads = dict(store.read)
            ratio = cold_s / new_s
            where = f"{NEW} new patterns of {sessions} sessions in {touched} domains"
            print(f"| {where} | {new_s:.2f} s, 1/{ratio:.0f} of cold | {told(new)} | {reads} |")
            # The index and the pairs are two reads more; a contributor or two may be read again for its mark.
            kept &= reads["waiting"] <= 2 + touched and reads["programs"] <= sessions + 2 * len(new.promoted) + 10
            kept &= ratio >= 20 or sessions != SESSIONS[0]
        await store.close()
    return 0 if kept else 1


async def timed(store: Counting, fleet: Fleet) -> tuple[float, ConsolidationReport]:
    """Consolidate and return the processor seconds (steadier than the clock on a shared machine) and the report."""
    store.read.clear()
    began = time.process_time()
    report = await consolidate(fleet, RunScope(2, NOW), silently)
    return time.process_time() - began, report


def told(report: ConsolidationReport) -> str:
    """Return a report in a line."""
    return f"{len(report.promoted)} promoted, {len(report.pairs)} pairs open, {report.waiting} waiting"


async def silently(_done: float, _total: float, _message: str) -> None:
    """Report no progress."""


async def seeded(store: Store, fleet: Fleet, programs: Sequence[Program]) -> None:
    """Store whole programs, as if each pattern had been stored and not considered."""
    for start in range(0, len(programs), 25):
        batch = programs[start : start + 25]
        held = await fleet.programs.read_versioned(*(program.program_id for program in batch))
        await store.commit(*(w for one, p in zip(held, batch, strict=True) for w in fleet.programs.writes(one, p)))


async def stored_anew(fleet: Fleet, made: "MadeUp", sessions: int) -> int:
    """Add 50 new patterns by so many programs, each in a domain of its own; return how many domains they are of."""
    domains: set[str] = set()
    for held in await fleet.programs.read_versioned(*(f"program-{n}" for n in range(sessions))):
        new = {pattern.id: pattern for pattern in made.new(NEW // sessions)}
        program = held.program
        after = replace(program, patterns={**program.patterns, **new}, pending=(*program.pending, *new))
        await fleet.programs.store.commit(*fleet.programs.writes(held, after))
        domains.update(pattern.domain for pattern in new.values())
    return len(domains)


class MadeUp:
    """A fleet of made-up lessons."""

    def __init__(self, sizes: argparse.Namespace) -> None:
        self._sizes = sizes
        self._random = np.random.default_rng(7)
        self._centres = self._random.normal(size=(sizes.domains, SIZE))
        self._count = 0

    def programs(self) -> list[Program]:
        """Return the programs, every pattern pending, with near-copies of some lessons in other programs."""
        sizes = self._sizes
        memory = [[self._lesson() for _ in range(sizes.patterns)] for _ in range(sizes.programs)]
        for number in range(sizes.promotions):
            twin, other = number % sizes.programs, (number * 7 + sizes.programs // 2) % sizes.programs
            at = number // sizes.programs
            memory[other][-1 - at] = self._copy(memory[twin][at])
        return [self._program(f"program-{name}", patterns) for name, patterns in enumerate(memory)]

    def new(self, count: int) -> list[Pattern]:
        """Return lessons of one domain that nobody has learnt yet."""
        domain = int(self._random.integers(self._sizes.domains))
        return [self._lesson(domain) for _ in range(count)]

    def _program(self, name: str, patterns: Sequence[Pattern]) -> Program:
        ids = {pattern.id: pattern for pattern in patterns}
        return Program(program_id=name, last_update=NOW, pending=tuple(ids), patterns=ids)

    def _lesson(self, domain: int | None = None) -> Pattern:
        domain = int(self._random.integers(self._sizes.domains)) if domain is None else domain
        vector = 0.5 * self._centres[domain] + self._random.normal(size=SIZE)
        return self._pattern(" ".join(self._random.choice(WORDS, 10, replace=False)), f"domain-{domain}", vector)

    def _copy(self, pattern: Pattern) -> Pattern:
        vector = unpacked([pattern.vector])[0] + self._random.normal(size=SIZE) * 0.01
        return self._pattern(pattern.pattern + " please", pattern.domain, vector)

    def _pattern(self, text: str, domain: str, vector: Vectors) -> Pattern:
        self._count += 1
        return Pattern(
            id=f"lesson-{self._count}",
            domain=domain,
            pattern=text,
            confidence=0.8,
            evidence="seen in three sessions of last week, and twice before that",
            discovered_at=NOW,
            last_reinforced=NOW,
            stored_at=NOW,
            words=text_hash(text),
            vector=packed(vector.astype(np.float32)),
            embedder=Unasked.name,
        )


if __name__ == "__main__":
    sys.exit(main())
