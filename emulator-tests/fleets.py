"""A fleet in this process, on any store: tests call the tools as plain functions."""

from datetime import UTC, datetime

from fleet_memory.fleet import Fleet
from fleet_memory.schemas.answers.consolidation import ConsolidateAnswer
from fleet_memory.schemas.answers.memory import StoreAnswer
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store
from fleet_memory.tools.pattern_consolidate import pattern_consolidate
from fleet_memory.tools.store_memory import store_memory

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)


def fleet_on(store: Store, now: datetime = NOW, fleet_id: str = "default") -> Fleet:
    return Fleet.on(store, fleet_id, Lexical(), lambda: now)


async def learn(fleet: Fleet, program: str, *names: str) -> list[StoreAnswer]:
    """Store a lesson of each name; the same name is the same text in every program."""
    return [await store_memory(fleet, program, lesson(name)) for name in names]


def lesson(name: str) -> NewPattern:
    return NewPattern(pattern=f"Lesson {name}", domain=f"domain-{name}", confidence=0.8, evidence="seen", id=name)


async def consolidate(fleet: Fleet, *, dry_run: bool = False) -> ConsolidateAnswer:
    return await pattern_consolidate(fleet, _silently, dry_run=dry_run)


async def _silently(_done: float, _total: float, _message: str) -> None:
    """Report no progress."""
