"""Erase for good: a text wherever it stands, a program's memory, one lesson, or an entry.

Traces of the texts go first (hashes, pairs, lines of the ledger), then the texts themselves, an
entry last and a program after that: a run that was killed anywhere finds by them the rest, and
finishes.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final, NamedTuple, TypeAlias, cast

from fleet_memory.errors import ConflictError, InvalidArgumentError, KnowledgeNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import clean_text
from fleet_memory.jobs.fenced_writer import LEASE_S, FencedWriter, leased
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    decoded,
    document_blocks,
    is_no_text,
    iter_readable,
    plain,
)
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.policies import versioned_policy
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.records import archive_record, ledger_line, line_fields
from fleet_memory.repositories.retrying import new_commit_id, retry_conflicts
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, VersionedEntry, changed_entry_fields
from fleet_memory.rules.deciding import PERSON
from fleet_memory.rules.entries import ledger_event, ledger_id, settled
from fleet_memory.rules.erasing import (
    ERASED,
    MIN_NEEDLE_CHARS,
    Erasure,
    Renamed,
    entry_after,
    entry_fate,
    folded,
    goes_with_pair,
    hashed_key,
    line_of_ledger_after,
    names_made_of,
    pair_after,
    texts_in,
    without_erased,
    without_traces,
)
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, KnowledgeRow, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import ABSENT, Document, Json, Query, Write


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

    `alike`: programs of the wanted one's name in another spelling and its subagents, which stay.
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
    unknown entry. Billed 1 read for each program, entry, pair and line of the archive.
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
            if plan.erasure.stays_beside(versioned.program.program_id):
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


_WHY: Final = "a purge erased contributions"
_TIME: Final = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)"
)  # no text, though a year may be looked for


def program_writes(fleet: Fleet, versioned: VersionedProgram, erasure: Erasure) -> list[Write]:
    """Return the writes that erase in a program."""
    after = without_erased(without_traces(versioned.program, erasure), erasure)
    return fleet.programs.writes(versioned, after)


def trace_writes(fleet: Fleet, versioned: VersionedProgram, erasure: Erasure) -> list[Write]:
    """Return the write that makes a program forget that it was shown erased texts."""
    return fleet.programs.writes(versioned, without_traces(versioned.program, erasure))


def entry_writes(
    fleet: Fleet, versioned: VersionedEntry, erasure: Erasure, policy: Policy, now: datetime
) -> list[Write]:
    """Return the writes that erase in an entry, rename it or remove it, and the ledger line of its
    state or votes.
    """
    before = versioned.entry
    if before is None:
        return []
    after, ref = entry_after(before, erasure), fleet.knowledge.paths.entry(before.key)
    if after is None:
        return [Write(ref, None, versioned.revision)]
    after = settled(before, after, policy, now)
    if after is before:
        return []
    is_renamed = after.key != before.key
    target = ABSENT_ENTRY if is_renamed else versioned
    event = ledger_event(before, after, now)
    if event is None:
        writes = [
            Write(
                fleet.knowledge.paths.entry(after.key),
                changed_entry_fields(target, after),
                target.revision,
            )
        ]
    else:
        by, commit_id = fleet.caller.program_id or PERSON, new_commit_id()
        writes = fleet.knowledge.writes(
            target, after, by=by, why=_WHY, now=now, commit_id=commit_id, event=event
        )
    return [Write(ref, None, versioned.revision), *writes] if is_renamed else writes


def pair_writes(fleet: Fleet, document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a pair of a text that goes, or its evidence and reasons that
    do.
    """
    versioned = versioned_pair(document)
    if versioned.pair is None:
        return []
    if goes_with_pair(versioned.pair, erasure):
        return [Write(document.ref, None, document.revision)]
    after = pair_after(versioned.pair, erasure)
    return [] if after is versioned.pair else [fleet.pairs.write(versioned, after)]


def policy_writes(fleet: Fleet, document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that takes a judge model's name out of the policy: its only text of
    anybody's words.
    """
    before = versioned_policy(document)
    if not erasure.erases(before.policy.judge_model):
        return []
    return [fleet.policies.write(before, replace(before.policy, judge_model=""))]


def ledger_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that hashes names and erases the reason in a line of the ledger."""
    line = ledger_line(document)
    after = line_of_ledger_after(line, erasure)
    return [] if after is line else [Write(document.ref, line_fields(after), document.revision)]


def record_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a document of a program whose text, lesson or program goes.

    For the archive, the history, and the documents that an older version derived.
    """
    return [Write(document.ref, None, document.revision)] if _goes(document, erasure) else []


def token_writes(document: Document, erasure: Erasure) -> list[Write]:
    """Return the write that removes a token of a program that goes; a token has no text of
    anybody's.
    """
    goes = erasure.is_program(str(document.fields.get("programId")))
    return [Write(document.ref, None, document.revision)] if goes else []


def removal_writes(fleet: Fleet, versioned: VersionedProgram) -> list[Write]:
    """Return the writes that remove a program."""
    ref = fleet.programs.paths.program(versioned.program.program_id)
    return [Write(ref, None, versioned.revision)]


def _goes(document: Document, erasure: Erasure) -> bool:
    value = plain(document.fields)
    if holds_text(value, erasure):
        return True
    fields = cast("dict[str, object]", value)
    lesson = fields.get("pattern")  # of the archive
    if isinstance(lesson, dict):
        return erasure.is_lesson_text(
            str(fields["programId"]), str(lesson["id"]), str(lesson["pattern"])
        )
    inner = fields.get("text") if isinstance(fields.get("text"), dict) else fields
    program_id = str(cast("dict[str, object]", inner).get("programId", fields.get("programId", "")))
    if erasure.is_program(program_id):
        return True
    names = set(texts_in(value))
    theirs = {id_ for name, id_ in erasure.lessons if name == program_id}
    if erasure.pattern_id is not None and erasure.is_lesson(program_id, erasure.pattern_id):
        theirs.add(erasure.pattern_id)
    return not names.isdisjoint(theirs | erasure.entries.keys() | erasure.pairs)


def holds_text(value: object, erasure: Erasure) -> bool:
    """Whether a text or a name in a JSON value is or holds the one that goes, vectors and hashes
    aside.
    """
    match value:
        case str() if _TIME.fullmatch(value):
            return False
        case str():
            return erasure.erases(value) or (" " not in value and erasure.erases_name(value))
        case list():
            return any(holds_text(item, erasure) for item in value)
        case dict():
            return any(
                not is_no_text(name, item) and (erasure.erases(name) or holds_text(item, erasure))
                for name, item in value.items()
            )
        case _:
            return False


def _is_erased_lesson(line: Json, erasure: Erasure) -> bool:
    """Whether a line of a shelf is a lesson that goes or holds what goes; False for other lines."""
    match line:
        case {"programId": str(program_id), "id": str(id_)}:
            return (
                erasure.is_program(program_id)
                or erasure.is_lesson(program_id, id_)
                or holds_text(line, erasure)
            )
        case _:
            return False


_KINDS: Final = {  # of documents and of parts of programs
    "notes": ("note", "notes"),
    "questions": ("question", "questions"),
    "pairs": ("pair", "pairs"),
    "archive": ("line of the archive", "lines of the archive"),
    "history": ("earlier handover", "earlier handovers"),
    "waiting": ("older document", "older documents"),
    "ledger": ("line of the ledger", "lines of the ledger"),
    "policy": ("policy", "policies"),
    "tokens": ("token", "tokens"),
    "states": ("program's handover or config", "programs' handovers or configs"),
}


@dataclass
class Found:
    """Names of lessons ("iso/use-wal"), entries with their changes, and counts of other things by
    kind.
    """

    programs: dict[str, str] = field(default_factory=dict)
    lessons: set[str] = field(default_factory=set)
    entries: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)

    def sums(self) -> str:
        """Return e.g. "1 lesson, 2 pairs", without a name."""
        named = [(self.programs, "program", "programs"), (self.lessons, "lesson", "lessons")]
        counts = [counted(len(names), one, many) for names, one, many in named if names]
        counts += [counted(len(self.entries), "entry", "entries")] if self.entries else []
        counts += [counted(len(self.names), "name")] if self.names else []
        return ", ".join([*counts, *self.other_sums()])

    def other_sums(self) -> list[str]:
        """Return e.g. ["2 pairs", "1 line of the ledger"]."""
        return [counted(count, *_KINDS[kind]) for kind, count in self.others.items() if count]


@dataclass
class Findings:
    """The documents that go, and those that stay without their erased parts."""

    gone: Found = field(default_factory=Found)
    changed: Found = field(default_factory=Found)

    def sums(self) -> str:
        """Return e.g. "1 lesson, 2 pairs; changed: 1 entry", without a name."""
        gone, changed = self.gone.sums(), self.changed.sums()
        return "; ".join([*([gone] if gone else []), *([f"changed: {changed}"] if changed else [])])

    def document(self, kind: str, writes: Sequence[Write]) -> None:
        """Note a document of a kind that goes, or changes."""
        findings = self.changed if any(write.fields for write in writes) else self.gone
        findings.others[kind] += 1

    def whole(self, program: Program) -> None:
        """Note a program that goes."""
        counts = [
            counted(len(program.patterns), "lesson"),
            *([counted(len(program.notes), "note")] if program.notes else []),
            *([counted(len(program.missing), "question")] if program.missing else []),
        ]
        self.gone.programs[program.program_id] = ", ".join(counts)

    def program(self, before: Program, erasure: Erasure) -> None:
        """Note the parts that go of a program that stays, and the changes in it."""
        after, name = without_erased(before, erasure), before.program_id
        for id_, lesson in before.patterns.items():
            new = erasure.name_after(name, id_)
            if erasure.is_lesson_text(name, id_, lesson.pattern):
                self.gone.lessons.add(f"{name}/{id_}")
            elif new != id_:
                self.changed.names[f"{name}/{id_}"] = f"{name}/{new}"
            elif after.patterns.get(id_) != lesson:
                self.changed.lessons.add(f"{name}/{id_}")
        self.gone.others["notes"] += len(before.notes) - len(after.notes)
        self.gone.others["questions"] += len(before.missing) - len(after.missing)
        self.changed.others["states"] += after.state_version != before.state_version

    def entry(self, before: Entry, erasure: Erasure) -> None:
        """Note an entry that goes, or how it changes."""
        after = entry_after(before, erasure)
        if after is None:
            self.gone.entries[before.key] = ""
            return
        lost = {line.program_id for line in before.provenance} - {
            line.program_id for line in after.provenance
        }
        takes = after.value.pattern != before.value.pattern
        parts = [
            *(
                [f"takes the text of {after.provenance[0].program_id}, the others are judged again"]
                if takes
                else []
            ),
            *([f"loses what it has of {', '.join(sorted(lost))}"] if lost and not takes else []),
            *([f"is called {after.key}"] if after.key != before.key else []),
        ]
        self.changed.entries[before.key] = "; ".join(parts) or "loses some words or evidence"


_WritesOf: TypeAlias = Callable[[Document], Sequence[Write]]
_ProgramWritesOf: TypeAlias = Callable[[Fleet, VersionedProgram, Erasure], list[Write]]


@dataclass
class ErasingRound:
    """One pass over a fleet that erases, or counts under a writer that writes nothing."""

    fleet: Fleet
    writer: FencedWriter
    plan: Plan
    documents: Counter[str] = field(default_factory=Counter)
    found: Findings = field(default_factory=Findings)

    @property
    def erasure(self) -> Erasure:
        """What goes."""
        return self.plan.erasure

    async def run(self) -> None:
        """Erase traces of the texts, then the texts."""
        paths, erasure = self.fleet.knowledge.paths, self.erasure
        if not self.writer.is_dry_run:
            await self._programs(trace_writes)
        await self._each(
            "pairs", paths.pairs, lambda document: pair_writes(self.fleet, document, erasure)
        )
        await self._each("ledger", paths.ledger, lambda document: ledger_writes(document, erasure))
        for group in ("history", "waiting", "archive"):
            await self._each(
                group, paths.collection(group), lambda document: record_writes(document, erasure)
            )
        await self._each("tokens", paths.tokens, lambda document: token_writes(document, erasure))
        for document in filter(None, await self.fleet.knowledge.store.get(paths.policy)):
            await self._one(
                "policy", document, lambda document: policy_writes(self.fleet, document, erasure)
            )
        await self._maintenance()
        await self.writer.commit()  # renews the lease
        await self._programs(program_writes)
        await self.writer.commit()
        await self._entries()
        await self._snapshot()
        await self._program()
        await self._shelf()

    async def _each(self, kind: str, collection: str, writes_of: _WritesOf) -> None:
        async for documents in document_blocks(self.fleet.knowledge.store, Query(collection)):
            for document in documents:
                await self._one(kind, document, writes_of)

    async def _one(self, kind: str, document: Document, writes_of: _WritesOf) -> None:
        writes = decoded(document, writes_of)
        if isinstance(writes, UnreadableDocument):
            self.plan.unreadable.append(writes)
        elif writes:
            self.documents[kind] += 1
            self.found.document(kind, writes)
            await self._commit(writes, partial(self._writes_again, document, writes_of))

    async def _writes_again(self, document: Document, writes_of: _WritesOf) -> Sequence[Write]:
        (now,) = await self.fleet.knowledge.store.get(document.ref)
        return writes_of(now) if now else []

    async def _commit(
        self, writes: Sequence[Write], again: Callable[[], Awaitable[Sequence[Write]]]
    ) -> None:
        """Commit, and decide again as long as somebody else writes first. A dry run writes
        nothing.
        """
        if self.writer.is_dry_run or await self.writer.try_commit(*writes):
            return

        async def attempt() -> None:
            if writes := await again():
                await self.writer.commit(*writes)

        await retry_conflicts(attempt, "a document that is to be erased")

    async def _maintenance(self) -> None:
        """Remove the note of a model's run that names a pair that goes."""
        (note,) = await self.fleet.knowledge.store.get(self.fleet.knowledge.paths.model_run)
        if note is not None and record_writes(note, self.erasure):
            await self.writer.try_commit(Write(note.ref, None))

    async def _programs(self, writes_of: _ProgramWritesOf) -> None:
        async for block in self.fleet.programs.in_blocks():
            for versioned in block.programs:
                name = versioned.program.program_id
                if self.erasure.is_program(name):
                    continue
                if writes := writes_of(self.fleet, versioned, self.erasure):
                    if writes_of is program_writes:
                        self.documents["programs"] += 1
                        self.found.program(versioned.program, self.erasure)
                    await self._commit(writes, partial(self._program_again, name, writes_of))

    async def _program_again(self, name: str, writes_of: _ProgramWritesOf) -> Sequence[Write]:
        (versioned,) = await self.fleet.programs.read_many(name)
        return writes_of(self.fleet, versioned, self.erasure)

    async def _entries(self) -> None:
        for versioned in await self.fleet.knowledge.all():
            if versioned.entry is None:
                continue
            key = versioned.entry.key
            if writes := await self._entry_writes(key):
                self.documents["entries"] += 1
                self.found.entry(versioned.entry, self.erasure)
                await self._commit(writes, partial(self._entry_writes, key))

    async def _entry_writes(self, key: str) -> Sequence[Write]:
        (versioned,) = await self.fleet.knowledge.read_versioned(key)
        policy = await self.fleet.policies.read(self.fleet.now())
        return entry_writes(self.fleet, versioned, self.erasure, policy, self.fleet.now())

    async def _snapshot(self) -> None:
        """Write the snapshot without the rows of keys and texts that go."""
        snapshots, erasure = self.fleet.knowledge.snapshots, self.erasure
        known = {
            versioned.entry.key
            for versioned in await self.fleet.knowledge.all()
            if versioned.entry is not None
        } - {erasure.key}
        gone = {
            row.key
            for row in (await snapshots.read()).rows
            if row.key not in known or holds_text(plain(row.stored_text), erasure)
        }
        if gone:
            self.documents["snapshots"] += 1
        if self.writer.is_dry_run:
            return
        if gone or await snapshots.behind():
            await self.writer.publish(without=gone)

    async def _shelf(self) -> None:
        """Remove the shelf, which the next run makes anew, and the shards of earlier snapshots."""
        knowledge, erasure = self.fleet.knowledge, self.erasure
        shards = await knowledge.store.find(Query(knowledge.snapshots.first_ref.collection))
        lines = (line for shard in shards for line in str(shard.fields["text"]).split("\n"))
        if any(_is_erased_lesson(plain(line), erasure) for line in lines):
            self.documents["snapshots"] = 1
        if self.writer.is_dry_run:
            return
        await self.writer.commit(*await knowledge.shelves.removal())
        for write in await knowledge.snapshots.leftovers():
            await self.writer.try_commit(write)

    async def _program(self) -> None:
        """Remove a program that goes; its own writes meanwhile go with it."""
        name = self.erasure.program_id
        if name is None or not self.erasure.is_program(name):
            return
        (versioned,) = await self.fleet.programs.read_many(name)
        if versioned.revision == ABSENT:
            return
        self.documents["programs"] += 1
        self.found.whole(versioned.program)
        await self._commit(removal_writes(self.fleet, versioned), partial(self._removal, name))

    async def _removal(self, name: str) -> Sequence[Write]:
        (versioned,) = await self.fleet.programs.read_many(name)
        return removal_writes(self.fleet, versioned) if versioned.revision != ABSENT else []


PURGE_KEY: Final = "purge"  # the key of the ledger's lines about purges
WAIT_FOR_RUN_S: Final = (
    LEASE_S + 30
)  # seconds that a purge waits for a run to end: one that was killed holds it so long
MAX_ROUNDS: Final = 3  # times that the whole fleet is looked through while servers write; chosen


class Erased(NamedTuple):
    """A purge's result, or its rehearsal's: documents by kind, their names, and the texts for
    people who ask for them.

    `left` are documents that still hold it, or cannot be read. `is_scrubbed`: nothing of it is in
    the store's files. `alike`: other spellings and subagents of the erased program, which stay.
    """

    documents: dict[str, int]
    found: Findings
    texts: tuple[str, ...]
    left: tuple[str, ...] = ()
    is_scrubbed: bool = True
    alike: tuple[str, ...] = ()


async def preview_erasure(fleet: Fleet, wanted: Wanted) -> Erased:
    """Return the result that a purge would have; writes nothing.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError for an unclear wish,
    KnowledgeNotFoundError for an unknown entry. Billed 1 read for each document of the fleet, 2 for
    some kinds.
    """
    fleet.caller.require_curation()
    plan = await plan_erasure(fleet, wanted)
    round_ = ErasingRound(fleet, FencedWriter(fleet), plan)
    await round_.run()
    return _report(plan, round_, ())


async def erase(fleet: Fleet, wanted: Wanted) -> Erased:
    """Erase, look again, and have the store remove it from its files. Killed at any moment, the
    same call finishes.

    Waits for a maintenance run to end, and none begins meanwhile. The ledger keeps who, when, why
    and the counts. Raises as `preview_erasure`, and ConflictError while a run is under way. Billed
    as three previews, and 1R 1W for each document that changes.
    """
    fleet.caller.require_curation()
    wish(wanted)
    if wanted.why:
        await clean_text(fleet, "--why", wanted.why)

    async def attempt() -> Erased:
        async with leased(fleet) as writer:
            if writer is None:
                raise ConflictError(
                    "A maintenance run is under way; nothing was erased. Call again when it "
                    "has ended."
                )
            return await _erase(fleet, writer, wanted)

    erased = await retry_conflicts(attempt, None, WAIT_FOR_RUN_S)
    return erased._replace(is_scrubbed=await fleet.knowledge.store.scrub())


async def _erase(fleet: Fleet, writer: FencedWriter, wanted: Wanted) -> Erased:
    plan = await plan_erasure(fleet, wanted)
    await writer.commit()  # renews the lease: a large fleet takes a while to read
    preview = ErasingRound(fleet, FencedWriter(fleet), plan)
    await preview.run()
    if not preview.documents:
        return _report(plan, preview, await _left(fleet, plan))
    await _note(fleet, writer, preview, wanted.why)
    await _begin_anew(fleet, writer)
    again = plan
    for _ in range(MAX_ROUNDS):
        await ErasingRound(fleet, writer, again).run()
        again = await _plan_again(fleet, wanted, again)
        await writer.commit()
        look = ErasingRound(fleet, FencedWriter(fleet), again)
        await look.run()
        if not look.documents:
            break
    await _begin_anew(fleet, writer)
    return _report(plan, preview, await _left(fleet, again))


async def _plan_again(fleet: Fleet, wanted: Wanted, before: Plan) -> Plan:
    """Return the plan of this round: texts that came back, and traces of those that are known from
    before.
    """
    now = await plan_erasure(fleet, wanted) if wanted.entry is None else Plan(before.erasure)
    old = before.erasure
    erasure = replace(
        now.erasure,
        words=now.erasure.words | old.words,
        pairs=now.erasure.pairs | old.pairs,
        lessons=now.erasure.lessons | old.lessons,
        entries={**old.entries, **now.erasure.entries},
        made=now.erasure.made | old.made,
    )
    return replace(now, erasure=erasure)


async def _note(fleet: Fleet, writer: FencedWriter, preview: ErasingRound, why: str) -> None:
    """Note in the ledger that something is erased: first, so that it is there however the run
    ends.
    """
    counts = preview.found.sums()
    line = LedgerLine(
        event="erased",
        key=PURGE_KEY,
        at=fleet.now(),
        by=fleet.caller.program_id or PERSON,
        why=f"{why}: {counts}" if why else counts,
    )
    line_id = ledger_id(PURGE_KEY, 0, new_commit_id())
    await writer.commit(fleet.knowledge.ledger.write(line, line_id))


async def _begin_anew(fleet: Fleet, writer: FencedWriter) -> None:
    """Let every maintainer forget the fleet that it has in memory: it reads all again before it
    proposes.
    """
    run = await fleet.last_runs.read()
    last = replace(run.last, epoch=run.last.epoch + 1, considered=run.last.considered + 1)
    await writer.commit(fleet.last_runs.write(run, last))
    fleet.memory.forget()


async def _left(fleet: Fleet, plan: Plan) -> tuple[str, ...]:
    """Return the documents that hold the text all the same, e.g. of a program that is called so, or
    cannot be read.
    """
    names = [str(document) for document in plan.unreadable]
    for group in _GROUPS if plan.erasure.needle else ():
        async for documents in document_blocks(
            fleet.knowledge.store, Query(fleet.knowledge.paths.collection(group))
        ):
            names += [
                f"{group}/{document.ref.id}"
                for document in documents
                if holds_text(plain(dict(document.fields)), plan.erasure)
            ]
    return tuple(dict.fromkeys(names))


_GROUPS: Final = (  # leases and notes of runs hold times, counts and random ids alone
    *("programs", "pages", "gsp", "pairs", "snapshots"),
    *("ledger", "archive", "history", "waiting"),
)


def _report(plan: Plan, round_: ErasingRound, left: tuple[str, ...]) -> Erased:
    return Erased(
        dict(round_.documents),
        round_.found,
        tuple(sorted(plan.texts)),
        left,
        alike=tuple(sorted(plan.alike)),
    )
