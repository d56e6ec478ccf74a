"""A fleet in this process, on any store: tests call the tools as plain functions."""

from datetime import UTC, datetime

from fleet_memory.fleet import Fleet
from fleet_memory.repositories.snapshots import ABSENT_ENTRY
from fleet_memory.schemas.knowledge import Contribution, Entry, EntryValue, Publication
from fleet_memory.schemas.patterns import NewPattern
from fleet_memory.similarity.lexical import Lexical
from fleet_memory.stores import Store, Write
from fleet_memory.tools.core.judging import ConsolidateAnswer, pattern_consolidate
from fleet_memory.tools.core.lessons import StoreAnswer, store_memory
from tests.fleets import show

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)


def fleet_on(store: Store, now: datetime = NOW, fleet_id: str = "default") -> Fleet:
    return Fleet.on(store, fleet_id, Lexical(), lambda: now)


async def learn(fleet: Fleet, program: str, *names: str) -> list[StoreAnswer]:
    """Store a lesson of each name; the same name is the same text in every program."""
    return [await store_memory(fleet, program, lesson(name, program)) for name in names]


def lesson(name: str, program: str = "basher") -> NewPattern:
    """Return a lesson with evidence of its program, so that equal words are a discovery of each."""
    return NewPattern(
        pattern=f"Lesson {name}",
        domain=f"domain-{name}",
        confidence=0.8,
        evidence=f"{program} saw it fail twice",
        id=name,
    )


LOOK = "Check that a task is still free before you claim it"
FREE = "Make sure a task is free before claiming it"


async def learn_text(fleet: Fleet, program: str, text: str) -> None:
    """Store a text as a lesson of a program."""
    sent = NewPattern(
        pattern=text,
        domain="claims",
        confidence=0.8,
        evidence=f"{program} saw it fail twice",
        id="claims",
    )
    await store_memory(fleet, program, sent)


async def open_pair(fleet: Fleet, *programs: str) -> str:
    """Let two programs learn the same in words of their own, and show both the pair that a run
    opens; return its id.
    """
    for program, text in zip(programs, (LOOK, FREE), strict=False):
        await learn_text(fleet, program, text)
    await consolidate(fleet)
    (pair,) = [one for one in await fleet.pairs.waiting() if FREE in (one.a.text, one.b.text)]
    for program in (pair.a.program_id, pair.b.program_id):
        await show(fleet, program, pair)
    return pair.pair_id


async def consolidate(fleet: Fleet, *, dry_run: bool = False) -> ConsolidateAnswer:
    return await pattern_consolidate(fleet, _silently, dry_run=dry_run)


def published_entry(
    key: str, text: str, domain: str, *, vector: str = "", embedder: str = ""
) -> Entry:
    """Return an entry that two programs learnt in the same words, published and behind no doubt."""
    value = EntryValue(
        pattern=text,
        domain=domain,
        confidence=0.8,
        contributors=("iso", "sark"),
        evidence_count=2,
        first_discovered=NOW,
        last_promoted=NOW,
    )
    learnt = tuple(
        Contribution(
            program_id=program,
            pattern_id="a",
            pattern=text,
            confidence=0.8,
            discovered_at=NOW,
            stored_at=NOW,
            similarity=1.0,
            basis="equal_words",
        )
        for program in value.contributors
    )
    return Entry(
        key=key,
        value=value,
        provenance=learnt,
        publications=(Publication(at=NOW, threshold=2, tried=1),),
        last_confirmed=NOW,
        vector=vector,
        embedder=embedder,
    )


def entry_writes(fleet: Fleet, entry: Entry) -> list[Write]:
    """Return the writes of a new entry."""
    return fleet.knowledge.writes(ABSENT_ENTRY, entry, by="test", why="", now=NOW)


async def _silently(_done: float, _total: float, _message: str) -> None:
    """Report no progress."""
