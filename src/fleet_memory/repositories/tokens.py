"""The tokens of a fleet on top of the four verbs: one document each, and the key that their ids are
made with.
"""

from datetime import date
from typing import NamedTuple

from fleet_memory.repositories.documents import decoded_or_raised, iter_readable
from fleet_memory.repositories.paths import FleetDocuments
from fleet_memory.schemas.tokens import TokenKey, TokenRecord
from fleet_memory.stores import ABSENT, Document, Query, Write


class VersionedToken(NamedTuple):
    """A token as it was read, and the revision that a commit must expect."""

    record: TokenRecord
    revision: str


class VersionedKey(NamedTuple):
    """The key of ids as it was read, None before the first token, and the revision that a commit
    must expect.
    """

    key: TokenKey | None
    revision: str


class Tokens(FleetDocuments):
    """The tokens of one fleet."""

    async def read(self, token_id: str) -> VersionedToken | None:
        """Return a token; None for an unknown id. Billed 1 read.

        One that cannot be read, e.g. of a role that a later version has, is logged and None too: it
        is not admitted.
        """
        (document,) = await self.store.get(self.paths.token(token_id))
        return next(iter_readable([document] if document else [], versioned_token), None)

    async def all(self, program_id: str | None = None) -> list[VersionedToken]:
        """Return the tokens of a program, or of the fleet, the oldest first. Billed 1 read each."""
        where = {} if program_id is None else {"programId": program_id}
        documents = await self.store.find(Query(self.paths.tokens, where))
        return sorted(
            iter_readable(documents, versioned_token),
            key=lambda versioned: (versioned.record.created_at, versioned.record.token_id),
        )

    async def read_key(self) -> VersionedKey:
        """Return the key of ids. Billed 1 read. Raises DocumentRejectedError when it cannot be
        read.
        """
        (document,) = await self.store.get(self.paths.token_key)
        return (
            decoded_or_raised(document, versioned_key) if document else VersionedKey(None, ABSENT)
        )

    def write_key(self, before: VersionedKey, after: TokenKey) -> Write:
        """Return the write of the key, which fails once another has created a token since it was
        read.
        """
        return Write(self.paths.token_key, after.wire(), before.revision)

    def create(self, record: TokenRecord) -> Write:
        """Return the write of a token whose id is new."""
        return Write(self.paths.token(record.token_id), record.wire(), ABSENT)

    def write(self, versioned: VersionedToken) -> Write:
        """Return the write of a changed token under the revision that it was read with."""
        return Write(
            self.paths.token(versioned.record.token_id), versioned.record.wire(), versioned.revision
        )

    def note_use(self, versioned: VersionedToken, on: date) -> Write:
        """Return the write of the day of its last use; it never brings back a token that is gone or
        has changed.
        """
        fields = {"lastUsedOn": on.isoformat()}
        return Write(self.paths.token(versioned.record.token_id), fields, versioned.revision)

    def erase(self, versioned: VersionedToken) -> Write:
        """Return the write that removes a token for good."""
        return Write(self.paths.token(versioned.record.token_id), None, versioned.revision)


def versioned_token(document: Document) -> VersionedToken:
    """Return the token in a document. Raises ValueError for fields of another shape."""
    return VersionedToken(TokenRecord.from_fields(document.fields), document.revision)


def versioned_key(document: Document) -> VersionedKey:
    """Return the key in a document. Raises ValueError for fields of another shape."""
    return VersionedKey(TokenKey.from_fields(document.fields), document.revision)
