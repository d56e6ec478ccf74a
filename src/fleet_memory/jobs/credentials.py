"""Refuses texts with credentials before they are written, and finds those that were stored before,
unless the fleet's policy allows them.
"""

from anyio import to_thread
from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.repositories.documents import Versioned, decoded, document_blocks, versioned
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.repositories.programs import Programs
from fleet_memory.repositories.snapshots import VersionedEntry, versioned_entry
from fleet_memory.rules.text.credentials import Credential, credential_at, shown
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import Program
from fleet_memory.stores import Document, Query, Store


async def require_no_credential(fleet: Fleet, field: str, value: JsonValue) -> None:
    """Raise InvalidArgumentError for a text in `value` that holds a credential, unless the policy
    allows them.

    The message names the field and the rule, never the text. A clean value costs no read, another 1
    a minute.
    """
    if credential := credential_at(value):
        await refuse_credential(fleet, credential, field)


async def refuse_credential(fleet: Fleet, credential: Credential, field: str = "") -> None:
    """Raise InvalidArgumentError for a credential that was found, unless the policy allows them.
    Billed 1R a minute.
    """
    if (await fleet.policies.read(fleet.now())).secrets == "allow":
        return
    place, _, rule = credential_place(credential, field).rpartition(" (")
    raise InvalidArgumentError(
        f"{place or 'arguments'}: holds a credential ({rule}, which memory never keeps; nothing "
        "was written. Write where it is kept instead, e.g. the name of the variable or the path "
        "in the vault. Where it is none, people may allow it: fleet-memory policy set secrets "
        "allow"
    )


def credential_place(credential: Credential, field: str = "") -> str:
    """Return e.g. "line 2.patterns.n7.pattern (rule github-pat)"."""
    parts = map(shown, map(str, credential.place))
    return f"{'.'.join([field, *parts] if field else parts)} (rule {credential.rule})"


async def stored_credentials(store: Store, fleet_id: str) -> list[str]:
    """Return the command that erases each lesson, note, value or entry with a credential, e.g.
    "purge basher/push-tags  (rule github-pat)"; none where the policy allows them.

    Documents that cannot be read are passed over. Billed 1 read for each program and entry.
    """
    paths, purges = FleetPaths(fleet_id), list[str]()
    (document,) = await store.get(paths.policy)
    policy = decoded(document, versioned(Policy)) if document else None
    if isinstance(policy, Versioned) and policy.value.secrets == "allow":
        return []
    async for block in Programs(store, fleet_id).in_blocks():
        for each in block.programs:
            purges += await to_thread.run_sync(_purges_of_program, each.program)
    async for documents in document_blocks(store, Query(paths.entries)):
        purges += await to_thread.run_sync(_purges_of_entries, documents)
    return purges


def _purges_of_program(program: Program) -> list[str]:
    purges = [
        f"purge {program.program_id}/{lesson.id}  (rule {credential.rule})"
        for lesson in program.patterns.values()
        if (credential := credential_at([lesson.id, lesson.pattern, lesson.evidence, *lesson.tags]))
    ]
    state = {
        "notes": [note.text for note in program.notes.values()],
        "contextSummary": dict(program.context_summary),
        "config": dict(program.config),
        "baselines": dict(program.baselines),
    }
    if credential := credential_at(state):
        place = ".".join(map(shown, map(str, credential.place)))
        purges.append(
            f"purge --text -  (rule {credential.rule} in {place} of {program.program_id})"
        )
    return purges


def _purges_of_entries(documents: list[Document]) -> list[str]:
    values = (decoded(document, versioned_entry) for document in documents)
    entries = [value.entry for value in values if isinstance(value, VersionedEntry) and value.entry]
    return [
        f"purge {entry.key}  (rule {credential.rule})"
        for entry in entries
        if (credential := credential_at([entry.value.pattern, entry.description]))
    ]
