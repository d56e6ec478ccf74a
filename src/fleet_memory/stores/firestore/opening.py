"""Opens a Firestore client and checks it: reports a failure within 5 seconds, with the command to
run.
"""

import os
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import google.auth
from google.api_core.exceptions import GoogleAPIError, ServiceUnavailable
from google.auth.credentials import Credentials
from google.auth.exceptions import GoogleAuthError, OAuthError, RefreshError
from google.auth.transport.requests import Request
from google.cloud.firestore import AsyncClient
from google.cloud.firestore_v1.services.firestore import FirestoreAsyncClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcAsyncIOTransport
from grpc.aio import insecure_channel

from fleet_memory.errors import StoreError, StoreRejectedError
from fleet_memory.stores.firestore.documents import Channel, Documents
from fleet_memory.stores.firestore.failures import (
    NO_CREDENTIALS,
    REFUSED_CREDENTIALS,
    DatabaseAddress,
    read_failure,
)

OPEN_WITHIN_S: Final = 4.5  # seconds, without the import; the promise is 5
_ANSWER_WITHIN_S = 3.5  # seconds; the rest is for finding out why there was no answer
_EMULATOR = "FIRESTORE_EMULATOR_HOST"
_CHANNEL = (
    ("grpc.max_send_message_length", -1),  # these three as in the client's own channel
    ("grpc.max_receive_message_length", -1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),  # it would grow to two minutes in a long outage
    (
        "grpc.use_local_subchannel_pool",
        1,
    ),  # or a new channel would inherit the wait of a failed one
)


async def open_documents(project: str, database: str) -> Documents:
    """Return a database that has answered. Billed 1 read.

    Raises StoreRejectedError for a failure that people must fix, StoreUnavailableError when nothing
    answers.
    """
    place = DatabaseAddress(project, database, _emulator())
    end = anyio.current_time() + OPEN_WITHIN_S
    credentials = None if place.emulator else await _credentials(place)
    channel = _channel(place, credentials)
    documents = Documents(_client(place, credentials, channel), channel, place)
    try:
        await documents.require_shape(min(_ANSWER_WITHIN_S, end - anyio.current_time()))
    except BaseException as failure:
        with anyio.CancelScope(shield=True):
            await documents.close()
        if isinstance(failure, GoogleAPIError):
            raise await _explained(failure, credentials, place, end) from failure
        raise
    return documents


def _emulator() -> str | None:
    if not os.environ.get(_EMULATOR):
        os.environ.pop(_EMULATOR, None)  # the client counts an empty one as set
    return os.environ.get(_EMULATOR)


async def _credentials(place: DatabaseAddress) -> Credentials:
    """Return the credentials of the environment, without asking Google whether they are valid."""
    look = partial(google.auth.default, scopes=AsyncClient.SCOPE)
    try:
        with anyio.fail_after(OPEN_WITHIN_S - 1):
            credentials, _ = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    except (GoogleAuthError, OSError, ValueError) as failure:
        raise StoreRejectedError(NO_CREDENTIALS, operator_detail=place.told(failure)) from failure
    return credentials


def _channel(place: DatabaseAddress, credentials: Credentials | None) -> Channel:
    if place.emulator:
        channel: Channel = insecure_channel(place.emulator, options=_CHANNEL)
    else:
        host = FirestoreAsyncClient.DEFAULT_ENDPOINT
        channel = FirestoreGrpcAsyncIOTransport.create_channel(host, credentials, options=_CHANNEL)
    return channel


def _client(
    place: DatabaseAddress, credentials: Credentials | None, channel: Channel
) -> AsyncClient:
    client = AsyncClient(place.project, credentials, place.database)
    transport = FirestoreGrpcAsyncIOTransport(channel=channel)
    client._firestore_api_internal = FirestoreAsyncClient(
        transport=transport
    )  # it takes no channel otherwise
    return client


async def _explained(
    failure: GoogleAPIError, credentials: Credentials | None, place: DatabaseAddress, end: float
) -> StoreError:
    """Return the error to raise. A login that has expired looks like a server that is away, so ask
    for a token.
    """
    if credentials is not None and isinstance(failure, ServiceUnavailable):
        refresh = partial(credentials.refresh, partial(Request(), timeout=_ANSWER_WITHIN_S))
        try:
            with anyio.CancelScope(deadline=end):
                await anyio.to_thread.run_sync(refresh, abandon_on_cancel=True)
        except (RefreshError, OAuthError) as refused:
            return StoreRejectedError(REFUSED_CREDENTIALS, operator_detail=place.told(refused))
        except GoogleAuthError:
            pass  # Google's login does not answer either
    return read_failure(failure, place)
