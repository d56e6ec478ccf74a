"""Change, delete, or delete and re-create a document. Arguments: PATH COLLECTION ID KIND
(changed|deleted|created).
"""

import sys

import anyio

from fleet_memory.stores import ABSENT, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore


async def main(path: str, ref: Ref, kind: str) -> None:
    store = SqliteStore(path)
    if kind == "changed":
        await store.commit(Write(ref, {"by": "another process"}))
    else:
        await store.commit(Write(ref, None))
    if kind == "created":
        await store.commit(Write(ref, {"by": "another process"}, ABSENT))
    await store.close()


anyio.run(main, sys.argv[1], Ref(sys.argv[2], sys.argv[3]), sys.argv[4])
