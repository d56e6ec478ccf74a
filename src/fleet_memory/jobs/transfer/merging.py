"""Merge a file's memory into a fleet, for `fleet-memory import`."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from fleet_memory.errors import CapacityExceededError, InvalidArgumentError, RacesLostError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.credentials import credential_place
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.transfer.reading import ExportedMemory, Incoming, LedgerLines
from fleet_memory.repositories.documents import batches, groups_of, iter_readable
from fleet_memory.repositories.program_codec import VersionedProgram
from fleet_memory.repositories.programs import VersionedChange, with_room
from fleet_memory.repositories.records import MAX_SUMMARIES, archive_record, ledger_line
from fleet_memory.repositories.retrying import new_commit_id, retry_conflicts
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, changed_entry_fields
from fleet_memory.rules.deciding import PERSON
from fleet_memory.rules.entries import ledger_event
from fleet_memory.rules.lifecycle.merging import (
    MergedProgram,
    Merging,
    Stating,
    merged_program,
    with_other_keys,
)
from fleet_memory.rules.merging import (
    Grounds,
    LedgeredEntry,
    PlacedEntry,
    arrived_entry,
    checked_entry,
    merged_entry,
    merged_pair,
    pairs_behind,
    pairs_of_echoes,
    placed,
    with_earned_standing,
    with_keys,
    with_memberships,
    without_decisions,
)
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.pairs import Pair
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Archived, PastSummary, Program
from fleet_memory.stores import ABSENT, Ref, Write


async def note_arrival(fleet: Fleet) -> None:
    """Make every maintainer read the whole fleet again, and consider every lesson."""

    async def attempt() -> None:
        before = await fleet.last_runs.read()
        after = replace(before.last, epoch=before.last.epoch + 1)
        await fleet.programs.store.commit(fleet.last_runs.write(before, after))

    await retry_conflicts(attempt, "the note of the last run")


_PAIRS_AT_ONCE: Final = 50  # chosen, as `jobs.transfer.merging` writes


class ProgramMerging:
    """Merges programs of one import with those of the fleet."""

    def __init__(self, fleet: Fleet, now: datetime, *, overwrite: bool) -> None:
        self._programs = fleet.programs
        self._now = now
        self._overwrite = overwrite

    async def merged(self, theirs: Stating) -> tuple[VersionedProgram, MergedProgram]:
        """Return a program as it is in the store, and merged. Billed 1 read, and 1 each
        summary and record.
        """
        programs, name = self._programs, theirs.program.program_id
        (before,) = await programs.read_many(name)
        mine = Stating(before.program, await programs.history.newest(before.program, MAX_SUMMARIES))
        archive = list(iter_readable(await programs.archive.of_program(name), archive_record))
        return before, merged_program(
            mine, theirs, Merging(archive, self._now, self._overwrite, MAX_SUMMARIES)
        )


def stated_programs(incoming: Incoming, keys: Mapping[str, str]) -> dict[str, Stating]:
    """Return the incoming programs by id, with the keys that their entries have here."""
    summaries: dict[str, list[PastSummary]] = {}
    for past in incoming.history:
        summaries.setdefault(past.program_id, []).append(past)
    return {
        program.program_id: Stating(
            with_other_keys(program, keys), summaries.get(program.program_id, ())
        )
        for program in incoming.programs
    }


def concerned(
    entries: Iterable[Entry], stated: Mapping[str, Stating], pairs: Mapping[str, Pair]
) -> list[Entry]:
    """Return the entries with a contribution of a program that comes in, or with a pair about
    one.
    """
    return [
        entry
        for entry in entries
        if any(line.program_id in stated for line in entry.provenance)
        or pairs_behind(entry) & pairs.keys()
    ]


async def read_grounds(
    fleet: Fleet,
    entries: Sequence[Sequence[Entry]],
    stated: Mapping[str, Stating],
    pairs: Mapping[str, Pair],
    merging: ProgramMerging,
) -> Grounds:
    """Return both stores' knowledge of the lessons behind `entries`, each with its copies; of
    programs only these.

    `stated` are incoming programs by id, `pairs` incoming pairs by id. Billed as
    `ProgramMerging.merged` for each program, and 1 read for each pair.
    """
    named: dict[str, set[str]] = {}
    for line in (line for copies in entries for copy in copies for line in copy.provenance):
        named.setdefault(line.program_id, set()).add(line.pattern_id)
    programs: dict[str, Program] = {}
    here: dict[str, Mapping[str, datetime]] = {}
    there: dict[str, Mapping[str, datetime]] = {}
    for name, ids in named.items():
        theirs = stated.get(name, Stating(Program(program_id=name)))
        before, merged = await merging.merged(theirs)
        here[name], there[name] = before.program.shown, theirs.program.shown
        lessons = {id_: pattern for id_, pattern in merged.program.patterns.items() if id_ in ids}
        programs[name] = Program(program_id=name, patterns=lessons, shown=merged.program.shown)
    wanted = {id_ for copies in entries for id_ in pairs_behind(*copies)}
    known = {id_: pairs[id_] for id_ in wanted & pairs.keys()}
    for some in groups_of(_PAIRS_AT_ONCE, sorted(wanted)):
        for versioned in await fleet.pairs.read(*some):
            if versioned.pair is not None:
                theirs_too = pairs.get(versioned.pair_id)
                known[versioned.pair_id] = (
                    merged_pair(versioned.pair, theirs_too) if theirs_too else versioned.pair
                )
    return Grounds(programs, known, here, there)


DOCUMENTS_PER_COMMIT: Final = 50  # documents looked up and written at once; chosen


class Merged(NamedTuple):
    """The outcome of a merge. `source` is the name of the fleet that came in.

    `written` and `unchanged` count its programs with their history, its entries, pairs,
    and lines of ledger and archive. The others name lessons, as program/lesson, and entries.
    `divergent`: the store has another text, and both are kept. `archived`: they left for the cap.
    `left`: they are in the archive for longer than in the file, or their program had no room.
    `rules`: people set them there and not here.
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


async def merge_incoming(
    fleet: Fleet, incoming: Incoming, *, overwrite: bool, step: CountProgress
) -> Merged:
    """Merge memory into a fleet and publish its knowledge; nothing in the fleet is lost. Running it
    again is fine.

    `overwrite`: of two texts of one lesson the incoming one stays, and entries that people there
    reworded or reinstated are so here. `step` counts programs, entries and pairs. Billed 4 reads
    for each program, 1 for each entry of the fleet and each other document, and their
    writes. Raises ForbiddenError unless the caller may curate, ConflictError when every race was
    lost, and the store's errors.
    """
    fleet.caller.require_curation()
    work = _Merge(fleet, incoming, step, overwrite=overwrite)
    await work.run()
    await publish_now(fleet)
    return work.result()


class _Merge:
    """One merge under way."""

    def __init__(
        self, fleet: Fleet, incoming: Incoming, step: CountProgress, *, overwrite: bool
    ) -> None:
        self._fleet = fleet
        self._incoming = incoming
        self._overwrite = overwrite
        self._step = step
        self._paths = fleet.programs.paths
        self._store = fleet.programs.store
        self._now = fleet.now()
        self._by = fleet.caller.program_id or PERSON
        self._why = f"import of fleet {incoming.fleet}" if incoming.fleet else "import"
        self._counts = Counter[str]()
        self._divergent: list[str] = []
        self._archived: list[str] = []
        self._left: list[str] = []
        self._is_noted = False
        self._merging = ProgramMerging(fleet, self._now, overwrite=overwrite)
        self._entries: dict[
            str, Entry
        ] = {}  # as they are here after the merge, as far as they were read
        self._left_entries = set[str]()  # programs that a contribution here was taken from

    def result(self) -> Merged:
        """Return the outcome so far."""
        counts, name = self._counts, self._paths.fleet_id
        lists = (tuple(names) for names in (self._divergent, self._archived, self._left))
        return Merged(name, self._incoming.fleet, counts["written"], counts["unchanged"], *lists)

    async def run(self) -> None:
        """Merge everything."""
        places = await self._places()
        keys = {
            entry.key: place.entry.key for entry, place in places if entry.key != place.entry.key
        }
        await self._write_records(keys)
        stated = stated_programs(self._incoming, keys)
        pairs = {pair.pair_id: with_keys(pair, keys) for pair in self._incoming.pairs}
        joined = {place.entry.key for _, place in places}
        others = [entry for key, entry in self._entries.items() if key not in joined]
        checked = concerned(others, stated, pairs)
        copies = [
            (place.entry, place.joins) if place.joins else (place.entry,) for _, place in places
        ]
        copies += [(entry,) for entry in checked]
        grounds = await read_grounds(self._fleet, copies, stated, pairs, self._merging)
        policy = await self._fleet.policies.read(self._now)
        for _, place in places:
            attempt = partial(self._merge_entry, place.entry, grounds, policy)
            await retry_conflicts(attempt, f"entry {place.entry.key}")
            self._count_step()
        for entry in checked:
            await self._change_entry(
                entry, lambda known: checked_entry(known, grounds, policy, self._now)
            )
        for ids in groups_of(DOCUMENTS_PER_COMMIT, pairs):
            await retry_conflicts(
                partial(self._merge_pairs, {id_: pairs[id_] for id_ in ids}), "pairs"
            )
            self._count_step(len(ids))
        for theirs in stated.values():
            await self._merge_program(theirs)
            self._count_step()
        for name in sorted(self._left_entries - stated.keys()):
            await self._merge_program(Stating(Program(program_id=name)))

    def _count_step(self, count: int = 1) -> None:
        self._counts["steps"] += count
        incoming = self._incoming
        self._step(
            self._counts["steps"],
            len(incoming.entries) + len(incoming.pairs) + len(incoming.programs),
        )

    async def _places(self) -> list[tuple[Entry, PlacedEntry]]:
        """Return each incoming entry and its place among the fleet's."""
        entries = await self._fleet.knowledge.all()
        known = {
            versioned.entry.key: versioned.entry
            for versioned in entries
            if versioned.entry is not None
        }
        self._entries = dict(known)
        places: list[tuple[Entry, PlacedEntry]] = []
        for entry in self._incoming.entries:
            own = known.get(entry.key)
            lines = await self._known_lines(own) if own else {}
            place = placed(self._incoming.copy_of(entry), known, lines, decides=self._overwrite)
            known.setdefault(place.entry.key, place.entry)
            places.append((entry, place))
            if place.divergent:
                self._divergent.append(entry.key)
        return places

    async def _known_lines(self, entry: Entry) -> LedgerLines:
        refs = {self._paths.ledger_line(line_id): line_id for line_id in entry.ledger}
        documents = await self._store.get(*refs) if refs else []
        by_ref = {document.ref: document for document in documents if document}
        return {refs[ref]: ledger_line(document) for ref, document in by_ref.items()}

    async def _write_records(self, keys: Mapping[str, str]) -> None:
        """Write the lines of the ledger and the archive that the store has not."""
        writes: list[Write] = []
        for line_id, line in self._incoming.ledger.items():
            renamed = replace(line, key=keys[line.key]) if line.key in keys else line
            writes.append(self._fleet.knowledge.ledger.write(renamed, line_id))
        writes += map(self._fleet.programs.archive.write, self._incoming.archive)
        for some in groups_of(DOCUMENTS_PER_COMMIT, writes):
            await retry_conflicts(partial(self._write_missing, some), "the ledger and the archive")

    async def _write_missing(self, some: Sequence[Write]) -> None:
        missing = await self._missing({write.ref: write for write in some})
        await self._commit(*missing)
        self._count(len(missing), len(some))

    async def _missing(self, writes: Mapping[Ref, Write]) -> list[Write]:
        documents = await self._store.get(*writes)
        return [
            write for write, known in zip(writes.values(), documents, strict=True) if known is None
        ]

    async def _merge_entry(self, entry: Entry, grounds: Grounds, policy: Policy) -> None:
        (versioned,) = await self._fleet.knowledge.read_versioned(entry.key)
        if versioned.entry is None:
            self._entries[entry.key] = await self._add_entry(entry, grounds, policy)
            return
        is_new = entry.key not in self._entries
        if is_new and text_hash(versioned.entry.value.pattern) != text_hash(entry.value.pattern):
            raise RacesLostError(
                f"Another text took the key {entry.key} meanwhile. Import again: that does the "
                "rest."
            )
        theirs = self._incoming.copy_of(entry)
        theirs = theirs if self._overwrite else without_decisions(theirs)
        lines = await self._known_lines(versioned.entry)

        def change(known: Entry) -> Entry:
            mine = LedgeredEntry(known, lines)
            return merged_entry(
                mine, theirs, policy, self._now, overwrite=self._overwrite, grounds=grounds
            )

        self._count(await self._change_entry(versioned.entry, change), 1)

    async def _change_entry(self, before: Entry, change: Callable[[Entry], Entry]) -> bool:
        """Change an entry of the store, and return whether that changed it."""
        after = change(before)
        is_changed = after is not before
        if is_changed:
            await self._note()
            after = await self._fleet.knowledge.update(
                before.key, change, by=self._by, why=self._why, now=self._now
            )
        self._entries[before.key] = after
        there = {(line.program_id, line.pattern_id) for line in after.provenance}
        gone = (
            line for line in before.provenance if (line.program_id, line.pattern_id) not in there
        )
        self._left_entries |= {line.program_id for line in gone}
        return is_changed

    async def _add_entry(self, entry: Entry, grounds: Grounds, policy: Policy) -> Entry:
        """Write an entry that the store has not; the ledger has a line if its state or its votes
        are others here.
        """
        after = arrived_entry(entry, grounds, policy, self._now)
        event = ledger_event(entry, after, self._now)
        writes = [
            Write(self._paths.entry(entry.key), changed_entry_fields(ABSENT_ENTRY, after), ABSENT)
        ]
        if event is not None:
            cause = {"by": self._by, "why": self._why}
            writes = self._fleet.knowledge.writes(
                ABSENT_ENTRY, after, **cause, now=self._now, commit_id=new_commit_id(), event=event
            )
        await self._commit(*writes)
        self._count(1, 1)
        return after

    async def _merge_pairs(self, wanted: Mapping[str, Pair]) -> None:
        writes: list[Write] = []
        for known in await self._fleet.pairs.read(*wanted):
            pair = wanted[known.pair_id]
            after = merged_pair(known.pair, pair) if known.pair else pair
            if after is not known.pair:
                writes.append(self._fleet.pairs.write(known, after))
        await self._commit(*writes)
        self._count(len(writes), len(wanted))

    async def _merge_program(self, theirs: Stating) -> None:
        name = theirs.program.program_id
        try:
            await retry_conflicts(partial(self._try_program, theirs), f"program {name}")
        except CapacityExceededError as full:
            self._left.append(f"{name}: {full}")

    async def _try_program(self, theirs: Stating) -> None:
        programs, name = self._fleet.programs, theirs.program.program_id
        before, merged = await self._merging.merged(theirs)
        pairs = await self._fleet.pairs.read(*pairs_of_echoes(merged.program, self._entries))
        known = {
            versioned.pair_id: versioned.pair for versioned in pairs if versioned.pair is not None
        }
        program = with_memberships(merged.program, self._entries, known)
        merged = merged._replace(program=before.program if program == before.program else program)
        room = with_room(before.program, merged.program, self._now, spares_changed=False)
        records = (*merged.records, *room.archived)
        if room.program is not before.program or records:
            after = replace(room.program, last_update=merged.program.last_update)
            await self._note()
            await programs.commit([VersionedChange(before, after, records)])
        self._count(room.program is not before.program, 1)
        self._divergent += [f"{name}/{id_}" for id_ in merged.divergent]
        self._left += [f"{name}/{id_}" for id_ in merged.left]
        capped = (
            record for record in records if isinstance(record, Archived) and record.reason == "cap"
        )
        self._archived += [f"{name}/{archived.pattern.id}" for archived in capped]

    def _count(self, written: int, of: int) -> None:
        self._counts["written"] += written
        self._counts["unchanged"] += of - written

    async def _commit(self, *writes: Write) -> None:
        if writes:
            await self._note()
            for some in batches(writes):
                await self._store.commit(*some)

    async def _note(self) -> None:
        """Before the first write, let every maintainer read the whole fleet again and consider
        every lesson.
        """
        if not self._is_noted:
            await note_arrival(self._fleet)
            self._is_noted = True


async def import_memory(
    fleet: Fleet, memory: ExportedMemory, *, overwrite: bool, with_policy: bool, step: CountProgress
) -> Merged:
    """Merge a file's memory into the fleet, and with `with_policy` set its policy and its rules;
    see `merge_incoming`.

    Raises InvalidArgumentError for credentials in the file, by the numbers of their lines, unless
    the fleet's policy allows them, or that of the file where it is to be set.
    """
    fleet.caller.require_curation()
    incoming = memory.incoming
    policy = await fleet.policies.read(fleet.now())
    if memory.credentials and _secrets_after(policy, incoming.policy, with_policy) != "allow":
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
    merged = await merge_incoming(
        fleet, incoming._replace(entries=entries), overwrite=overwrite, step=step
    )
    merged = merged._replace(rules=await _not_in_force(fleet, incoming.rules))
    if with_policy and incoming.policy is not None:
        await _set_policy(fleet, incoming.policy)
    return merged


def _secrets_after(policy: Policy, of_file: Policy | None, with_policy: bool) -> str:  # noqa: FBT001 a flag of the command
    return (of_file if of_file and with_policy else policy).secrets


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
