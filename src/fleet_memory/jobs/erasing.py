"""Erase for good: a text wherever it stands, a program's memory, one lesson, or an entry.

A look reads the whole fleet to learn what stays, then removes all else; it is repeated until it
finds nothing. So a run that was killed anywhere is finished by the next.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.auditing import decision
from fleet_memory.jobs.curation import clean_text
from fleet_memory.jobs.deletion import remove_scratch
from fleet_memory.jobs.publishing import LEASE_S, FencedWriter, leased
from fleet_memory.jobs.transfer.files import COLLECTIONS, fleet_documents
from fleet_memory.repositories.documents import (
    UnreadableDocument,
    changed,
    decoded,
    plain,
)
from fleet_memory.repositories.pairs import versioned_pair
from fleet_memory.repositories.programs import versioned_program
from fleet_memory.repositories.records import (
    line_fields,
)
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import (
    ABSENT_ENTRY,
    VersionedEntry,
    changed_entry_fields,
    versioned_entry,
)
from fleet_memory.rules.entries import settled
from fleet_memory.rules.erasing import (
    ERASED,
    MIN_NEEDLE_CHARS,
    Erasure,
    entry_key_after,
    folded,
    hashed_key,
    is_beside,
    lessons_in,
    program_after,
    value_after,
)
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.union import apart
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.programs import Archived, ArchivedNote, PastSummary
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


PURGE_KEY: Final = "purge"  # the key of the ledger's lines about purges
WAIT_FOR_RUN_S: Final = LEASE_S + 30  # seconds; a run that was killed holds its lease so long
MAX_LOOKS: Final = 5  # through the whole fleet, while servers go on writing; chosen


async def _target(fleet: Fleet, wanted: Wanted) -> Erasure:
    """Return a wish as the rules take it. Raises as `preview_erasure`."""
    fleet.caller.require_curation()
    if wanted.text is not None:
        needle = folded(wanted.text)
        if len(needle) < MIN_NEEDLE_CHARS or needle in ERASED or needle in hashed_key(""):
            raise InvalidArgumentError(
                f"--text: at least {MIN_NEEDLE_CHARS} characters, and no part of the mark "
                f"{ERASED!r} that stands where a text was erased; a shorter one is in most lessons"
            )
        return Erasure(needle=needle, gone={text_hash(wanted.text)})
    if (key := wanted.entry) is None:
        return Erasure(program_id=wanted.program, pattern_id=wanted.pattern)
    entry = await fleet.knowledge.found(key, hidden=True)
    return Erasure(key=key, entry_words=text_hash(entry.value.pattern))


_GROUPS: Final = ("pairs", "ledger", "history", "archive", "tokens", "programs")
_OF_LESSONS: Final = ("programs", "archive", "pairs", "gsp")  # their documents name lessons
_WHY: Final = "a purge erased contributions"


@dataclass
class Erased:
    """One look through a fleet that erases, or counts under a writer that writes nothing.

    `erasure` learns what stays. `gone` and `changed` count documents by kind, `names` has them all.
    `texts` are those of lessons and entries that go. `left` are documents of a program that is
    called so, those that cannot be read, and those that somebody wrote again and again meanwhile.
    `is_scrubbed`: nothing of it is in the store's files. `alike`: other spellings and subagents of
    the erased program, which stay.
    """

    fleet: Fleet
    writer: FencedWriter
    erasure: Erasure
    entries: dict[str, VersionedEntry] = field(default_factory=dict)
    gone: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)
    texts: set[str] = field(default_factory=set)
    left: tuple[str, ...] = ()
    is_scrubbed: bool = True
    alike: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was there to erase."""
        return not self.names

    async def run(self) -> None:
        """Read the fleet, learn what stays, and remove all else. Entries that end come last: those
        that were read through them have their own facts by then, and a purge of an entry finds it
        until then.
        """
        # programs before the archive: a lesson that its program forgets meanwhile moves there
        found = await fleet_documents(self.fleet)
        found["tokens"] = await self.fleet.store.find(Query(self.fleet.paths.tokens))
        self._learn(found)
        for group in (*_GROUPS, *self.fleet.collections):
            for document in found[group]:
                await self._document(group, document)
            await self.writer.commit()  # renews the lease
        ended = self.entries.keys() - self.erasure.keys.keys()
        own = apart(self._before(), ended)
        for key in sorted(own.keys() - ended):
            await self._commit("entries", await self._entry_writes(own[key]))
        await self._snapshot()
        for key in sorted(ended):
            await self._commit("entries", await self._entry_writes(own[key]))

    def _learn(self, found: Mapping[str, Sequence[Document]]) -> None:
        """Learn what stays, and note the texts and lessons that go."""
        erasure = self.erasure
        for group in _OF_LESSONS:
            for document in found[group]:
                self._learn_lessons(group, document)
        for document in found["gsp"]:
            key = str(document.fields.get("key"))
            erasure.keys[key] = key  # that of an unreadable entry stays
            versioned = decoded(document, versioned_entry)
            if isinstance(versioned, UnreadableDocument):
                self.left += (str(versioned),)
            else:
                self.entries[key] = versioned
        for key, entry in apart(self._before()).items():
            if (after := entry_key_after(entry, erasure)) is None:
                del erasure.keys[key]
                self.texts.add(entry.value.pattern)
            else:
                erasure.keys[key] = after
                erasure.words.add(text_hash(entry.value.pattern))
        erasure.gone.update(map(text_hash, self.texts))
        erasure.gone.difference_update(erasure.words)

    def _learn_lessons(self, group: str, document: Document) -> None:
        erasure, name = self.erasure, str(document.fields.get("programId"))
        for program_id, id_, text in lessons_in(plain(document.fields)):
            if erasure.takes(program_id, id_, text):
                self.texts.add(text)
                self.gone["lessons"] += group == "programs"
            else:
                erasure.words.add(text_hash(text))
                erasure.lessons.add(f"{program_id}/{erasure.id_after(id_)}")
        if group == "programs" and is_beside(name, erasure.program_id or name):
            self.alike += (name,)

    async def drop_showings(self, writer: FencedWriter) -> None:
        """Drop the showings of the texts that go, before these: their hashes are unknown then."""
        for before in await self.fleet.programs.all():
            shown = before.program.shown
            left = {words: at for words, at in shown.items() if words not in self.erasure.gone}
            if left != shown:
                after = replace(before.program, shown=left)
                await writer.try_commit(*self.fleet.programs.writes(before, after))

    def _before(self) -> dict[str, Entry]:
        return {key: each.entry for key, each in self.entries.items() if each.entry}

    async def _document(self, kind: str, document: Document) -> None:
        writes = decoded(document, partial(self._writes, kind))
        if isinstance(writes, UnreadableDocument):
            self.left += (str(writes),)
            writes = []
        elif self.erasure.erases(str(document.fields.get("programId"))) and kind != "tokens":
            self.left += (f"{kind}/{document.ref.id}",)
        if kind == "pairs" and all(write.fields for write in writes):
            self.erasure.pairs.add(document.ref.id)
        await self._commit(kind, writes)

    def _writes(self, kind: str, document: Document) -> Sequence[Write]:
        """Return the writes that remove a document or what goes of it; tokens have no texts."""
        fleet, erasure = self.fleet, self.erasure
        gone = Write(document.ref, None, document.revision)
        if erasure.is_program(document.fields.get("programId")):
            return [gone]
        if kind == "programs":
            program = versioned_program(document)
            return fleet.programs.writes(program, program_after(program.program, erasure))
        if kind in fleet.collections:
            fields = fleet.collections[kind].erased(document.fields, erasure)
            if fields == document.fields:
                return []
            return [gone if fields is None else gone._replace(fields=changed(document, fields))]
        if kind not in COLLECTIONS or (before := COLLECTIONS[kind](document)) is None:
            return []
        after = value_after(before, erasure)
        if after is before:
            return []
        match after:
            case Pair():
                return [fleet.pairs.write(versioned_pair(document), after)]
            case LedgerLine():
                return [gone._replace(fields=line_fields(after))]
            case PastSummary():
                return [gone._replace(fields=fleet.programs.history.write(after).fields)]
            case Archived() | ArchivedNote():
                return [gone, fleet.programs.archive.write(after)]
            case _:
                return [gone]

    async def _commit(self, kind: str, writes: Sequence[Write]) -> None:
        """Count and commit. Where another wrote meanwhile, the next look decides again."""
        if not writes:
            return
        first = writes[0]
        counts = self.changed if any(write.fields for write in writes) else self.gone
        counts[kind] += 1
        self.names.append(f"{kind}/{first.ref.id}")
        await self.writer.try_commit(*writes)

    async def _entry_writes(self, own: Entry) -> Sequence[Write]:
        """Return the writes that erase in an entry with its own facts, rename it or remove it."""
        fleet, now, versioned = self.fleet, self.fleet.now(), self.entries[own.key]
        gone = Write(fleet.knowledge.paths.entry(own.key), None, versioned.revision)
        left = value_after(own, self.erasure)
        if left is None or own.key not in self.erasure.keys:
            return [gone]
        after = settled(versioned.entry, left, await fleet.policies.read(now), now)
        if after.key != own.key:
            fields = changed_entry_fields(ABSENT_ENTRY, after)
            return [gone, Write(fleet.knowledge.paths.entry(after.key), fields, ABSENT)]
        by = fleet.caller.program_id or PERSON
        return fleet.knowledge.writes(versioned, after, by=by, why=_WHY, now=now)

    async def _snapshot(self) -> None:
        """Write the snapshot without the rows of keys and texts that go, and remove the shelf,
        which the next run makes anew, and the shards of earlier snapshots.
        """
        knowledge = self.fleet.knowledge
        rows = (await knowledge.snapshots.read()).rows
        gone = {row.key for row in rows if value_after(row, self.erasure) is not row}
        if gone:
            self.changed["snapshots"] += 1
            self.names.append("snapshots")
        if self.writer.is_dry_run:
            return
        if gone or await knowledge.snapshots.behind():
            await self.writer.publish(without=gone)
        await self.writer.commit(*await knowledge.shelves.removal())
        for write in await knowledge.snapshots.leftovers():
            await self.writer.commit(write)


async def _look(fleet: Fleet, writer: FencedWriter, target: Erasure) -> Erased:
    # each look learns anew what stays, and no look forgets what went
    unknowing = replace(target, words=set(), pairs=set(), lessons=set(), keys={})
    look = Erased(fleet, writer, unknowing)
    await look.run()
    return look


async def preview_erasure(fleet: Fleet, wanted: Wanted) -> Erased:
    """Return the result that a purge would have; writes nothing.

    Raises ForbiddenError unless the caller may curate, InvalidArgumentError for an unclear wish,
    KnowledgeNotFoundError for an unknown entry. Billed 1 read for each document of the fleet.
    """
    return await _look(fleet, FencedWriter(fleet), await _target(fleet, wanted))


async def erase(fleet: Fleet, wanted: Wanted) -> Erased:
    """Erase, look again, and have the store remove it from its files. Killed at any moment, the
    same call finishes.

    Waits for a maintenance run to end, and none begins meanwhile. The ledger keeps who, when, why
    and the counts. Raises as `preview_erasure`, and ConflictError while a run is under way. Billed
    as three previews, and 1R 1W for each document that changes.
    """
    target = await _target(fleet, wanted)
    if wanted.why:
        await clean_text(fleet, "--why", wanted.why)

    async def attempt() -> Erased:
        async with leased(fleet) as writer:
            if writer is None:
                raise ConflictError(
                    "A maintenance run is under way; nothing was erased. Call again when it "
                    "has ended."
                )
            return await _erase(fleet, writer, target, wanted.why)

    erased = await retry_conflicts(attempt, None, WAIT_FOR_RUN_S)
    await remove_scratch(fleet)
    return replace(erased, is_scrubbed=await fleet.knowledge.store.scrub())


async def _erase(fleet: Fleet, writer: FencedWriter, target: Erasure, why: str) -> Erased:
    preview = await _look(fleet, FencedWriter(fleet), target)
    if preview.names:
        await _begin(fleet, writer, preview, why)
        await preview.drop_showings(writer)
    left: tuple[str, ...] = ()
    for _ in range(MAX_LOOKS):
        last = await _look(fleet, writer, target)
        left = (*last.left, *last.names)
        if last.is_empty:
            break
    for toolset in fleet.toolsets:
        if toolset.maintain and preview.names:
            await toolset.maintain(fleet, writer)
    return replace(preview, left=left)


async def _begin(fleet: Fleet, writer: FencedWriter, preview: Erased, why: str) -> None:
    """Note in the ledger that something is erased, so that it is there however the run ends, and
    let every maintainer forget the fleet that it has in memory and compare all lessons anew.
    """
    counts = preview.gone + preview.changed
    counted = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    line = decision(fleet, "erased", PURGE_KEY, f"{why}: {counted}" if why else counted)
    epoch = await fleet.last_runs.new_epoch(considered=False)
    await writer.commit(fleet.knowledge.ledger.write(line), epoch)
    fleet.memory.forget()
