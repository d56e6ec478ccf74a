"""Erase for good: a text wherever it stands, a program's memory, one lesson, or an entry.

Traces of the texts go first (hashes, pairs, lines of the ledger), then the texts themselves, an
entry last and a program after that: a run that was killed anywhere finds by them the rest, and
finishes.
"""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from fleet_memory.errors import ConflictError, InvalidArgumentError, KnowledgeNotFoundError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.curation import clean_text
from fleet_memory.jobs.fenced_writer import LEASE_S, FencedWriter, leased
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    decoded,
    document_blocks,
    iter_readable,
)
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.policies import versioned_policy
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.records import archive_record, ledger_line, line_fields
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, VersionedEntry, changed_entry_fields
from fleet_memory.rules.entries import ledger_event, settled
from fleet_memory.rules.erasing import (
    ERASED,
    MIN_NEEDLE_CHARS,
    Erasure,
    entry_after,
    entry_ends,
    entry_fate,
    folded,
    hashed_key,
    json_after,
    ledger_line_after,
    pair_after,
    program_after,
    without_traces,
)
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.text import counted
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.text.names import close_names
from fleet_memory.rules.union import apart
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Archived, Program
from fleet_memory.stores import ABSENT, Document, Query, Write


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
    """The whole erasure, the texts of the lessons and entries that go, the number of lessons among
    them, and the documents that cannot be read.

    `alike`: programs of the wanted one's name in another spelling and its subagents, which stay.
    """

    erasure: Erasure
    texts: set[str] = field(default_factory=set)
    lessons: int = 0
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
    versioned = await fleet.knowledge.all(plan.unreadable)
    entries = [each.entry for each in versioned if each.entry is not None]
    rows = (await fleet.knowledge.snapshots.read()).rows
    if (key := plan.erasure.key) is not None:
        texts = [entry.value.pattern for entry in entries if entry.key == key]
        texts += [row.pattern for row in rows if row.key == key]  # of a purge that was killed
        if not texts:
            raise KnowledgeNotFoundError(
                key, close_names(key, (row.key for row in rows if row.is_known))
            )
        plan.erasure = replace(plan.erasure, words=frozenset(map(text_hash, texts)))
    pairs = [pair async for pair in _pairs(fleet, plan)]
    stay, names = set[str](), set[str]()
    async for lesson in _lessons(fleet, entries, pairs, plan):
        if plan.erasure.takes(*lesson[:3]):
            plan.texts.add(lesson.text)
            plan.lessons += lesson.lives
            names.add(f"{lesson.program_id}/{lesson.pattern_id}")
        elif lesson.lives:
            stay.add(text_hash(lesson.text))
    own = apart({entry.key: entry for entry in entries}).values()
    plan.texts |= {
        entry.value.pattern for entry in entries if plan.erasure.erases(entry.value.pattern)
    }
    erasure = replace(
        plan.erasure,
        words=frozenset({*map(text_hash, plan.texts), *plan.erasure.words} - stay),
        lessons=frozenset(names),
        keys=_new_keys(own, plan.erasure),
        ended=frozenset(entry.key for entry in own if entry_ends(entry, plan.erasure))
        | ({key} if key else frozenset()),
    )
    gone = frozenset(pair.pair_id for pair in pairs if pair_after(pair, erasure) is None)
    plan.erasure = replace(erasure, pairs=gone)
    return plan


def _new_keys(entries: Iterable[Entry], erasure: Erasure) -> dict[str, str]:
    """Return the new keys of entries by their old ones, each a key that no other entry has."""
    known = {entry.key: entry_fate(entry, erasure) for entry in entries}
    keys = {erasure.key: hashed_key(erasure.key)} if erasure.key is not None else {}
    for old, fate in known.items():
        new = fate
        while new is not None and new in known.keys() - {old}:
            new = hashed_key(new.rpartition("/")[2])
        keys |= {old: new} if new is not None else {}
    return keys


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
            name = versioned.program.program_id
            if plan.erasure.stays_beside(name):
                plan.alike.add(name)
            for lesson in versioned.program.patterns.values():
                yield FoundText(name, lesson.id, lesson.pattern, lives=True)
    archive = fleet.programs.archive
    async for documents in document_blocks(archive.store, Query(archive.paths.archive)):
        for record in iter_readable(documents, archive_record, plan.unreadable):
            if isinstance(record, Archived):
                yield FoundText(record.program_id, record.pattern.id, record.pattern.pattern)
    for line in (line for entry in entries for line in entry.provenance):
        yield FoundText(line.program_id, line.pattern_id, line.pattern)
    for side in (side for pair in pairs for side in (pair.a, pair.b) if side.key is None):
        yield FoundText(side.program_id, side.pattern_id, side.text)


_WHY: Final = "a purge erased contributions"
_WritesOf: TypeAlias = Callable[[Fleet, Document, Erasure], Sequence[Write]]


def pair_writes(fleet: Fleet, document: Document, erasure: Erasure) -> Sequence[Write]:
    """Return the write that removes a pair of a text that goes, or names and reasons that do."""
    versioned = versioned_pair(document)
    if versioned.pair is None or (after := pair_after(versioned.pair, erasure)) is versioned.pair:
        return []
    if after is None:
        return [Write(document.ref, None, document.revision)]
    return [fleet.pairs.write(versioned, after)]


def ledger_writes(_fleet: Fleet, document: Document, erasure: Erasure) -> Sequence[Write]:
    """Return the write that takes names and the reason out of a line of the ledger."""
    line = ledger_line(document)
    after = ledger_line_after(line, erasure)
    return [] if after is line else [Write(document.ref, line_fields(after), document.revision)]


def record_writes(_fleet: Fleet, document: Document, erasure: Erasure) -> Sequence[Write]:
    """Return the write that removes an archived item or handover whose text, lesson or program
    goes.
    """
    fields = dict(document.fields)
    goes = erasure.is_program(str(fields.get("programId"))) or holds(document, erasure)
    if not goes and "pattern" in fields:
        record = archive_record(document)
        goes = isinstance(record, Archived) and erasure.takes(
            record.program_id, record.pattern.id, record.pattern.pattern
        )
    return [Write(document.ref, None, document.revision)] if goes else []


def token_writes(_fleet: Fleet, document: Document, erasure: Erasure) -> Sequence[Write]:
    """Return the write that removes a token of a program that goes; it has no text of anybody's."""
    goes = erasure.is_program(str(document.fields.get("programId")))
    return [Write(document.ref, None, document.revision)] if goes else []


def policy_writes(fleet: Fleet, document: Document, erasure: Erasure) -> Sequence[Write]:
    """Return the write that takes a judge model's name out of the policy: its only text of
    anybody's words.
    """
    before = versioned_policy(document)
    if not erasure.erases(before.policy.judge_model):
        return []
    return [fleet.policies.write(before, replace(before.policy, judge_model=""))]


def holds(document: Document, erasure: Erasure) -> bool:
    """Whether a document holds a text or a name that goes."""
    fields = dict(document.fields)
    return json_after(fields, erasure) is not fields


_COLLECTIONS: Final[Sequence[tuple[str, _WritesOf]]] = (
    ("pairs", pair_writes),
    ("ledger", ledger_writes),
    ("history", record_writes),
    ("archive", record_writes),
    ("tokens", token_writes),
)


@dataclass
class ErasingRound:
    """One pass over a fleet that erases, or counts under a writer that writes nothing.

    `gone` and `changed` count documents by kind.
    """

    fleet: Fleet
    writer: FencedWriter
    plan: Plan
    gone: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)

    @property
    def erasure(self) -> Erasure:
        """What goes."""
        return self.plan.erasure

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to erase."""
        return not (self.gone or self.changed)

    async def run(self) -> None:
        """Erase traces of the texts, then the texts."""
        store, paths = self.fleet.knowledge.store, self.fleet.knowledge.paths
        if not self.writer.is_dry_run:
            await self._programs(without_traces)
        for group, writes_of in _COLLECTIONS:
            async for documents in document_blocks(store, Query(paths.collection(group))):
                for document in documents:
                    await self._document(group, document, writes_of)
        (policy,) = await store.get(paths.policy)
        if policy is not None:
            await self._document("policy", policy, policy_writes)
        await self.writer.commit()  # renews the lease
        await self._programs(program_after)
        await self.writer.commit()
        await self._entries()
        await self._snapshot()
        await self._program()
        await self.drop_shelf()

    async def _document(self, kind: str, document: Document, writes_of: _WritesOf) -> None:
        writes = decoded(document, lambda each: writes_of(self.fleet, each, self.erasure))
        if isinstance(writes, UnreadableDocument):
            self.plan.unreadable.append(writes)
            return

        async def again() -> Sequence[Write]:
            (now,) = await self.fleet.knowledge.store.get(document.ref)
            return writes_of(self.fleet, now, self.erasure) if now else []

        await self._commit(kind, writes, again)

    async def _commit(
        self, kind: str, writes: Sequence[Write], again: Callable[[], Awaitable[Sequence[Write]]]
    ) -> None:
        """Count and commit, and decide again as long as somebody else writes first. A dry run
        writes nothing.
        """
        if not writes:
            return
        counts = self.changed if any(write.fields for write in writes) else self.gone
        counts[kind] += 1
        if self.writer.is_dry_run or await self.writer.try_commit(*writes):
            return

        async def attempt() -> None:
            if writes := await again():
                await self.writer.commit(*writes)

        await retry_conflicts(attempt, "a document that is to be erased")

    async def _programs(self, erase: Callable[[Program, Erasure], Program]) -> None:
        def writes_of(versioned: VersionedProgram) -> Sequence[Write]:
            return self.fleet.programs.writes(versioned, erase(versioned.program, self.erasure))

        async def again(name: str) -> Sequence[Write]:
            (versioned,) = await self.fleet.programs.read_many(name)
            return writes_of(versioned)

        async for block in self.fleet.programs.in_blocks():
            for versioned in block.programs:
                name = versioned.program.program_id
                if not self.erasure.is_program(name):
                    await self._commit("programs", writes_of(versioned), partial(again, name))

    async def _entries(self) -> None:
        """Erase in entries, those that end last: those that were read as one with them have their
        own facts by then.
        """

        async def again(key: str) -> Sequence[Write]:
            known, own = await self._read_entries()
            return await self._entry_writes(known[key], own[key]) if key in known else []

        known, own = await self._read_entries()
        for key in sorted(known, key=lambda key: (key in self.erasure.ended, key)):
            writes = await self._entry_writes(known[key], own[key])
            await self._commit("entries", writes, partial(again, key))

    async def _read_entries(self) -> tuple[dict[str, VersionedEntry], dict[str, Entry]]:
        """Return the entries, and each with its own facts if it is read as one with one that
        ends.
        """
        known = {each.entry.key: each for each in await self.fleet.knowledge.all() if each.entry}
        entries = {key: each.entry for key, each in known.items() if each.entry}
        return known, apart(entries, self.erasure.ended)

    async def _entry_writes(self, versioned: VersionedEntry, own: Entry) -> Sequence[Write]:
        """Return the writes that erase in an entry, rename it or remove it, and the ledger line of
        its state or votes. `own` is the entry with its own facts.
        """
        fleet, before, now = self.fleet, versioned.entry, self.fleet.now()
        if before is None:
            return []
        ref = fleet.knowledge.paths.entry(before.key)
        after = entry_after(own, self.erasure)
        if after is None:
            return [Write(ref, None, versioned.revision)]
        after = settled(before, after, await fleet.policies.read(now), now)
        if after is before:
            return []
        is_renamed = after.key != before.key
        target = ABSENT_ENTRY if is_renamed else versioned
        event = ledger_event(before, after, now)
        if event is None:
            fields = changed_entry_fields(target, after)
            writes = [Write(fleet.knowledge.paths.entry(after.key), fields, target.revision)]
        else:
            by = fleet.caller.program_id or PERSON
            writes = fleet.knowledge.writes(target, after, by=by, why=_WHY, now=now, event=event)
        return [Write(ref, None, versioned.revision), *writes] if is_renamed else writes

    async def _snapshot(self) -> None:
        """Write the snapshot without the rows of keys and texts that go."""
        snapshots, erasure = self.fleet.knowledge.snapshots, self.erasure
        known = (await self._read_entries())[0].keys() - erasure.keys.keys()
        gone = set[str]()
        for row in (await snapshots.read()).rows:
            fields = row.wire()
            if row.key not in known or json_after(fields, erasure) is not fields:
                gone.add(row.key)
        if gone:
            self.changed["snapshots"] += 1
        if self.writer.is_dry_run:
            return
        if gone or await snapshots.behind():
            await self.writer.publish(without=gone)

    async def drop_shelf(self) -> None:
        """Remove the shelf, which the next run makes anew, and the shards of earlier snapshots."""
        knowledge = self.fleet.knowledge
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

        async def removal() -> Sequence[Write]:
            (versioned,) = await self.fleet.programs.read_many(name)
            ref = self.fleet.programs.paths.program(name)
            return [Write(ref, None, versioned.revision)] if versioned.revision != ABSENT else []

        await self._commit("programs", await removal(), removal)


PURGE_KEY: Final = "purge"  # the key of the ledger's lines about purges
WAIT_FOR_RUN_S: Final = LEASE_S + 30  # seconds; a run that was killed holds its lease so long
MAX_ROUNDS: Final = 3  # times that the whole fleet is looked through while servers write; chosen
_KINDS: Final = {
    "programs": ("program", "programs"),
    "entries": ("entry", "entries"),
    "pairs": ("pair", "pairs"),
    "archive": ("archived item", "archived items"),
    "history": ("earlier handover", "earlier handovers"),
    "ledger": ("line of the ledger", "lines of the ledger"),
    "tokens": ("token", "tokens"),
    "policy": ("policy", "policies"),
    "snapshots": ("snapshot", "snapshots"),
}


class Erased(NamedTuple):
    """A purge's result, or its rehearsal's: how many lessons go, the documents that go and that
    change by kind, and the texts for people who ask for them.

    `left` are documents that still hold it, or cannot be read. `is_scrubbed`: nothing of it is in
    the store's files. `alike`: other spellings and subagents of the erased program, which stay.
    """

    lessons: int
    gone: dict[str, int]
    changed: dict[str, int]
    texts: tuple[str, ...]
    left: tuple[str, ...] = ()
    is_scrubbed: bool = True
    alike: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to erase."""
        return not (self.gone or self.changed)

    def sums(self) -> list[str]:
        """Return e.g. ["2 lessons, 1 pair", "changed: 1 entry"], without a name."""
        gone, changed = (
            ", ".join(counted(count, *_KINDS[kind]) for kind, count in counts.items())
            for counts in (self.gone, self.changed)
        )
        lessons = counted(self.lessons, "lesson") if self.lessons else ""
        parts = ", ".join(filter(None, (lessons, gone)))
        return [*filter(None, (parts, f"changed: {changed}" if changed else ""))]


async def preview_erasure(fleet: Fleet, wanted: Wanted) -> Erased:
    """Return the result that a purge would have; writes nothing.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError for an unclear wish,
    KnowledgeNotFoundError for an unknown entry. Billed 1 read for each document of the fleet, 2 for
    some kinds.
    """
    fleet.caller.require_curation()
    plan = await plan_erasure(fleet, wanted)
    return _report(await _looked(fleet, plan))


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


async def _looked(fleet: Fleet, plan: Plan) -> ErasingRound:
    """Return a pass that only counted."""
    look = ErasingRound(fleet, FencedWriter(fleet), plan)
    await look.run()
    return look


async def _erase(fleet: Fleet, writer: FencedWriter, wanted: Wanted) -> Erased:
    plan = await plan_erasure(fleet, wanted)
    await writer.commit()  # renews the lease: a large fleet takes a while to read
    preview = await _looked(fleet, plan)
    if preview.is_empty:
        await ErasingRound(fleet, writer, plan).drop_shelf()  # a killed purge may have left it
        return _report(preview, await _left(fleet, plan))
    await _note(fleet, writer, "; ".join(_report(preview).sums()), wanted.why)
    await _begin_anew(fleet, writer)
    again = plan
    for _ in range(MAX_ROUNDS):
        await ErasingRound(fleet, writer, again).run()
        again = await _plan_again(fleet, wanted, again)
        await writer.commit()
        if (await _looked(fleet, again)).is_empty:
            break
    await _begin_anew(fleet, writer)
    return _report(preview, await _left(fleet, again))


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
        keys={**old.keys, **now.erasure.keys},
        ended=now.erasure.ended | old.ended,
    )
    return replace(now, erasure=erasure)


async def _note(fleet: Fleet, writer: FencedWriter, counts: str, why: str) -> None:
    """Note in the ledger that something is erased: first, so that it is there however the run
    ends.
    """
    line = LedgerLine(
        event="erased",
        key=PURGE_KEY,
        at=fleet.now(),
        by=fleet.caller.program_id or PERSON,
        why=f"{why}: {counts}" if why else counts,
    )
    await writer.commit(fleet.knowledge.ledger.write(line))


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
        query = Query(fleet.knowledge.paths.collection(group))
        async for documents in document_blocks(fleet.knowledge.store, query):
            for document in documents:
                is_named = plan.erasure.erases(str(document.fields.get("programId", "")))
                if is_named or holds(document, plan.erasure):
                    names.append(f"{group}/{document.ref.id}")
    return tuple(dict.fromkeys(names))


# leases and notes of runs hold times, counts and random ids alone
_GROUPS: Final = ("programs", "gsp", "pairs", "snapshots", "ledger", "archive", "history")


def _report(look: ErasingRound, left: tuple[str, ...] = ()) -> Erased:
    plan = look.plan
    return Erased(
        plan.lessons,
        dict(+look.gone),
        dict(+look.changed),
        tuple(sorted(plan.texts)),
        left,
        alike=tuple(sorted(plan.alike)),
    )
