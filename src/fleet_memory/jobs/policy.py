"""The policy of a fleet as people read and set it: each value by name, in the ledger, and applied
when they ask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple, cast

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet, Toolset
from fleet_memory.jobs.auditing import decision
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
from fleet_memory.rules.text.keys import close_names
from fleet_memory.schemas.knowledge import Entry
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.value import InvalidValueError, Value, codec

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


def policy_rows(policy: Policy, toolsets: Sequence[Toolset] = ()) -> list[PolicyRow]:
    """Return every value of a policy with its meaning, e.g. PolicyRow("threshold", "2", "2", "…",
    "2 to 10"); those of a toolset are "NAME.value".
    """
    rows: list[PolicyRow] = []
    for of, kind in _kinds(toolsets).items():
        wire, defaults = kind.from_fields(_values(policy, of)).wire(), kind().wire()
        for name, schema in _properties(kind).items():
            value, default = (str(each.get(name, "")) or NOTHING for each in (wire, defaults))
            named = f"{of}.{name}" if of else name
            allowed = _allowed(schema, is_optional=default == NOTHING)
            rows.append(PolicyRow(named, value, default, str(schema["description"]), allowed))
    return rows


def with_values(policy: Policy, words: Sequence[str], toolsets: Sequence[Toolset] = ()) -> Policy:
    """Return a policy with values by name, e.g. ("threshold", "3", "judgeModel", "none"). Those of
    a toolset are "NAME.value".

    Raises InvalidArgumentError, which names the value: unknown, without a value, or out of range.
    """
    if len(words) % 2:
        raise InvalidArgumentError(
            f"{words[-1]}: without a value; write NAME VALUE, e.g. threshold 3"
        )
    for name, value in zip(words[::2], words[1::2], strict=True):
        policy = _with_value(policy, name, value, toolsets)
    return policy


async def set_policy(fleet: Fleet, words: Sequence[str]) -> list[str]:
    """Set values of the policy in one commit with their lines in the ledger; return each change,
    e.g. "threshold 2 -> 3", none for none.

    It applies to later publications; other servers follow within a minute. Raises ForbiddenError
    unless the caller may curate, InvalidArgumentError as `with_values` does, ConflictError when
    every race was lost.
    """
    fleet.caller.require_curation()

    async def attempt() -> list[str]:
        before = await fleet.policies.read_versioned()
        after = with_values(before.value, words, fleet.toolsets)
        await require_no_credential(fleet, "judgeModel", after.judge_model)
        rows = (policy_rows(policy, fleet.toolsets) for policy in (before.value, after))
        pairs = ((old, new) for old, new in zip(*rows, strict=True) if old != new)
        changes = [f"{old.name} {old.value} -> {new.value}" for old, new in pairs]
        if changes:
            lines = (decision(fleet, "policy", LEDGER_KEY, why) for why in changes)
            writes = map(fleet.knowledge.ledger.write, lines)
            await fleet.knowledge.store.commit(fleet.policies.write(before, after), *writes)
        return changes

    return await retry_conflicts(attempt, "the policy")


async def apply_policy(fleet: Fleet) -> dict[str, int]:
    """Take back the published entries that the present policy would not publish; return the votes
    of each by key.

    They are candidates again, and boot reads them no more. Killed at any moment, the next call does
    the rest. Raises ForbiddenError unless the caller may curate, ConflictError when every race was
    lost. Billed 1 read for each entry, 1R 2W for each that is taken back, and the publication.
    """
    fleet.caller.require_curation()
    policy, now = (await fleet.policies.read_versioned()).value, fleet.now()
    entries = [each.entry for each in await fleet.knowledge.all() if each.entry]
    keys = [entry.key for entry in entries if withdrawn_by_policy(entry, policy, now) is not entry]
    by = fleet.caller.program_id or PERSON
    why = f"the policy asks for {policy.threshold} votes by {policy.origins}"

    def change(entry: Entry) -> Entry:
        return settled(entry, withdrawn_by_policy(entry, policy, now), policy, now)

    writes = partial(fleet.knowledge.writes, by=by, why=why, now=now)
    after = [await fleet.knowledge.update(key, change, writes) for key in keys]
    await publish_now(fleet)
    return {
        entry.key: standing(entry).discovered
        for entry in after
        if entry_state(entry, now) == "candidate"
    }


def _with_value(policy: Policy, name: str, value: str, toolsets: Sequence[Toolset]) -> Policy:
    rows = {row.name: row for row in policy_rows(policy, toolsets)}
    if name not in rows:
        close = close_names(name, rows, 1)
        known = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(rows)}"
        raise InvalidArgumentError(f"{name}: unknown, {known}")
    of, _, own = name.rpartition(".")
    wire: dict[str, object] = {**_values(policy, of), own: value}
    if value in ("", NOTHING) and rows[name].default == NOTHING:
        del wire[own]
    try:
        if not of:
            return Policy.from_fields(wire)
        changed = _kinds(toolsets)[of].from_fields(wire).wire()
        return replace(policy, toolsets={**(policy.toolsets or {}), of: changed})
    except InvalidValueError as error:
        raise InvalidArgumentError(
            f"{name}: must be {rows[name].allowed}, not {value[:60]!r}"
        ) from error


def _kinds(toolsets: Sequence[Toolset]) -> dict[str, type[Value]]:
    """Return the policies of toolsets by name, and that of the fleet, ""."""
    return {"": Policy, **{each.name: each.policy for each in toolsets if each.policy}}


def _values(policy: Policy, of: str) -> Mapping[str, object]:
    """Return the values of the policy of a toolset, "" for the fleet's own."""
    return (policy.toolsets or {}).get(of, {}) if of else policy.wire()


def _allowed(schema: Mapping[str, JsonValue], *, is_optional: bool) -> str:
    """Return the values that a name takes, in words."""
    first = cast("list[Mapping[str, JsonValue]]", schema.get("anyOf", [schema]))[0]
    if choices := first.get("enum"):
        allowed = " or ".join(map(str, cast("list[JsonValue]", choices)))
    elif "maximum" in first:
        allowed = f"{first['minimum']} to {first['maximum']}"
    else:
        allowed = f"a text of at most {first['maxLength']} characters"
    return f"{allowed}, or {NOTHING}" if is_optional else allowed


def _properties(kind: type[Value]) -> dict[str, Mapping[str, JsonValue]]:
    schema = codec(kind).json_schema(by_alias=True, mode="validation")["properties"]
    return {name: each for name, each in schema.items() if name != "toolsets"}
