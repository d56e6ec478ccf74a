"""Refuses texts with credentials before they are written, unless the fleet's policy allows them."""

from pydantic import JsonValue

from fleet_memory.errors import InvalidArgumentError
from fleet_memory.fleet import Fleet
from fleet_memory.rules.text.credentials import Credential, credential_at, shown


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
