"""Commits that lose a race or an answer: run again, or settled by reading a document."""

import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

import anyio

from fleet_memory.errors import (
    CapacityExceededError,
    ConflictError,
    DocumentRejectedError,
    FleetMemoryError,
    OutcomeUnknownError,
    RacesLostError,
    StoreUnavailableError,
)
from fleet_memory.schemas.value import InvalidValueError
from fleet_memory.stores import ABSENT, CONFLICT, Document, Store, Write

RETRY_FOR_S: Final = (
    20.0  # seconds of losing every race until the caller gets a RacesLostError; chosen
)
MAX_PAUSE_S: Final = (
    2.0  # seconds; chosen: a tenth of RETRY_FOR_S, the attempts themselves take time too
)
MIN_ATTEMPTS: Final = 2  # however long one takes: a loop of one attempt is none
_PAUSE_FACTOR: Final = (
    4.0  # pauses are drawn from 0 to this many times the attempt's own duration; chosen
)

_T = TypeVar("_T")
_Item = TypeVar("_Item")

# of one item while the others are fine: lost races, a bad, full or unreadable document
_ITEM_ERRORS: Final = (
    RacesLostError,
    DocumentRejectedError,
    CapacityExceededError,
    InvalidValueError,
)

_logger = logging.getLogger(__name__)


class Timing(NamedTuple):
    """The clock (seconds), the sleep (seconds) and the die (0 to 1) of a retry loop; tests pass
    their own.
    """

    now: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    draw: Callable[[], float]


REAL_TIMING: Final = Timing(
    time.monotonic, anyio.sleep, random.random
)  # jitter is no secret: `random` is enough


async def retry_conflicts(
    attempt: Callable[[], Awaitable[_T]],
    document: str | None,
    within_s: float = RETRY_FOR_S,
    timing: Timing = REAL_TIMING,
) -> _T:
    """Return the result of `attempt`, which is run again whenever it raises ConflictError.

    Each attempt reads, decides and commits from the beginning. `document` names for people the
    document that is written, e.g. "program basher"; None for a read, which has its own message.
    Raises RacesLostError, which names it, once `within_s` seconds and two attempts have passed. Any
    other error is raised at once, and so is the RacesLostError of a loop inside the attempt, which
    names the document that conflicts.
    """
    end = timing.now() + within_s
    attempts = 0
    while True:
        attempts += 1
        began = timing.now()
        try:
            return await attempt()
        except RacesLostError:
            raise
        except ConflictError as error:
            now = timing.now()
            if now >= end and attempts >= MIN_ATTEMPTS:
                message = (
                    f"Others keep writing {document} at the same moment. Call again in a minute."
                )
                raise RacesLostError(
                    message if document else str(error), operator_detail=error.operator_detail
                ) from error
        await timing.sleep(pause_s(now - began, timing.draw()))


async def attempt_each(
    items: Iterable[_Item],
    attempt: Callable[[_Item], Awaitable[_T]],
    name: Callable[[_Item], str],
    within_s: float = RETRY_FOR_S,
    timing: Timing = REAL_TIMING,
) -> tuple[list[_T], list[_Item]]:
    """Run `attempt` on one item after the other, each under `retry_conflicts`; a bad item never
    stops the others. Return the results, and the items that are left out.

    Such an item is logged with its name, e.g. "program basher". Any error that is not about one
    item stops the run, LeaseLostError and StoreUnavailableError among them; the items before it
    stay as they are.
    """
    results, left = list[_T](), list[_Item]()
    for item in items:
        try:
            once = partial(attempt, item)
            results.append(await retry_conflicts(once, name(item), within_s, timing))
        except _ITEM_ERRORS as error:
            reason = type(error).__name__  # a text that is not ours may have values
            if isinstance(error, FleetMemoryError):
                reason = f"{error} {error.operator_detail}".rstrip()
            _logger.warning("%s is left out: %s", name(item), reason)
            left.append(item)
    return results, left


def pause_s(attempt_s: float, draw: float) -> float:
    """Return the seconds to wait after a lost attempt: after 0.1 s and with the draw 0.5 it is 0.2.

    The unit is the attempt's own duration: a slow writer waits longer and a fast one does not wait
    in vain.
    """
    return draw * min(MAX_PAUSE_S, _PAUSE_FACTOR * attempt_s)


MAX_SENDINGS: Final = 5  # times that one commit is sent while its answers are lost; chosen


def new_lesson_id() -> str:
    """Return an id for a lesson that its agent did not name; not made of its text."""
    return f"l-{secrets.token_hex(5)}"


async def commit_settled(store: Store, *writes: Write) -> None:
    """Apply all writes or none; there may be none. After a lost answer the documents decide: done,
    sent again, or a ConflictError.

    It is done when one that had the revision of its write has moved, and all are as the writes made
    them. The same commit again is safe while none has moved: their revisions let the commit in
    once; writes without a revision are the same twice. Raises ConflictError when another wrote one
    first, or over what this commit wrote, OutcomeUnknownError while the store answers neither, and
    the store's errors. Billed a read for each write with a revision above the writes for each lost
    answer.
    """
    if not writes:
        return
    lost: OutcomeUnknownError | None = None
    for _ in range(MAX_SENDINGS):
        try:
            await store.commit(*writes)
        except OutcomeUnknownError as error:
            lost = error
        except ConflictError:
            if lost is None or not await _is_applied(store, writes, lost):
                raise
            return
        else:
            return
        if await _is_applied(store, writes, lost):
            return
    raise lost or OutcomeUnknownError("The store did not confirm the last write.")


async def _is_applied(store: Store, writes: Sequence[Write], lost: OutcomeUnknownError) -> bool:
    """Whether the documents show the commit; False if none has moved. Raises ConflictError if
    another moved one.
    """
    expecting = [write for write in writes if write.expect is not None]
    try:
        documents = await store.get(*(write.ref for write in expecting)) if expecting else []
    except OutcomeUnknownError:
        raise
    except StoreUnavailableError as error:
        raise lost from error  # not `error`: it claims that nothing was written
    found = list(zip(expecting, documents, strict=True))
    if all(write.expect == (known.revision if known else ABSENT) for write, known in found):
        return False
    if not all(_shows(known, write) for write, known in found):
        raise ConflictError(CONFLICT)
    return True


def _shows(document: Document | None, write: Write) -> bool:
    """Whether a document is as a write made it; where that only set entries of maps beside stamps,
    whether these are: another commit may have renewed the stamps since.
    """
    if document is None or write.fields is None:
        return document is None and write.fields is None
    entries = {path: value for path, value in write.fields.items() if "." in path}
    sets_entries = bool(entries) and None not in entries.values()
    for path, value in (entries if sets_entries else write.fields).items():
        name, _, key = path.partition(".")
        found = document.fields.get(name)
        if (found.get(key) if key and isinstance(found, dict) else found) != value:
            return False
    return True
