"""The Firestore engine: a fleet's documents in one Google Cloud database.

Importing this module is free. The Google client takes half a second and 40 MB: the first verb
imports it.
"""

import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from fleet_memory.clock import machine_time
from fleet_memory.errors import StoreError
from fleet_memory.stores import Document, Query, Ref, StoreHealth, Write

if TYPE_CHECKING:
    from fleet_memory.stores.firestore.documents import Documents

_T = TypeVar("_T")
Opener: TypeAlias = Callable[[str, str], Awaitable["Documents"]]

DEFAULT_DATABASE: Final = "(default)"
# Without credentials google-auth looks for a metadata server, which answers in milliseconds where
# there is one, 3 times for 3 seconds. These limit it to once for 1 second, if set when it is
# imported.
_ABOUT_METADATA: Final = ("GCE_METADATA_TIMEOUT", "GCE_METADATA_DETECT_RETRIES")


class FirestoreStore:
    """One database. Nothing is imported or opened before the first verb; a verb after `close` opens
    it again.

    FIRESTORE_EMULATOR_HOST redirects it to an emulator. A client is opened once per event loop.
    After a failure the next verb opens a new one, which reads the credentials again and finds the
    problem.
    """

    def __init__(self, project: str, database: str | None = None) -> None:
        self._project = project
        self._database = database or DEFAULT_DATABASE
        self._first = anyio.Lock()
        self._opened: RunVar[Documents | None] = RunVar("firestore documents", None)

    async def get(self, *refs: Ref) -> list[Document | None]:
        """See `Store.get`."""
        return await self._run(lambda documents: documents.get(refs)) if refs else []

    async def find(self, query: Query) -> list[Document]:
        """See `Store.find`."""
        return await self._run(lambda documents: documents.find(query))

    async def total(self, query: Query, field: str | None = None) -> int:
        """See `Store.total`."""
        return await self._run(lambda documents: documents.total(query, field))

    async def commit(self, *writes: Write) -> datetime:
        """See `Store.commit`."""
        return (
            await self._run(lambda documents: documents.commit(writes))
            if writes
            else machine_time()
        )

    async def scrub(self) -> bool:
        """Return True: there is no file here; Google's backups are in docs/erasing.md."""
        return True

    async def check(self) -> StoreHealth:
        """Count every document and report; Firestore itself vouches for their contents. Billed 10
        reads a fleet.
        """
        return await self._run(lambda documents: documents.health())

    async def close(self) -> None:
        """See `Store.close`."""
        async with self._first:
            documents = self._opened.get()
            self._opened.set(None)
        if documents is not None:
            await documents.close()

    async def _run(self, work: "Callable[[Documents], Awaitable[_T]]") -> _T:
        documents = self._opened.get() or await self._open()
        documents.users += 1
        try:
            return await work(documents)
        except StoreError:
            if self._opened.get() is documents:
                self._opened.set(None)
            raise
        finally:
            documents.users -= 1
            if not documents.users and self._opened.get() is not documents:
                with anyio.CancelScope(shield=True):
                    await documents.close()

    async def _open(self) -> "Documents":
        async with self._first:
            documents = self._opened.get()
            if documents is None:
                opened = await anyio.to_thread.run_sync(_imported)  # other calls go on meanwhile
                documents = await opened(self._project, self._database)
                self._opened.set(documents)
            return documents


def _imported() -> Opener:
    for name in _ABOUT_METADATA:
        os.environ.setdefault(name, "1")
    from fleet_memory.stores.firestore.opening import open_documents  # noqa: PLC0415 - see the module's docstring

    return open_documents
