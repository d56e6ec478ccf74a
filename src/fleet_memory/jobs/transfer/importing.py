"""Puts a file's memory into a fleet, for `fleet-memory import`."""

from collections.abc import Sequence

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import CountProgress, Fleet
from fleet_memory.jobs.credentials import refuse_credential
from fleet_memory.jobs.transfer.arrival import note_arrival
from fleet_memory.jobs.transfer.file import Line
from fleet_memory.jobs.transfer.merging import DOCUMENTS_PER_COMMIT, Merged, merge_incoming
from fleet_memory.jobs.transfer.reading import ExportedMemory
from fleet_memory.repositories.batching import batches, groups_of
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.knowledge.merging import with_earned_standing
from fleet_memory.rules.text.keys import text_hash
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import ABSENT, Ref, Write


async def import_memory(
    fleet: Fleet, memory: ExportedMemory, *, overwrite: bool, with_policy: bool, step: CountProgress
) -> Merged:
    """Merge a file's memory into the fleet, and with `with_policy` set its policy and its rules;
    see `merge_incoming`.

    A file that an earlier version wrote goes into an empty fleet, whose next maintenance converts
    it. Raises InvalidArgumentError for one that does not, and for a credential in the file, by the
    number of its line, unless the fleet's policy allows them.
    """
    fleet.caller.require_curation()
    if memory.credential is not None:
        number, credential = memory.credential
        await refuse_credential(fleet, credential, f"line {number}")
    incoming = memory.incoming
    if memory.older:
        merged = await _take_over(fleet, memory.older, incoming.fleet, step)
    else:
        policy = await fleet.policies.read(fleet.now())
        entries = [
            with_earned_standing(entry, policy, with_rules=with_policy)
            for entry in incoming.entries
        ]
        merged = await merge_incoming(
            fleet, incoming._replace(entries=entries), overwrite=overwrite, step=step
        )
        merged = merged._replace(rules=await _not_in_force(fleet, incoming.rules))
    if with_policy and incoming.policy is not None:
        await _set_policy(fleet, incoming.policy)
    return merged


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


async def _take_over(
    fleet: Fleet, lines: Sequence[Line], source: str, step: CountProgress
) -> Merged:
    """Write documents of the version before as they are. Raises InvalidArgumentError if the fleet
    has others.
    """
    store, paths = fleet.programs.store, fleet.programs.paths
    wanted = {
        Ref(paths.collection(line.collection), line.id): line
        for line in lines
        if line.collection != "policy"
    }
    known = [
        document
        for refs in groups_of(DOCUMENTS_PER_COMMIT, wanted)
        for document in await store.get(*refs)
    ]
    if any(
        document is not None and document.fields != wanted[document.ref].fields
        for document in known
    ):
        raise InvalidArgumentError(
            "FILE: an earlier version wrote it, and this fleet has lessons of its own; import "
            "it into an empty fleet "
            "(--fleet NAME), run `fleet-memory maintain` there, export that, and import the "
            "new file"
        )
    missing = [ref for ref, document in zip(wanted, known, strict=True) if document is None]
    if missing:
        await note_arrival(fleet)
        await _forget_schema(fleet)
    for refs in groups_of(DOCUMENTS_PER_COMMIT, missing):
        for some in batches(Write(ref, wanted[ref].fields, ABSENT) for ref in refs):
            await store.commit(*some)
        step(len(wanted), len(wanted))
    return Merged(paths.fleet_id, source, len(missing), len(wanted) - len(missing))


async def _forget_schema(fleet: Fleet) -> None:
    """Make the next maintenance look for documents of the version before."""
    (policy,) = await fleet.programs.store.get(fleet.programs.paths.policy)
    if policy is not None and "schema" in policy.fields:
        await fleet.programs.store.commit(Write(policy.ref, {"schema": None}))
