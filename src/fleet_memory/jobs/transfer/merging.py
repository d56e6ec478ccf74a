"""Unite a file's memory with a fleet's, for `fleet-memory import`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.credentials import credential_place
from fleet_memory.jobs.others import remove_shelf
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.transfer.reading import Incoming
from fleet_memory.repositories.documents import batches, changed, groups_of, iter_readable
from fleet_memory.repositories.programs import VersionedChange, VersionedProgram, with_room
from fleet_memory.repositories.records import MAX_SUMMARIES, archive_record
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.repositories.snapshots import (
    ABSENT_ENTRY,
    VersionedEntry,
    changed_entry_fields,
)
from fleet_memory.rules.entries import ledger_event
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.rules.union import (
    MemoryDocuments,
    ProgramCopy,
    UnitedProgram,
    keys_here,
    left_lessons,
    united,
    united_entry,
    united_program,
    with_earned_standing,
    with_keys,
    without_orders,
    without_release,
    without_releases,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, ArchiveRecord, Program
from fleet_memory.stores import ABSENT, Ref, Write

DOCUMENTS_PER_COMMIT: Final = 50  # documents looked up and written at once; chosen
UNITE_WITHIN_S: Final = 60.0  # seconds in which an import begins again when others write; chosen


class Merged(NamedTuple):
    """The outcome of an import. `source` is the name of the fleet that came in.

    `written` counts the documents that changed. The others name lessons, as program/lesson, and
    entries. `archived`: they left for the cap, or for a later text of their id. `left`: they were
    forgotten or archived since. `rules`: people set them there and not here.
    """

    fleet: str
    source: str
    written: int
    archived: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that came in is in use now."""
        return not (self.archived or self.left or self.rules)


async def import_memory(
    fleet: Fleet, memory: Incoming, *, overwrite: bool, with_policy: bool, step: CountProgress
) -> Merged:
    """Unite a file's memory with the fleet's and publish its knowledge; with `with_policy` set its
    policy and its rules, and release what people released there. Nothing in the fleet is lost, and
    running it again is fine.

    `overwrite`: lessons that left come back. `step` counts documents. Billed 1 read for each entry
    of the fleet and each document of the file, some 50 for each of its programs, and the writes.
    Raises InvalidArgumentError for credentials in the file, by the numbers of their lines, unless
    the fleet's policy allows them, or that of the file where it is to be set. Raises ForbiddenError
    unless the caller may curate, ConflictError when every race was lost, CapacityExceededError for
    a program without room, and the store's errors.
    """
    fleet.caller.require_curation()
    incoming = memory
    policy = await fleet.policies.read(fleet.now())
    allowing = incoming.policy if incoming.policy and with_policy else policy
    if memory.credentials and allowing.secrets != "allow":
        places = [credential_place(each, f"line {n}") for n, each in memory.credentials.items()]
        raise InvalidArgumentError(
            f"{', '.join(places)}: hold credentials, which memory never keeps; nothing was "
            "written. Purge them from the memory that the file is of, or allow them: --policy "
            "takes over the policy of a file that allows them, `fleet-memory policy set secrets "
            "allow` is a decision of people here"
        )
    if unknown := {each.ref.collection for each in incoming.owned} - fleet.collections.keys():
        raise InvalidArgumentError(
            f"{', '.join(sorted(unknown))}: no toolset of these documents is installed; nothing "
            "was written"
        )
    if not with_policy:
        incoming = incoming._replace(
            programs=[without_releases(each) for each in incoming.programs],
            entries=[without_orders(each) for each in incoming.entries],
            pairs=[without_release(each) for each in incoming.pairs],
        )
    entries = [
        with_earned_standing(entry, policy, with_rules=with_policy) for entry in incoming.entries
    ]
    work = _Import(fleet, incoming._replace(entries=entries), policy, step, overwrite)
    await retry_conflicts(work.unite, "a document of the import", UNITE_WITHIN_S)
    if work.written:
        await remove_shelf(fleet)  # the programs that came changed before it was made
    await publish_now(fleet)
    if with_policy and incoming.policy is not None:
        await retry_conflicts(partial(_set_policy, fleet, incoming.policy), "the policy")
    return work.result(memory.rules)


@dataclass
class _Import:
    """One import under way, and its outcome so far."""

    fleet: Fleet
    incoming: Incoming
    policy: Policy
    step: CountProgress
    overwrite: bool
    written: set[Ref] = field(default_factory=set)
    archived: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    rules: set[str] = field(default_factory=set)  # hashes of their words

    def result(self, rules: Sequence[Entry]) -> Merged:
        """Return the outcome for a file with these rules."""
        return Merged(
            self.fleet.programs.paths.fleet_id,
            self.incoming.fleet,
            len(self.written),
            tuple(dict.fromkeys(self.archived)),
            tuple(self.left),
            tuple(each.key for each in rules if text_hash(each.value.pattern) not in self.rules),
        )

    async def _write_records(self) -> None:
        """Write the lines of the ledger and the archive, and the documents of toolsets, that the
        store has not; those of toolsets are united with its own.
        """
        fleet = self.fleet
        writes = [
            fleet.knowledge.ledger.write(line, id_) for id_, line in self.incoming.ledger.items()
        ]
        writes += map(fleet.programs.archive.write, self.incoming.archive)
        kinds = {fleet.paths.collection(name): kind for name, kind in fleet.collections.items()}
        writes += (
            Write(Ref(fleet.paths.collection(each.ref.collection), each.ref.id), each.fields)
            for each in self.incoming.owned
        )
        for some in groups_of(DOCUMENTS_PER_COMMIT, writes):
            changes = list[Write]()
            documents = await fleet.store.get(*(write.ref for write in some))
            for write, here in zip(some, documents, strict=True):
                if here is None:
                    changes.append(write._replace(expect=ABSENT))
                elif kind := kinds.get(write.ref.collection):
                    fields = kind.united(here.fields, dict(write.fields or {}))
                    if fields != here.fields:
                        changes.append(Write(write.ref, changed(here, fields), here.revision))
            await self._commit(changes)

    async def unite(self) -> None:
        """Write what the store has not: records, entries, pairs and programs in this order, so that
        a lesson names no entry that is not there.
        """
        await self._write_records()
        incoming, history, self.left = self.incoming, self.incoming.history, []
        known = {each.entry.key: each for each in await self.fleet.knowledge.all() if each.entry}
        mine = {key: each.entry for key, each in known.items() if each.entry}
        keys, theirs = keys_here(incoming.entries, mine), dict[str, Entry]()
        for entry in incoming.entries:
            moved = replace(entry, key=keys[entry.key])
            theirs[moved.key] = united_entry(theirs.get(moved.key, moved), moved)
        pairs = {pair.pair_id: with_keys(pair, keys) for pair in incoming.pairs}
        concerned = [*theirs.values(), *(mine[key] for key in theirs.keys() & mine.keys())]
        ids = {line.pair or "" for entry in concerned for line in entry.provenance}
        ids |= {entry.same_pair or "" for entry in (*mine.values(), *theirs.values())}
        here = {
            each.pair_id: each
            for some in groups_of(DOCUMENTS_PER_COMMIT, sorted({*pairs, *ids} - {""}))
            for each in await self.fleet.pairs.read(*some)
        }
        names = {line.program_id for entry in concerned for line in entry.provenance}
        names |= {side.program_id for pair in incoming.pairs for side in (pair.a, pair.b)} - {""}
        # a program that was deleted there is in the archive alone
        deleted = [Program(program_id=record.program_id) for record in incoming.archive]
        programs = {each.program_id: each for each in (*deleted, *incoming.programs)}
        before = {
            each.program.program_id: each
            for some in groups_of(DOCUMENTS_PER_COMMIT, sorted({*names, *programs}))
            for each in await self.fleet.programs.read_many(*some)
        }
        archive: list[ArchiveRecord] = []  # of both: that of the file is written
        copies = {name: UnitedProgram(each.program) for name, each in before.items()}
        for name, program in programs.items():
            own = before[name].program
            documents = await self.fleet.programs.archive.of_program(name)
            left = list(iter_readable(documents, archive_record))
            copies[name] = united_program(
                ProgramCopy(own, await self.fleet.programs.history.newest(own, MAX_SUMMARIES)),
                ProgramCopy(program, [past for past in history if past.program_id == name]),
                left,
                MAX_SUMMARIES,
                self.fleet.now(),
                overwrite=self.overwrite,
            )
            archive += left
            self.left += [f"{name}/{id_}" for id_ in copies[name].left]
        after = united(
            MemoryDocuments(
                {name: each.program for name, each in copies.items()},
                mine,
                {id_: each.pair for id_, each in here.items() if each.pair},
            ),
            MemoryDocuments(entries=theirs, pairs=pairs),
            left_lessons(archive, "forgotten"),
            self.policy,
            self.fleet.now(),
        )
        self.rules = {
            text_hash(entry.value.pattern)
            for entry in after.entries.values()
            if entry.tier == "constitutional"
        }
        writes = [
            self._entry_writes(known.get(key), theirs.get(key), entry)
            for key, entry in after.entries.items()
        ]
        writes += [
            [self.fleet.pairs.write(here[id_], pair)]
            for id_, pair in after.pairs.items()
            if pair is not here[id_].pair
        ]
        total = len(writes) + len(after.programs)
        for number, some in enumerate(groups_of(DOCUMENTS_PER_COMMIT, writes)):
            await self._commit([write for each in some for write in each])
            self.step(number * DOCUMENTS_PER_COMMIT + len(some), total)
        for number, (name, program) in enumerate(after.programs.items(), len(writes) + 1):
            await self._write_program(before[name], copies[name], program)
            self.step(number, total)

    def _entry_writes(
        self, known: VersionedEntry | None, theirs: Entry | None, after: Entry
    ) -> Sequence[Write]:
        """Return the writes of an entry; a new one has a line in the ledger if its state or its
        discoveries are others here.
        """
        before = known or ABSENT_ENTRY
        if after is before.entry:
            return []
        event = ledger_event(before.entry or theirs, after, self.fleet.now())
        if before.entry is None and event is None:
            fields = changed_entry_fields(before, after)
            return [Write(self.fleet.programs.paths.entry(after.key), fields, before.revision)]
        return self.fleet.knowledge.writes(
            before,
            after,
            by=self.fleet.caller.program_id or PERSON,
            why=f"import of fleet {self.incoming.fleet}",
            now=self.fleet.now(),
            event=event,
        )

    async def _write_program(
        self, before: VersionedProgram, copy: UnitedProgram, program: Program
    ) -> None:
        if program == before.program and not copy.records:
            return
        name = program.program_id
        room = with_room(before.program, program, self.fleet.now(), spares_changed=False)
        records = (*copy.records, *room.archived)
        after = replace(room.program, last_update=program.last_update)
        await self._note()
        await self.fleet.programs.commit([VersionedChange(before, after, records)])
        self.written.add(self.fleet.programs.paths.program(name))
        lessons = [each.pattern.id for each in records if isinstance(each, Archived)]
        self.archived += [f"{name}/{id_}" for id_ in lessons]

    async def _commit(self, writes: Sequence[Write]) -> None:
        for some in batches(writes):
            await self._note()
            await self.fleet.programs.store.commit(*some)
            self.written |= {write.ref for write in some}

    async def _note(self) -> None:
        if not self.written:
            note = partial(_note_arrival, self.fleet)
            await retry_conflicts(note, "the note of the last run")


async def _note_arrival(fleet: Fleet) -> None:
    """Make every maintainer read the whole fleet again, and consider every lesson."""
    await fleet.programs.store.commit(await fleet.last_runs.new_epoch(considered=False))


async def _set_policy(fleet: Fleet, policy: Policy) -> None:
    before = await fleet.policies.read_versioned()
    if before.value != policy:
        await fleet.programs.store.commit(fleet.policies.write(before, policy))
