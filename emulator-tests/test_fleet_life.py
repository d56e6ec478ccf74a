"""Twelve agents, 120 days, a world that changes on day 60: what the rules promise holds over the life of a fleet."""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from benchmarks.fleet_life import AGENTS, CHANGE_DAY, DAYS, NEWCOMERS, Chronicle, Life, Report, truths
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.transfer import export_fleet
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.server.composition import with_store
from fleet_memory.settings import load
from fleet_memory.stores import Query, Store
from fleet_memory.stores.sqlite import SqliteStore

# One group: one worker of pytest-xdist, so that the life is lived once
pytestmark = [pytest.mark.anyio, pytest.mark.kills, pytest.mark.xdist_group("fleet life")]

SEED = 5


class Lived(NamedTuple):
    """A life that was lived, and what it left."""

    chronicle: Chronicle
    fleet: Fleet
    store: Store
    file: Path


@pytest.fixture(scope="module")
async def lived(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lived]:
    file = tmp_path_factory.mktemp("life") / "memory.db"
    store = SqliteStore(file)
    life = Life(store, SEED)
    yield Lived(await life.lived(), life.fleet, store, file)
    await store.close()


async def rows(lived: Lived) -> dict[str, KnowledgeRow]:
    return {row.key: row for row in (await lived.fleet.knowledge.snapshots.read()).rows}


def test_the_fleet_worked_and_its_knowledge_was_used(lived: Lived) -> None:
    assert lived.chronicle.sessions > DAYS * AGENTS / 4
    assert len(lived.chronicle.reports) > lived.chronicle.sessions
    assert lived.chronicle.entries[-1] > len(truths()) / 2


def test_newcomers_boot_with_what_the_fleet_knows(lived: Lived) -> None:
    for agent, day in NEWCOMERS.items():
        known = lived.chronicle.known_before[agent]
        shown = {row.key for row in lived.chronicle.first_boots[agent].knowledge}
        assert shown == known
        assert len(known) > len(truths()) / 4, (agent, day)


async def test_what_became_false_is_contested_at_the_first_word_and_retired_at_the_second(lived: Lived) -> None:
    reports = lived.chronicle.reports
    assert [report.status for report in reports] == predicted(reports)
    gone = {text for truth in truths() if truth.before != truth.after for text in truth.before}
    obsolete = {key: row for key, row in (await rows(lived)).items() if row.pattern in gone}
    assert obsolete
    for key, row in obsolete.items():
        words = [report for report in reports if report.key == key and report.outcome == "contradicted"]
        assert row.state == "retired", row
        assert len({word.program_id for word in words}) == 2
        assert all(word.day >= CHANGE_DAY for word in words)


def predicted(reports: Sequence[Report]) -> list[str]:
    """Return the status that docs/knowledge.md gives an entry after each report; every session is an origin."""
    against: dict[str, set[str]] = defaultdict(set)
    expected = []
    for report in reports:
        if report.outcome == "confirmed":
            against[report.key].clear()
        else:
            against[report.key].add(report.program_id)
        expected.append(("fresh", "contested", "retired")[len(against[report.key])])
    return expected


async def test_what_replaced_it_became_knowledge(lived: Lived) -> None:
    new = {text for truth in truths() if truth.before != truth.after for text in truth.after}
    known = {row.pattern for row in (await rows(lived)).values() if not row.is_hidden}
    assert len(known & new) > len(new) / 2


async def test_no_lesson_is_lost(lived: Lived) -> None:
    programs = {held.program.program_id: held.program for held in await lived.fleet.programs.all()}
    archive = await lived.store.find(Query("fleets/default/archive"))
    kept = {(str(document.fields["programId"]), str(document.fields["patternId"])) for document in archive}
    for name, program in programs.items():
        kept |= {(name, id_) for id_ in program.patterns}
    assert lived.chronicle.stored.keys() <= kept
    reasons = {document.fields["reason"] for document in archive}
    assert reasons == {"cap", "decay"}, "this world is too easy"


async def test_no_contributor_is_lost(lived: Lived) -> None:
    after = await rows(lived)
    assert lived.chronicle.contributors.keys() == after.keys()
    for key, contributors in lived.chronicle.contributors.items():
        assert contributors == set(after[key].contributors)
        assert (await lived.fleet.knowledge.read_versioned(key))[0].entry is not None


def test_the_growth_of_knowledge_levels_off(lived: Lived) -> None:
    entries = lived.chronicle.entries
    first, last = entries[29], entries[-1] - entries[-31]
    assert last < first / 4, entries[9::10]


async def test_a_life_of_the_same_seed_leaves_the_same_bytes(lived: Lived, tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    store = SqliteStore(file)
    again = await Life(store, SEED).lived()
    await store.close()
    assert again == lived.chronicle
    assert await written(file, tmp_path / "again.jsonl") == await written(lived.file, tmp_path / "once.jsonl")


async def written(store: Path, file: Path) -> bytes:
    now = datetime.fromisoformat("2026-06-01T00:00:00Z")

    async def export(opened: Store) -> int:
        return await export_fleet(opened, "default", file, now, force=False, step=_silently)

    await with_store(load({"store": str(store)}, {}), export)
    return await anyio.Path(file).read_bytes()


def _silently(_done: int, _total: int) -> None:
    """Report no progress."""
