"""The policy of a fleet as people read and set it: each value by name, in the ledger, and applied
when they ask.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.jobs.credentials import require_no_credential
from fleet_memory.jobs.publishing import publish_now
from fleet_memory.repositories.retrying import retry_conflicts
from fleet_memory.rules.entries import (
    entry_state,
    settled,
    standing,
    withdrawn_by_policy,
)
from fleet_memory.rules.pairs import PERSON
from fleet_memory.rules.text.names import close_names
from fleet_memory.schemas.knowledge import Entry, LedgerLine
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.value import InvalidValueError, codec
from fleet_memory.stores import Write

NOTHING: Final = "none"  # how people write an absent value, and read one
LEDGER_KEY: Final = "policy"  # the key of the ledger's lines about the policy


class PolicyRow(NamedTuple):
    """One value of the policy for people: its name, the value and its default as texts, its meaning
    and its range.
    """

    name: str
    value: str
    default: str
    meaning: str
    allowed: str


def policy_rows(policy: Policy) -> list[PolicyRow]:
    """Return every value of a policy with its meaning, e.g. PolicyRow("threshold", "2", "2", "…",
    "2 to 10").
    """
    values, defaults = _texts(policy), _texts(Policy())
    return [
        PolicyRow(name, values[name], defaults[name], str(schema["description"]), _allowed(schema))
        for name, schema in _SCHEMAS.items()
    ]


def with_values(policy: Policy, words: Sequence[str]) -> Policy:
    """Return a policy with values by name, e.g. ("threshold", "3", "judge-model", "none").

    Raises InvalidArgumentError, which names the value: unknown, without a value, given twice, or
    out of range.
    """
    if len(words) % 2:
        raise InvalidArgumentError(
            f"{words[-1]}: without a value; write NAME VALUE, e.g. threshold 3"
        )
    given: dict[str, str] = {}
    for name, value in zip(map(_known_name, words[::2]), words[1::2], strict=True):
        if name in given:
            raise InvalidArgumentError(f"{name}: given twice; give it once")
        given[name] = value
    for name, value in given.items():
        policy = _with_value(policy, name, value)
    return policy


def policy_changes(before: Policy, after: Policy) -> dict[str, str]:
    """Return the names of the values that differ, each with its change, e.g. {"threshold":
    "threshold 2 -> 3"}.
    """
    old, new = _texts(before), _texts(after)
    return {name: f"{name} {old[name]} -> {new[name]}" for name in new if old[name] != new[name]}


async def set_policy(fleet: Fleet, words: Sequence[str]) -> list[str]:
    """Set values of the policy in one commit with their lines in the ledger; return each change,
    none for none.

    It applies to later publications; other servers follow within a minute. Raises ForbiddenError
    unless the caller may curate, InvalidArgumentError as `with_values` does, ConflictError when
    every race was lost.
    """
    fleet.caller.require_curation()

    async def attempt() -> list[str]:
        before = await fleet.policies.read_versioned()
        after = with_values(before.policy, words)
        await require_no_credential(fleet, "judgeModel", after.judge_model)
        changes = policy_changes(before.policy, after)
        if changes:
            write = fleet.policies.write(before, after)
            await fleet.knowledge.store.commit(write, *_ledger_writes(fleet, changes))
        return [*changes.values()]

    return await retry_conflicts(attempt, "the policy")


async def apply_policy(fleet: Fleet) -> dict[str, int]:
    """Take back the published entries that the present policy would not publish; return the votes
    of each by key.

    They are candidates again, and boot reads them no more. Killed at any moment, the next call does
    the rest. Raises ForbiddenError unless the caller may curate, ConflictError when every race was
    lost. Billed 1 read for each entry, 1R 2W for each that is taken back, and the publication.
    """
    fleet.caller.require_curation()
    policy, now = (await fleet.policies.read_versioned()).policy, fleet.now()
    entries = [
        versioned.entry for versioned in await fleet.knowledge.all() if versioned.entry is not None
    ]
    keys = [entry.key for entry in entries if withdrawn_by_policy(entry, policy, now) is not entry]
    after = [await _applied_to(fleet, key, policy) for key in keys]
    await publish_now(fleet)
    return {
        entry.key: standing(entry).discovered
        for entry in after
        if entry_state(entry, now) == "candidate"
    }


async def _applied_to(fleet: Fleet, key: str, policy: Policy) -> Entry:
    now = fleet.now()

    def change(entry: Entry) -> Entry:
        return settled(entry, withdrawn_by_policy(entry, policy, now), policy, now)

    by, why = (
        fleet.caller.program_id or PERSON,
        f"the policy asks for {policy.threshold} votes by {policy.origins}",
    )
    return await fleet.knowledge.update(key, change, by=by, why=why, now=now)


def _ledger_writes(fleet: Fleet, changes: Mapping[str, str]) -> list[Write]:
    by, now = fleet.caller.program_id or PERSON, fleet.now()
    return [
        fleet.knowledge.ledger.write(
            LedgerLine(event="policy", key=LEDGER_KEY, at=now, by=by, why=why)
        )
        for why in changes.values()
    ]


def _known_name(name: str) -> str:
    """Return the name on the wire of a value in any spelling, e.g. "judge-model" ->
    "judgeModel".
    """
    plain = {known.lower(): known for known in _SCHEMAS}
    spelt = name.replace("-", "").replace("_", "").lower()
    if spelt not in plain:
        close = [plain[each] for each in close_names(spelt, plain, 1)]
        raise InvalidArgumentError(
            f"{name}: unknown, "
            + (f"did you mean {close[0]}?" if close else f"allowed: {', '.join(_SCHEMAS)}")
        )
    return plain[spelt]


def _with_value(policy: Policy, name: str, value: str) -> Policy:
    wire: dict[str, object] = {**policy.wire(), name: value}
    if value in ("", NOTHING) and _allows_nothing(_SCHEMAS[name]):
        del wire[name]
    try:
        return Policy.from_fields(wire)
    except InvalidValueError as error:
        raise InvalidArgumentError(
            f"{name}: must be {_allowed(_SCHEMAS[name])}, not {value[:60]!r}"
        ) from error


def _texts(policy: Policy) -> dict[str, str]:
    wire = policy.wire()
    return {name: str(wire.get(name, "")) or NOTHING for name in _SCHEMAS}


def _allows_nothing(schema: Mapping[str, JsonValue]) -> bool:
    return schema["default"] in (None, "")


def _allowed(schema: Mapping[str, JsonValue]) -> str:
    """Return the values that a name takes, in words."""
    kinds = cast("list[Mapping[str, JsonValue]]", schema.get("anyOf", [schema]))
    first = kinds[0]
    if choices := first.get("enum"):
        allowed = " or ".join(map(str, cast("list[JsonValue]", choices)))
    elif "maximum" in first:
        allowed = f"{first['minimum']} to {first['maximum']}"
    else:
        allowed = f"a text of at most {first['maxLength']} characters"
    return f"{allowed}, or {NOTHING}" if _allows_nothing(schema) else allowed


_SCHEMAS: Final = cast(
    "dict[str, Mapping[str, JsonValue]]",
    codec(Policy).json_schema(by_alias=True, mode="validation")["properties"],
)
