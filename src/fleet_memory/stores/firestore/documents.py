"""The verbs on one open Firestore client; every call has a timeout of its own and one retry policy.

There are no transactions: Firestore's take locks that stall and fail under contention, a
precondition takes none.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final, Protocol, TypeAlias, TypeVar, cast

import anyio
import anyio.lowlevel
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.api_core.exceptions import Aborted, AlreadyExists, GoogleAPIError, ServiceUnavailable
from google.api_core.retry_async import AsyncRetry, if_exception_type
from google.cloud.firestore import (
    DELETE_FIELD,
    AsyncClient,
    AsyncCollectionReference,
    AsyncDocumentReference,
    AsyncQuery,
    DocumentSnapshot,
    FieldFilter,
    WriteOption,
)
from google.cloud.firestore_v1.async_batch import AsyncWriteBatch

from fleet_memory.errors import DocumentRejectedError, StoreRejectedError, StoreUnavailableError
from fleet_memory.stores import (
    ABSENT,
    OTHER_SHAPE,
    SHAPE,
    UNFIT,
    Document,
    Query,
    Ref,
    StoreHealth,
    Write,
)
from fleet_memory.stores.firestore.failures import (
    NO_EMULATOR,
    SILENT,
    DatabaseAddress,
    commit_failure,
    read_failure,
)

_T = TypeVar("_T")
FirestoreDocument: TypeAlias = "DocumentSnapshot[AsyncDocumentReference]"

_SHAPE: Final = "fleet_memory/shape"  # the document that carries the database's shape
# Firestore's automatic order; equalities and this one together need no composite index
_BY_ID = "__name__"

_MAX_NAMES: Final = 3  # documents that the log line of a refused commit names

_SILENCE_S: Final = 4.0  # seconds without an answer until an attempt is given up
_STREAM_S: Final = 120.0  # seconds for all documents of a large query, as long as they keep coming
# Retries are ours, around whole calls: the client's own end where a stream begins.
_RETRY: Final = AsyncRetry(
    if_exception_type(ServiceUnavailable, Aborted), initial=0.05, maximum=1.0, timeout=8.0
)


class Channel(Protocol):
    """The client's connections, which it cannot close itself."""

    async def close(self) -> None:
        """End every connection."""


class Documents:
    """An open database; made by `opening.open_documents`. `users` counts the calls under way."""

    def __init__(self, client: AsyncClient, channel: Channel, place: DatabaseAddress) -> None:
        self.users = 0
        self._client = client
        self._channel = channel
        self._place = place

    async def get(self, refs: Sequence[Ref]) -> list[Document | None]:
        """See `Store.get`."""
        places = [self._ref(ref) for ref in refs]

        async def attempt() -> dict[str, Document]:
            stream = self._client.get_all(places, retry=None, timeout=_STREAM_S)
            return {"/".join(document.ref): document for document in await _read(stream)}

        documents = await self._patiently(attempt)
        return [documents.get("/".join(ref)) for ref in refs]  # the answers come in any order

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        asked = self._matching(query)
        if query.after:
            asked = asked.order_by(_BY_ID).start_after({_BY_ID: query.after})
        if query.limit is not None:
            asked = asked.limit(query.limit)
        return await self._patiently(lambda: _read(asked.stream(retry=None, timeout=_STREAM_S)))

    async def total(self, query: Query, field: str | None) -> int:
        """See `Store.total`."""
        asked = self._matching(query)
        aggregation = (
            asked.count(alias="total") if field is None else asked.sum(field, alias="total")
        )
        ((total,),) = await self._patiently(
            partial(aggregation.get, retry=None, timeout=_SILENCE_S)
        )
        return int(total.value or 0)

    async def commit(self, writes: Sequence[Write]) -> datetime:
        """See `Store.commit`."""
        batch, failed = self._batch(writes), list[BaseException]()
        attempt = partial(batch.commit, retry=None, timeout=_SILENCE_S)
        # grpc.aio answers the cancellation of a unary call with a bare CancelledError that no scope
        # of anyio catches. So none gets through to it; the timeouts bound the wait.
        with anyio.CancelScope(shield=True):
            try:
                await _RETRY(attempt, on_error=failed.append)()
            except GoogleAPIError as failure:
                raise commit_failure(failure, failed, self._place, _names(writes)) from failure
        await anyio.lowlevel.checkpoint()  # a cancellation that came meanwhile is delivered here
        committed_at = cast("datetime", batch.commit_time)  # google leaves it as None for mypy
        return datetime.fromtimestamp(committed_at.timestamp(), UTC)

    async def health(self) -> StoreHealth:
        """Count the documents of every fleet. Billed 1 read per fleet, and 1 per 1,000 documents of
        a collection.
        """
        with anyio.CancelScope(shield=True):  # lists are unary calls, see `commit`
            fleets = await self._patiently(self._fleets)
            documents: Counter[str] = Counter()
            for fleet in fleets:
                for collection in await self._patiently(partial(self._collections, fleet)):
                    documents[collection.rsplit("/", 1)[-1]] += await self.total(
                        Query(collection), None
                    )
        await anyio.lowlevel.checkpoint()
        return StoreHealth(SHAPE, intact=True, documents=dict(documents))

    async def require_shape(self, timeout_s: float) -> None:
        """Read the database's shape, once and without a retry: the client works. Billed 1 read.

        A database without fleets gets this version's shape. Raises StoreRejectedError for one of
        another shape, or of none, and the client's errors.
        """
        place = self._client.document(_SHAPE)
        shape = await place.get(retry=None, timeout=timeout_s)
        if not shape.exists:
            if not await self._fleets():
                with suppress(AlreadyExists):  # another server was first
                    await place.create({"name": SHAPE}, retry=None, timeout=timeout_s)
            shape = await place.get(retry=None, timeout=timeout_s)
        name = (shape.to_dict() or {}).get("name")
        if name != SHAPE:
            raise StoreRejectedError(OTHER_SHAPE, operator_detail=f"shape {name}, not {SHAPE}")

    async def close(self) -> None:
        """Close the connections."""
        await self._channel.close()

    async def _patiently(self, attempt: Callable[[], Awaitable[_T]]) -> _T:
        try:
            return await _RETRY(attempt)()
        except GoogleAPIError as failure:
            raise read_failure(failure, self._place) from failure
        except TimeoutError as failure:
            message = NO_EMULATOR if self._place.emulator else SILENT
            raise StoreUnavailableError(
                message, operator_detail=self._place.told(failure)
            ) from failure

    async def _fleets(self) -> list[AsyncDocumentReference]:
        listed = self._client.collection("fleets").list_documents(retry=None, timeout=_SILENCE_S)
        return [fleet async for fleet in listed]

    async def _collections(self, fleet: AsyncDocumentReference) -> list[str]:
        return [
            f"{fleet.path}/{collection.id}"
            async for collection in fleet.collections(retry=None, timeout=_SILENCE_S)
        ]

    def _ref(self, ref: Ref) -> AsyncDocumentReference:
        return self._client.collection(ref.collection).document(ref.id)

    def _matching(self, query: Query) -> AsyncCollectionReference | AsyncQuery:
        asked: AsyncCollectionReference | AsyncQuery = self._client.collection(query.collection)
        for name, value in query.where.items():
            asked = asked.where(filter=FieldFilter(name, "==", value))
        if query.order:
            direction = (
                AsyncQuery.DESCENDING if query.order.startswith("-") else AsyncQuery.ASCENDING
            )
            asked = asked.order_by(query.order.removeprefix("-"), direction=direction)
        return asked

    def _batch(self, writes: Sequence[Write]) -> AsyncWriteBatch:
        batch = self._client.batch()
        for write in writes:
            try:
                self._add(batch, write)
            except ValueError as unfit:  # half a character, an integer over 64 bits, NaN
                detail = f"{'/'.join(write.ref)}: {unfit}"
                raise DocumentRejectedError(UNFIT, operator_detail=detail) from unfit
        return batch

    def _add(self, batch: AsyncWriteBatch, write: Write) -> None:
        ref = self._ref(write.ref)
        if write.fields is None:
            batch.delete(ref, option=self._option(write.expect))
            return
        json.dumps(dict(write.fields), allow_nan=False)  # Firestore would accept NaN
        if write.expect == ABSENT:
            batch.create(
                ref, {name: value for name, value in write.fields.items() if value is not None}
            )
            return
        fields = {
            name: DELETE_FIELD if value is None else value for name, value in write.fields.items()
        }
        if write.expect is None:
            batch.set(ref, fields, merge=[AsyncClient.field_path(name) for name in fields])
        else:  # names are quoted one by one, or a key that begins with a digit would be refused
            quoted = {
                AsyncClient.field_path(*name.split(".", 1)): value for name, value in fields.items()
            }
            batch.update(ref, quoted, option=self._option(write.expect))

    def _option(self, revision: str | None) -> WriteOption | None:
        if revision is None:
            return None
        read_at = DatetimeWithNanoseconds.from_rfc3339(revision)  # type: ignore[no-untyped-call]  # google's gap
        return self._client.write_option(last_update_time=read_at.timestamp_pb())


async def _read(stream: AsyncIterator[FirestoreDocument]) -> list[Document]:
    """Return the documents that exist. Raises TimeoutError at silence, however many came before."""
    documents = []
    with anyio.fail_after(_SILENCE_S) as limit:
        async for snapshot in stream:
            limit.deadline = anyio.current_time() + _SILENCE_S
            if snapshot.exists:
                documents.append(_document(snapshot))
    return documents


def _document(snapshot: FirestoreDocument) -> Document:
    collection, _, name = snapshot.reference.path.rpartition("/")
    return Document(Ref(collection, name), snapshot.to_dict() or {}, snapshot.update_time.rfc3339())


def _names(writes: Sequence[Write]) -> str:
    """Return the first documents of a commit for a log line: Firestore does not name the one that
    it refuses.
    """
    return ", ".join("/".join(write.ref) for write in writes[:_MAX_NAMES])
