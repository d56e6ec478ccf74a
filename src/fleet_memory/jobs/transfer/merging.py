"""Unite a file's memory with a fleet's, for `fleet-memory import`."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import CapacityExceededError, InvalidArgumentError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.credentials import credential_place
from fleet_memory.jobs.others import remove_shelf
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.transfer.reading import ExportedMemory, Incoming
from fleet_memory.repositories.documents import batches, groups_of, iter_readable
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import VersionedChange, with_room
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
    forgotten_in,
    pairs_behind,
    placed,
    united,
    united_entry,
    united_program,
    with_earned_standing,
    with_keys,
)
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, ArchiveRecord, Program
from fleet_memory.stores import Ref, Write

DOCUMENTS_PER_COMMIT: Final = 50  # documents looked up and written at once; chosen
UNITE_WITHIN_S: Final = 60.0  # seconds in which an import begins again when others write; chosen


class Merged(NamedTuple):
    """The outcome of an import. `source` is the name of the fleet that came in.

    `written` counts the changed programs, entries, pairs, and lines of ledger and archive,
    `unchanged` those of the file that are as they were. The others name lessons, as program/lesson,
    and entries. `divergent`: the stores have texts of which neither follows from the other; the
    later is in use. `archived`: they left for the cap. `left`: they were forgotten or archived
    since, or their program had no room. `rules`: people set them there and not here.
    """

    fleet: str
    source: str
    written: int
    unchanged: int
    divergent: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that came in is in use now."""
        return not (self.divergent or self.archived or self.left or self.rules)


async def import_memory(
    fleet: Fleet, memory: ExportedMemory, *, overwrite: bool, with_policy: bool, step: CountProgress
) -> Merged:
    """Unite a file's memory with the fleet's and publish its knowledge; with `with_policy` set its
    policy and its rules. Nothing in the fleet is lost, and running it again is fine.

    `overwrite`: lessons that left come back, and decisions of people there count here. `step`
    counts documents. Billed 1 read for each entry of the fleet and each document of the file, some
    50 for each of its programs, and the writes. Raises InvalidArgumentError for credentials in the
    file, by the numbers of their lines, unless the fleet's policy allows them, or that of the file
    where it is to be set. Raises ForbiddenError unless the caller may curate, ConflictError when
    every race was lost, and the store's errors.
    """
    fleet.caller.require_curation()
    incoming = memory.incoming
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
    entries = [
        with_earned_standing(entry, policy, with_rules=with_policy) for entry in incoming.entries
    ]
    work = _Import(fleet, incoming._replace(entries=entries), policy, step, overwrite=overwrite)
    await work.write_records()
    await retry_conflicts(work.unite, "a document of the import", UNITE_WITHIN_S)
    if work.result().written:
        await remove_shelf(fleet)  # the programs that came changed before it was made
    await publish_now(fleet)
    merged = work.result()._replace(rules=await _not_in_force(fleet, incoming.rules))
    if with_policy and incoming.policy is not None:
        await _set_policy(fleet, incoming.policy)
    return merged


class _Import:
    """One import under way."""

    def __init__(
        self,
        fleet: Fleet,
        incoming: Incoming,
        policy: Policy,
        step: CountProgress,
        *,
        overwrite: bool,
    ) -> None:
        self._fleet = fleet
        self._incoming = incoming
        self._policy = policy
        self._step = step
        self._overwrite = overwrite
        self._store, self._paths = fleet.programs.store, fleet.programs.paths
        self._now = fleet.now()
        self._known: set[Ref] = set()  # documents of the file that are done
        self._written: set[Ref] = set()
        self._programs: dict[str, UnitedProgram] = {}
        self._archive: list[ArchiveRecord] = []  # of the store, of these programs
        self._archived: list[str] = []
        self._full: list[str] = []
        self._divergent: list[str] = []
        self._is_noted = False

    def result(self) -> Merged:
        """Return the outcome."""
        programs = self._programs.items()
        divergent = [f"{name}/{id_}" for name, each in programs for id_ in each.divergent]
        left = [f"{name}/{id_}" for name, each in programs for id_ in each.left]
        return Merged(
            self._paths.fleet_id,
            self._incoming.fleet,
            len(self._written),
            len(self._known - self._written),
            (*self._divergent, *divergent),
            tuple(dict.fromkeys(self._archived)),
            (*dict.fromkeys(self._full), *left),
        )

    async def write_records(self) -> None:
        """Write the lines of the ledger and the archive that the store has not."""
        keys = (await self._read_entries())[1]
        writes = [
            self._fleet.knowledge.ledger.write(
                replace(line, key=keys.get(line.key, line.key)), line_id
            )
            for line_id, line in self._incoming.ledger.items()
        ]
        writes += map(self._fleet.programs.archive.write, self._incoming.archive)
        for some in groups_of(DOCUMENTS_PER_COMMIT, writes):
            await retry_conflicts(partial(self._write_missing, some), "the ledger and the archive")

    async def _write_missing(self, some: Sequence[Write]) -> None:
        documents = await self._store.get(*(write.ref for write in some))
        known = {document.ref for document in documents if document}
        missing = {write.ref: write for write in some if write.ref not in known}
        await self._commit([*missing.values()])
        self._done(write.ref for write in some)

    async def _read_entries(self) -> tuple[dict[str, VersionedEntry], dict[str, str]]:
        """Return the store's entries by key, and the incoming entries' keys here by their own."""
        versioned = await self._fleet.knowledge.all()
        known = {each.entry.key: each for each in versioned if each.entry is not None}
        entries = {key: each.entry for key, each in known.items() if each.entry is not None}
        keys, self._divergent = dict[str, str](), []
        for entry in self._incoming.entries:
            place = placed(entry, entries, overwrite=self._overwrite)
            keys[entry.key] = place.key
            entries.setdefault(place.key, replace(entry, key=place.key))
            self._divergent += [entry.key] if place.divergent else []
        return known, keys

    async def unite(self) -> None:
        """Unite entries, pairs and programs, and write those that change, in this order: a lesson
        names no entry that is not there.
        """
        known, keys = await self._read_entries()
        mine = {key: each.entry for key, each in known.items() if each.entry is not None}
        theirs: dict[str, Entry] = {}
        for entry in self._incoming.entries:
            moved = replace(entry, key=keys[entry.key])
            first = theirs.get(moved.key)
            theirs[moved.key] = united_entry(first, moved, overwrite=True) if first else moved
        pairs = {pair.pair_id: with_keys(pair, keys) for pair in self._incoming.pairs}
        concerned = [mine[key] for key in theirs.keys() & mine.keys()]
        read_as_one = [entry for entry in mine.values() if entry.read_through]
        ids = pairs.keys() | pairs_behind([*theirs.values(), *concerned, *read_as_one])
        here = {
            each.pair_id: each
            for some in groups_of(DOCUMENTS_PER_COMMIT, sorted(ids))
            for each in await self._fleet.pairs.read(*some)
        }
        programs, copies = await self._united_programs([*theirs.values(), *concerned])
        after = united(
            MemoryDocuments(
                {name: each.program for name, each in copies.items()},
                mine,
                {id_: each.pair for id_, each in here.items() if each.pair},
            ),
            MemoryDocuments(entries=theirs, pairs=pairs),
            forgotten_in([*self._incoming.archive, *self._archive]),
            self._policy,
            self._now,
            overwrite=self._overwrite,
        )
        for some in groups_of(DOCUMENTS_PER_COMMIT, [*after.entries]):
            await self._commit(
                [
                    write
                    for key in some
                    for write in self._entry_writes(
                        known.get(key), theirs.get(key), after.entries[key]
                    )
                ]
            )
        self._done(map(self._paths.entry, theirs))
        for ids_ in groups_of(DOCUMENTS_PER_COMMIT, [*after.pairs]):
            changed = [id_ for id_ in ids_ if after.pairs[id_] is not here[id_].pair]
            await self._commit(
                [self._fleet.pairs.write(here[id_], after.pairs[id_]) for id_ in changed]
            )
        self._done(map(self._paths.pair, pairs))
        for name, program in after.programs.items():
            await self._write_program(programs[name], copies[name], program)
        self._done(self._paths.program(each.program_id) for each in self._incoming.programs)

    async def _united_programs(
        self, entries: Iterable[Entry]
    ) -> tuple[dict[str, VersionedProgram], dict[str, UnitedProgram]]:
        """Return the programs of the file united with the store's, and those that its entries and
        pairs name, with the versions to expect.
        """
        incoming = {program.program_id: program for program in self._incoming.programs}
        names = {line.program_id for entry in entries for line in entry.provenance}
        for pair in self._incoming.pairs:
            names |= {pair.a.program_id, pair.b.program_id}
        names = {name for name in names if name} | incoming.keys()
        before = {
            each.program.program_id: each
            for some in groups_of(DOCUMENTS_PER_COMMIT, sorted(names))
            for each in await self._fleet.programs.read_many(*some)
        }
        copies = {name: UnitedProgram(each.program) for name, each in before.items()}
        for name, theirs in incoming.items():
            copies[name] = await self._united_program(before[name].program, theirs)
        self._programs = {name: copies[name] for name in incoming}
        return before, copies

    async def _united_program(self, mine: Program, theirs: Program) -> UnitedProgram:
        programs, name = self._fleet.programs, mine.program_id
        documents = await programs.archive.of_program(name)
        archive = list(iter_readable(documents, archive_record))
        self._archive += archive
        return united_program(
            ProgramCopy(mine, await programs.history.newest(mine, MAX_SUMMARIES), archive),
            ProgramCopy(
                theirs,
                [past for past in self._incoming.history if past.program_id == name],
                [record for record in self._incoming.archive if record.program_id == name],
            ),
            MAX_SUMMARIES,
            self._now,
            overwrite=self._overwrite,
        )

    def _entry_writes(
        self, known: VersionedEntry | None, theirs: Entry | None, after: Entry
    ) -> Sequence[Write]:
        """Return the writes of an entry; a new one has a line in the ledger if its state or its
        discoveries are others here.
        """
        before = known or ABSENT_ENTRY
        if after is before.entry:
            return []
        event = ledger_event(before.entry or theirs, after, self._now)
        if before.entry is None and event is None:
            fields = changed_entry_fields(before, after)
            return [Write(self._paths.entry(after.key), fields, before.revision)]
        source = self._incoming.fleet
        return self._fleet.knowledge.writes(
            before,
            after,
            by=self._fleet.caller.program_id or PERSON,
            why=f"import of fleet {source}" if source else "import",
            now=self._now,
            event=event,
        )

    async def _write_program(
        self, before: VersionedProgram, copy: UnitedProgram, program: Program
    ) -> None:
        if program == before.program and not copy.records:
            return
        try:
            room = with_room(before.program, program, self._now, spares_changed=False)
        except CapacityExceededError as full:
            self._full.append(f"{program.program_id}: {full}")
            return
        records = (*copy.records, *room.archived)
        after = replace(room.program, last_update=program.last_update)
        await self._note()
        await self._fleet.programs.commit([VersionedChange(before, after, records)])
        if after is not before.program:
            self._written.add(self._paths.program(program.program_id))
        self._archived += [
            f"{program.program_id}/{record.pattern.id}"
            for record in records
            if isinstance(record, Archived) and record.reason == "cap"
        ]

    async def _commit(self, writes: Sequence[Write]) -> None:
        if writes:
            await self._note()
        for some in batches(writes):
            await self._store.commit(*some)
            self._written |= {
                write.ref
                for write in some
                if write.ref.collection != self._paths.ledger
                or write.ref.id in self._incoming.ledger
            }

    def _done(self, refs: Iterable[Ref]) -> None:
        self._known |= {*refs}
        incoming = self._incoming
        of = (
            incoming.ledger,
            incoming.archive,
            incoming.entries,
            incoming.pairs,
            incoming.programs,
        )
        self._step(len(self._known), sum(map(len, of)))

    async def _note(self) -> None:
        """Before the first write, let every maintainer read the whole fleet again and consider
        every lesson.
        """
        if not self._is_noted:
            await note_arrival(self._fleet)
            self._is_noted = True


async def note_arrival(fleet: Fleet) -> None:
    """Make every maintainer read the whole fleet again, and consider every lesson."""

    async def attempt() -> None:
        before = await fleet.last_runs.read()
        after = replace(before.last, epoch=before.last.epoch + 1)
        await fleet.programs.store.commit(fleet.last_runs.write(before, after))

    await retry_conflicts(attempt, "the note of the last run")


async def _not_in_force(fleet: Fleet, rules: Sequence[Entry]) -> tuple[str, ...]:
    """Return the keys of those rules whose text people have not set in this fleet."""
    known = [versioned.entry for versioned in await fleet.knowledge.all()] if rules else []
    texts = {
        text_hash(entry.value.pattern)
        for entry in known
        if entry is not None and entry.tier == "constitutional"
    }
    return tuple(rule.key for rule in rules if text_hash(rule.value.pattern) not in texts)


async def _set_policy(fleet: Fleet, policy: Policy) -> None:
    async def attempt() -> None:
        before = await fleet.policies.read_versioned()
        if before.policy != policy:
            await fleet.programs.store.commit(fleet.policies.write(before, policy))

    await retry_conflicts(attempt, "the policy")
