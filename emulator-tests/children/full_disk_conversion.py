"""Open a memory file where no file may grow beyond LIMIT bytes, then without a limit. Arguments:
PATH LIMIT COLLECTION.

Prints as JSON the error, whether an error left the file as it was, and the documents that are read
in the end.
"""

import json
import resource
import sys
from pathlib import Path

import anyio
from schema_1 import read_schema_1

from fleet_memory.errors import StoreError
from fleet_memory.stores import Query
from fleet_memory.stores.sqlite import SqliteStore

UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


async def main(path: str, limit: str, collection: str) -> None:
    before, error = read_schema_1(Path(path)), ["", ""]
    store = SqliteStore(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    try:
        await store.find(Query(collection))
    except StoreError as failure:
        error = [type(failure).__name__, str(failure)]
    resource.setrlimit(resource.RLIMIT_FSIZE, UNLIMITED)
    unchanged = read_schema_1(Path(path)) == before
    documents = {
        document.ref.id: document.fields for document in await store.find(Query(collection))
    }
    await store.close()
    sys.stdout.write(json.dumps({"error": error, "unchanged": unchanged, "documents": documents}))


anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
