"""Unite a file's memory with a fleet's, for `fleet-memory import`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, TypeVar

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.credentials import credential_place
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.jobs.transfer.files import fleet_documents
from fleet_memory.jobs.transfer.reading import Incoming
from fleet_memory.repositories.documents import (
    batches,
    changed,
    decoded_or_raised,
    iter_readable,
)
from fleet_memory.repositories.pairs import VersionedPair, versioned_pair
from fleet_memory.repositories.programs import absent_program, versioned_program, with_room
from fleet_memory.repositories.records import MAX_SUMMARIES, archive_record, past_summary
from fleet_memory.repositories.retrying import commit_settled, retry_conflicts
from fleet_memory.repositories.snapshots import ABSENT_ENTRY, changed_entry_fields, versioned_entry
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
from fleet_memory.schemas.programs import Archived, ArchiveRecord, PastSummary, Program
from fleet_memory.stores import ABSENT, Document, Ref, Write

_R = TypeVar("_R", bound=ArchiveRecord | PastSummary)
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
    fleet: Fleet, memory: Incoming, *, overwrite: bool, with_policy: bool
) -> Merged:
    """Unite a file's memory with the fleet's and publish its knowledge; with `with_policy` set its
    policy and its rules, and release what people released there. Nothing in the fleet is lost, and
    running it again is fine.

    `overwrite`: lessons that left come back. Billed 1 read for each document of the fleet, and the
    writes. Raises InvalidArgumentError for credentials in the file, by the numbers of their lines,
    unless the fleet's policy allows them, or that of the file where it is to be set. Raises
    ForbiddenError unless the caller may curate, ConflictError when every race was lost,
    CapacityExceededError for a program without room, and the store's errors.
    """
    fleet.caller.require_curation()
    policy = await fleet.policies.read(fleet.now())
    allowing = memory.policy if memory.policy and with_policy else policy
    if memory.credentials and allowing.secrets != "allow":
        places = [credential_place(each, f"line {n}") for n, each in memory.credentials.items()]
        raise InvalidArgumentError(
            f"{', '.join(places)}: hold credentials, which memory never keeps; nothing was "
            "written. Purge them from the memory that the file is of, or allow them: --policy "
            "takes over the policy of a file that allows them, `fleet-memory policy set secrets "
            "allow` is a decision of people here"
        )
    if unknown := {each.ref.collection for each in memory.owned} - fleet.collections.keys():
        raise InvalidArgumentError(
            f"{', '.join(sorted(unknown))}: no toolset of these documents is installed; nothing "
            "was written"
        )
    incoming = memory
    if not with_policy:
        incoming = incoming._replace(
            programs=[without_releases(each) for each in incoming.programs],
            entries=[without_orders(each) for each in incoming.entries],
            pairs=[without_release(each) for each in incoming.pairs],
        )
    entries = [
        with_earned_standing(entry, policy, with_rules=with_policy) for entry in incoming.entries
    ]
    incoming = incoming._replace(entries=entries)
    written = set[Ref]()

    async def attempt() -> Merged:
        groups, merged = await _union(fleet, incoming, memory.rules, policy, overwrite=overwrite)
        if any(groups):  # every maintainer reads all again, and considers every lesson
            await fleet.store.commit(await fleet.last_runs.new_epoch(considered=False))
        for some in [batch for group in groups for batch in batches(group)]:
            await commit_settled(fleet.store, *some)
            written.update(write.ref for write in some)
        # the programs that came changed before it was made: the publication makes it anew
        if written and (shelf := await fleet.knowledge.shelves.removal()):
            await fleet.store.commit(*shelf)
        return merged._replace(written=len(written))

    merged = await retry_conflicts(attempt, "a document of the import", UNITE_WITHIN_S)
    await publish_now(fleet)
    if with_policy and memory.policy is not None:
        await retry_conflicts(partial(_set_policy, fleet, memory.policy), "the policy")
    return merged


def _by_program(records: Iterable[_R]) -> defaultdict[str, list[_R]]:
    found = defaultdict[str, list[_R]](list)
    for record in records:
        found[record.program_id].append(record)
    return found


async def _union(
    fleet: Fleet, incoming: Incoming, wanted: Sequence[Entry], policy: Policy, *, overwrite: bool
) -> tuple[list[Sequence[Write]], Merged]:
    """Read the fleet, and return what makes it the union: groups of writes, each of which may be
    split but for programs; and the outcome. `wanted` are the rules that people set there.

    Records, entries, pairs and programs are committed in this order, so that a lesson names no
    entry that is not there.
    """
    here, now = await fleet_documents(fleet), fleet.now()
    stored = [decoded_or_raised(each, versioned_program) for each in here["programs"]]
    read = {each.program.program_id: each for each in stored}
    entries_here = [decoded_or_raised(each, versioned_entry) for each in here["gsp"]]
    known = {each.entry.key: each for each in entries_here if each.entry}
    asked_here = [decoded_or_raised(each, versioned_pair) for each in here["pairs"]]
    asked = {each.pair_id: each for each in asked_here}
    archive = [*iter_readable(here["archive"], archive_record), *incoming.archive]
    archived_of, brought = _by_program(archive), _by_program(incoming.history)
    history = _by_program(iter_readable(here["history"], past_summary))
    mine = {key: each.entry for key, each in known.items() if each.entry}
    keys, theirs = keys_here(incoming.entries, mine), dict[str, Entry]()
    for entry in incoming.entries:
        moved = replace(entry, key=keys[entry.key])
        theirs[moved.key] = united_entry(theirs.get(moved.key, moved), moved)
    programs = {each.program_id: each for each in incoming.programs}
    copies = dict[str, UnitedProgram]()
    for name in sorted(read.keys() | programs.keys()):
        before = read.setdefault(name, absent_program(name))
        copies[name] = united_program(
            ProgramCopy(before.program, history[name]),
            ProgramCopy(programs.get(name, Program(program_id=name)), brought[name]),
            archived_of[name],
            MAX_SUMMARIES,
            now,
            overwrite=overwrite,
        )
    after = united(
        MemoryDocuments(
            {name: each.program for name, each in copies.items()},
            mine,
            {id_: each.pair for id_, each in asked.items() if each.pair},
        ),
        MemoryDocuments(
            entries=theirs, pairs={pair.pair_id: with_keys(pair, keys) for pair in incoming.pairs}
        ),
        left_lessons(archive, "forgotten"),
        policy,
        now,
    )
    by, why = fleet.caller.program_id or PERSON, f"import of fleet {incoming.fleet}"
    entries, archived = list[Write](), list[str]()
    for key, entry in after.entries.items():
        old = known.get(key, ABSENT_ENTRY)
        if old.entry or ledger_event(theirs.get(key), entry, now):
            entries += fleet.knowledge.writes(old, entry, by=by, why=why, now=now)
        else:  # as it was there: its own lines say how it became so
            entries.append(Write(fleet.paths.entry(key), changed_entry_fields(old, entry), ABSENT))
    for id_, pair in after.pairs.items():
        versioned = asked.get(id_, VersionedPair(id_, None, ABSENT))
        entries += [fleet.pairs.write(versioned, pair)] if pair is not versioned.pair else []
    groups: list[Sequence[Write]] = [_records(fleet, incoming, here), entries]
    for name, program in after.programs.items():
        records = copies[name].records
        if program == read[name].program and not records:
            continue
        room = with_room(read[name].program, program, now, spares_changed=False)
        records = (*records, *room.archived)
        roomy = replace(room.program, last_update=program.last_update)
        groups.append(fleet.programs.writes(read[name], roomy, records))
        archived += [f"{name}/{each.pattern.id}" for each in records if isinstance(each, Archived)]
    rules = {
        text_hash(entry.value.pattern)
        for entry in after.entries.values()
        if entry.tier == "constitutional"
    }
    missing = tuple(rule.key for rule in wanted if text_hash(rule.value.pattern) not in rules)
    left = tuple(f"{name}/{id_}" for name, copy in copies.items() for id_ in copy.left)
    return groups, Merged(fleet.paths.fleet_id, incoming.fleet, 0, tuple(archived), left, missing)


def _records(
    fleet: Fleet, incoming: Incoming, here: Mapping[str, Iterable[Document]]
) -> list[Write]:
    """Return the lines of the ledger and the archive, and the documents of toolsets, that the store
    has not; those of toolsets are united with its own.
    """
    known = {document.ref: document for documents in here.values() for document in documents}
    kinds = {fleet.paths.collection(name): kind for name, kind in fleet.collections.items()}
    writes = [fleet.knowledge.ledger.write(line, id_) for id_, line in incoming.ledger.items()]
    writes += map(fleet.programs.archive.write, incoming.archive)
    new = [write._replace(expect=ABSENT) for write in writes if write.ref not in known]
    for each in incoming.owned:
        ref = Ref(fleet.paths.collection(each.ref.collection), each.ref.id)
        if (own := known.get(ref)) is None:
            new.append(Write(ref, each.fields, ABSENT))
        elif (fields := kinds[ref.collection].united(own.fields, each.fields)) != own.fields:
            new.append(Write(ref, changed(own, fields), own.revision))
    return new


async def _set_policy(fleet: Fleet, policy: Policy) -> None:
    before = await fleet.policies.read_versioned()
    if before.value != policy:
        await fleet.store.commit(fleet.policies.write(before, policy))
