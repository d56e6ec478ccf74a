"""The fleet's policy on top of the four verbs: one document, cached for a minute."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from fleet_memory.repositories.documents import decoded_or_raised
from fleet_memory.repositories.paths import FleetPaths
from fleet_memory.schemas.policy import Policy
from fleet_memory.stores import ABSENT, Document, Json, Store, Write

CACHED_FOR: Final = timedelta(
    seconds=60
)  # a change reaches every server within a minute; Source: docs/policy.md


class VersionedPolicy(NamedTuple):
    """A policy as it was read, the default one where people set none, and the revision that a
    commit must expect.
    """

    policy: Policy
    revision: str


def versioned_policy(document: Document) -> VersionedPolicy:
    """Return the policy in a document. Raises ValueError for values that this version does not
    know.
    """
    return VersionedPolicy(Policy.from_fields(document.fields), document.revision)


class Policies:
    """The policy of one fleet."""

    def __init__(self, store: Store, paths: FleetPaths) -> None:
        self._store = store
        self._paths = paths
        self._cached: tuple[Policy, datetime] | None = None

    async def read(self, now: datetime) -> Policy:
        """Return the policy as it was at most 60 s before `now`. Billed 1 read a minute."""
        if self._cached is None or abs(now - self._cached[1]) >= CACHED_FOR:
            self._cached = (await self.read_versioned()).policy, now
        return self._cached[0]

    async def read_versioned(self) -> VersionedPolicy:
        """Return the policy as it is. Billed 1 read. Raises DocumentRejectedError when it cannot be
        read.
        """
        (document,) = await self._store.get(self._paths.policy)
        return (
            decoded_or_raised(document, versioned_policy)
            if document
            else VersionedPolicy(Policy(), ABSENT)
        )

    def write(self, before: VersionedPolicy, after: Policy) -> Write:
        """Return the write of a changed policy, valid until another writes it; the cached one is
        dropped.
        """
        self._cached = None
        old, new = before.policy.wire(), after.wire()
        gone: dict[str, Json] = (
            dict.fromkeys(old.keys() - new.keys()) if before.revision != ABSENT else {}
        )
        return Write(self._paths.policy, gone | new, before.revision)
