"""The plan of a purge: the lessons, texts, pairs and keys that follow from a person's wish."""

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from fleet_memory.errors import InvalidArgumentError, KnowledgeNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.archive import archive_record
from fleet_memory.repositories.blocks import document_blocks
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.unreadable import UnreadableDocument, iter_readable
from fleet_memory.rules.erasing.knowledge import entry_fate, goes_with_pair
from fleet_memory.rules.erasing.targets import (
    ERASED,
    MIN_NEEDLE_CHARS,
    Erasure,
    Renamed,
    folded,
    hashed_key,
    names_made_of,
)
from fleet_memory.rules.text.closest import close_names
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import Query


class Wanted(NamedTuple):
    """A person's order to erase: a text, or a program (with `pattern`: one lesson), or an entry.
    `why` is kept.
    """

    text: str | None = None
    program: str | None = None
    pattern: str | None = None
    entry: str | None = None
    why: str = ""


class FoundText(NamedTuple):
    """A text of a lesson, wherever it stands. `lives`: it is in its program's memory."""

    program_id: str
    pattern_id: str
    text: str
    lives: bool = False


@dataclass
class Plan:
    """The whole erasure, the texts of the lessons and entries that go, and the documents that
    cannot be read.

    `alike`: programs of the wanted one's name in another spelling, which stay.
    """

    erasure: Erasure
    texts: set[str] = field(default_factory=set)
    alike: set[str] = field(default_factory=set)
    unreadable: list[UnreadableDocument] = field(default_factory=list)


def wish(wanted: Wanted) -> Erasure:
    """Return a wish as the rules take it. Raises InvalidArgumentError for none, several, or too
    short a text.
    """
    if wanted.pattern is not None and wanted.program is None:
        raise InvalidArgumentError(
            "--pattern: name its program too, with --program, or write PROGRAM/ID alone"
        )
    if sum(each is not None for each in (wanted.text, wanted.program, wanted.entry)) != 1:
        raise InvalidArgumentError(
            "--text, --program, --entry: give one of them, e.g. --text hunter2"
        )
    if wanted.text is None:
        return Erasure(program_id=wanted.program, pattern_id=wanted.pattern, key=wanted.entry)
    needle = folded(wanted.text)
    if len(needle) < MIN_NEEDLE_CHARS:
        raise InvalidArgumentError(
            f"--text: at least {MIN_NEEDLE_CHARS} characters; a shorter one is in most lessons"
        )
    if needle in ERASED or needle in hashed_key(""):
        raise InvalidArgumentError(
            "--text: is part of the mark that stands where a text was erased"
        )
    return Erasure(needle=needle)


async def plan_erasure(fleet: Fleet, wanted: Wanted) -> Plan:
    """Look through the fleet and return all that goes.

    Raises InvalidArgumentError for a wish that cannot be carried out, KnowledgeNotFoundError for an
    unknown entry. Billed 1 read for each program, page, entry, pair and line of the archive.
    """
    plan = Plan(wish(wanted))
    entries = [
        versioned.entry
        for versioned in await fleet.knowledge.all(plan.unreadable)
        if versioned.entry is not None
    ]
    plan.erasure = _with_entry(plan.erasure, entries, (await fleet.knowledge.snapshots.read()).rows)
    pairs = [pair async for pair in _pairs(fleet, plan)]
    names, others, stay = (
        set[tuple[str, str]](),
        set[str](),
        {entry.value.pattern for entry in entries},
    )
    async for lesson in _lessons(fleet, entries, pairs, plan):
        if plan.erasure.is_lesson_text(*lesson[:3]):
            plan.texts.add(lesson.text)
            names.add((lesson.program_id, lesson.pattern_id))
            continue
        stay.add(lesson.text)
        if lesson.lives:
            others.add(text_hash(lesson.text))
    texts = {entry.value.pattern for entry in entries if plan.erasure.erases(entry.value.pattern)}
    plan.texts |= texts
    words = {text_hash(text) for text in plan.texts} | plan.erasure.words
    lessons = (
        frozenset() if plan.erasure.program_id is not None else frozenset(names)
    )  # those it knows by name
    erasure = replace(plan.erasure, lessons=lessons, words=frozenset(words - others))
    if erasure.needle:
        erasure = replace(
            erasure,
            made=_names_of({*plan.texts, wanted.text or ""}),
            kept=_names_of(stay - plan.texts),
        )
    erasure = replace(erasure, entries=_fates(entries, erasure))
    gone = frozenset(pair.pair_id for pair in pairs if goes_with_pair(pair, erasure))
    plan.erasure = replace(erasure, pairs=gone)
    return plan


def _names_of(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(names_made_of, texts)))


def _with_entry(
    erasure: Erasure, entries: Iterable[Entry], rows: Sequence[KnowledgeRow]
) -> Erasure:
    """Return an erasure of an entry with the words of its text. Raises KnowledgeNotFoundError."""
    if erasure.key is None:
        return erasure
    texts = [entry.value.pattern for entry in entries if entry.key == erasure.key]
    texts += [row.pattern for row in rows if row.key == erasure.key]  # of a purge that was killed
    if not texts:
        raise KnowledgeNotFoundError(
            erasure.key, close_names(erasure.key, [row.key for row in rows if row.is_known])
        )
    return replace(erasure, words=frozenset(map(text_hash, texts)))


def _fates(entries: Iterable[Entry], erasure: Erasure) -> dict[str, Renamed]:
    """Return the new key and text of each entry that changes either, each under a key that no other
    entry has.
    """
    known = {entry.key for entry in entries}
    fates = {erasure.key: Renamed(hashed_key(erasure.key))} if erasure.key is not None else {}
    for entry in entries:
        fate = entry_fate(entry, erasure)
        while fate is not None and fate.key in known - {entry.key}:
            fate = replace(fate, key=hashed_key(fate.key.rpartition("/")[2]))
        if fate is not None:
            fates[entry.key] = fate
    return fates


async def _pairs(fleet: Fleet, plan: Plan) -> AsyncIterator[Pair]:
    async for documents in document_blocks(fleet.pairs.store, Query(fleet.pairs.paths.pairs)):
        for versioned in iter_readable(documents, versioned_pair, plan.unreadable):
            if versioned.pair is not None:
                yield versioned.pair


async def _lessons(
    fleet: Fleet, entries: Iterable[Entry], pairs: Iterable[Pair], plan: Plan
) -> AsyncIterator[FoundText]:
    """Yield every text of every lesson, wherever it stands."""
    async for block in fleet.programs.in_blocks():
        plan.unreadable += block.unreadable
        for versioned in block.programs:
            if plan.erasure.is_spelt_otherwise(versioned.program.program_id):
                plan.alike.add(versioned.program.program_id)
            for lesson in _lessons_of(versioned.program):
                yield lesson
    async for lesson in _archived_lessons(fleet, plan):
        yield lesson
    for lesson in chain(_contributed(entries), _sides(pairs)):
        yield lesson


def _lessons_of(program: Program) -> Iterator[FoundText]:
    for pattern in program.patterns.values():
        yield FoundText(program.program_id, pattern.id, pattern.pattern, lives=True)


async def _archived_lessons(fleet: Fleet, plan: Plan) -> AsyncIterator[FoundText]:
    archive = fleet.programs.archive
    async for documents in document_blocks(archive.store, Query(archive.paths.archive)):
        for record in iter_readable(documents, archive_record, plan.unreadable):
            if isinstance(record, Archived):
                yield FoundText(record.program_id, record.pattern.id, record.pattern.pattern)


def _contributed(entries: Iterable[Entry]) -> Iterator[FoundText]:
    return (
        FoundText(line.program_id, line.pattern_id, line.pattern)
        for entry in entries
        for line in entry.provenance
    )


def _sides(pairs: Iterable[Pair]) -> Iterator[FoundText]:
    sides = (side for pair in pairs for side in (pair.a, pair.b) if side.key is None)
    return (FoundText(side.program_id, side.pattern_id, side.text) for side in sides)
