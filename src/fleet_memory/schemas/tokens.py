"""Tokens of agents that connect over HTTP, as the store keeps them."""

from datetime import date
from typing import Literal, TypeAlias

from fleet_memory.schemas.fields import Name, Timestamp
from fleet_memory.schemas.value import Value

Role: TypeAlias = Literal["agent", "judge", "auditor", "admin"]


class TokenRecord(Value):
    """One token: the program that it binds, its role, and the toolsets that it allows, None for
    all.

    `secret_hash` is the SHA-256 of its secret in hex. The secret has 256 random bits, too many to
    try: a salt or a slow hash would add nothing. `expires_at` is None for a token that does not
    expire. `last_used_on` is the day of its last use, None before the first.
    """

    token_id: str
    program_id: str
    role: Role
    toolsets: tuple[str, ...] | None = None
    secret_hash: str
    created_at: Timestamp
    created_by: str
    expires_at: Timestamp | None = None
    revoked_at: Timestamp | None = None
    revoked_by: str | None = None
    last_used_on: date | None = None


class ClaimedBearer(Value):
    """Who the bearer of an issuer's token is, by its claims."""

    program_id: Name
    role: Role = "agent"
