"""What people set for a fleet: its policy, cached for a minute, and the tokens of its callers."""

from datetime import date, datetime, timedelta
from typing import Final, TypeAlias

from fleet_memory.repositories.documents import (
    Versioned,
    iter_readable,
    read_versioned,
    versioned,
)
from fleet_memory.repositories.paths import FleetDocuments, FleetPaths
from fleet_memory.schemas.policy import Policy
from fleet_memory.schemas.programs import TokenRecord
from fleet_memory.stores import ABSENT, Json, Query, Store, Write

# a change reaches every server within a minute; Source: docs/policy.md
CACHED_FOR: Final = timedelta(seconds=60)
VersionedToken: TypeAlias = Versioned[TokenRecord]


class Policies:
    """The policy of one fleet."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self._store = store
        self._paths = paths
        self._cached: tuple[Policy, datetime] | None = None

    async def read(self, now: datetime) -> Policy:
        """Return the policy as it was at most 60 s before `now`. Billed 1 read a minute."""
        if self._cached is None or abs(now - self._cached[1]) >= CACHED_FOR:
            self._cached = (await self.read_versioned()).value, now
        return self._cached[0]

    async def read_versioned(self) -> Versioned[Policy]:
        """Return the policy as it is, the default one where people set none. Billed 1 read. Raises
        DocumentRejectedError when it cannot be read.
        """
        return await read_versioned(self._store, self._paths.policy, Policy())

    def write(self, before: Versioned[Policy], after: Policy) -> Write:
        """Return the write of a changed policy, valid until another writes it; the cached one is
        dropped.
        """
        self._cached = None
        is_new = before.revision == ABSENT
        gone: dict[str, Json] = {} if is_new else dict.fromkeys(before.value.wire())
        return Write(self._paths.policy, gone | after.wire(), before.revision)


class Tokens(FleetDocuments):
    """The tokens of one fleet."""

    async def read(self, token_id: str) -> VersionedToken | None:
        """Return a token; None for an unknown id. Billed 1 read.

        One that cannot be read, e.g. of a role that a later version has, is logged and None too: it
        is not admitted.
        """
        (document,) = await self.store.get(self.paths.token(token_id))
        readable = iter_readable([document] if document else [], versioned(TokenRecord))
        return next(readable, None)

    async def all(self, program_id: str | None = None) -> list[VersionedToken]:
        """Return the tokens of a program, or of the fleet, the oldest first. Billed 1 read each."""
        where = {} if program_id is None else {"programId": program_id}
        documents = await self.store.find(Query(self.paths.tokens, where))
        return sorted(
            iter_readable(documents, versioned(TokenRecord)),
            key=lambda token: (token.value.created_at, token.value.token_id),
        )

    def write(self, record: TokenRecord, revision: str = ABSENT) -> Write:
        """Return the write of a token: a new one, or under the revision that it was read with."""
        return Write(self.paths.token(record.token_id), record.wire(), revision)

    def note_use(self, token: VersionedToken, on: date) -> Write:
        """Return the write of the day of its last use; it never brings back a token that is gone or
        has changed.
        """
        fields = {"lastUsedOn": on.isoformat()}
        return Write(self.paths.token(token.value.token_id), fields, token.revision)
