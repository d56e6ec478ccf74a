"""Commits that survive a lost answer: reading one of their documents settles the outcome."""

import secrets
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from fleet_memory.errors import ConflictError, OutcomeUnknownError, StoreUnavailableError
from fleet_memory.stores import ABSENT, Document, Ref, Store, Write

MAX_SENDINGS: Final = 5  # times that one commit is sent while its answers are lost; chosen


class Witness(NamedTuple):
    """A document of a commit that shows later whether the commit was applied, and its revision
    before.
    """

    ref: Ref
    revision: str
    shows: Callable[[Document], bool]


def new_commit_id() -> str:
    """Return an id that no other commit has, 16 hex digits."""
    return secrets.token_hex(8)


async def commit_settled(store: Store, writes: Sequence[Write], witness: Witness) -> None:
    """Apply all writes or none. After a lost answer the witness decides: done, sent again, or a
    ConflictError.

    The same commit again is safe while the witness has not moved: its revision lets the commit in
    once. Raises ConflictError when another wrote first, OutcomeUnknownError while the store answers
    neither, and the store's errors. Billed 1 read above the writes for each lost answer.
    """
    lost: OutcomeUnknownError | None = None
    for _ in range(MAX_SENDINGS):
        try:
            await store.commit(*writes)
        except OutcomeUnknownError as error:
            lost = error
        except ConflictError:
            if lost is None or not await _is_applied(store, witness, lost):
                raise
            return
        else:
            return
        if await _is_applied(store, witness, lost):
            return
    raise lost or OutcomeUnknownError("The store did not confirm the last write.")


async def _is_applied(store: Store, witness: Witness, lost: OutcomeUnknownError) -> bool:
    """Whether the witness shows the commit; False if it has not moved. Raises ConflictError if
    another moved it.
    """
    try:
        (document,) = await store.get(witness.ref)
    except OutcomeUnknownError:
        raise
    except StoreUnavailableError as error:
        raise lost from error  # not `error`: it claims that nothing was written
    if document is not None and witness.shows(document):
        return True
    if (document.revision if document else ABSENT) != witness.revision:
        raise ConflictError(
            "Someone else changed this memory at the same moment; nothing was written. Call again."
        )
    return False
