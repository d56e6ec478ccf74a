"""Twelve agents, 120 days, a world that changes on day 60: the rules keep their promises over the
life of a fleet.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks.fleet_life import AGENTS, CHANGE_DAY, DAYS, NEWCOMERS, Chronicle, Life, truths
from fleet_memory.fleet import Fleet
from fleet_memory.schemas.knowledge import KnowledgeRow
from fleet_memory.stores import Store
from fleet_memory.stores.sqlite import SqliteStore

# One group: one worker of pytest-xdist, so that the life is lived once
pytestmark = [pytest.mark.anyio, pytest.mark.kills, pytest.mark.xdist_group("fleet life")]

SEED = 5


class Lived(NamedTuple):
    """A life that was lived, and its memory."""

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


def test_newcomers_boot_with_the_fleets_knowledge(lived: Lived) -> None:
    for agent, day in NEWCOMERS.items():
        known = lived.chronicle.known_before[agent]
        shown = {row.key for row in lived.chronicle.first_boots[agent].knowledge}
        assert shown == known
        assert len(known) > len(truths()) / 4, (agent, day)


async def test_no_agent_reads_an_entry_that_became_false(lived: Lived) -> None:
    words = [report for report in lived.chronicle.reports if report.outcome == "contradicted"]
    assert {word.status for word in words} <= {"contested", "candidate", "retired"}
    gone = {text for truth in truths() if truth.before != truth.after for text in truth.before}
    obsolete = {key: row for key, row in (await rows(lived)).items() if row.pattern in gone}
    assert obsolete
    for key, row in obsolete.items():
        assert row.is_hidden, row
        days = {word.day for word in words if word.key == key}
        assert days
        assert min(days) >= CHANGE_DAY


async def test_its_replacement_became_knowledge(lived: Lived) -> None:
    new = {text for truth in truths() if truth.before != truth.after for text in truth.after}
    known = {row.pattern for row in (await rows(lived)).values() if not row.is_hidden}
    assert len(known & new) > len(new) / 2


async def test_no_lesson_is_lost(lived: Lived) -> None:
    kept = {
        (versioned.program.program_id, id_)
        for versioned in await lived.fleet.programs.all()
        for id_ in versioned.program.patterns
    }
    assert lived.chronicle.stored.keys() == kept


async def test_no_contributor_is_lost(lived: Lived) -> None:
    after = await rows(lived)
    assert lived.chronicle.contributors.keys() == after.keys()
    for key, contributors in lived.chronicle.contributors.items():
        entry = await lived.fleet.knowledge.found(key)
        assert contributors <= {one.program_id for one in entry.provenance}, (
            "a vote may be taken back, not its lesson"
        )


def test_the_growth_of_knowledge_levels_off(lived: Lived) -> None:
    entries = lived.chronicle.entries
    first, last = entries[29], entries[-1] - entries[-31]
    assert last < first / 4, entries[9::10]


async def test_a_life_of_the_same_seed_leaves_the_same_memory(lived: Lived, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    life = Life(store, SEED)
    assert await life.lived() == lived.chronicle
    assert await memory(life.fleet) == await memory(lived.fleet)
    await store.close()


async def memory(fleet: Fleet) -> tuple[object, ...]:
    """Return programs and entries without the ids of lines of the ledger, which are random."""
    programs = [versioned.program for versioned in await fleet.programs.all()]
    entries = [
        replace(versioned.entry, ledger=())
        for versioned in await fleet.knowledge.all()
        if versioned.entry
    ]
    return programs, entries
