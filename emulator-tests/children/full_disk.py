"""Fill a memory file up to a limit of the system, lift the limit, and print the outcome as JSON.
Arguments: PATH.
"""

import json
import resource
import sys

import anyio

from fleet_memory.errors import StoreError
from fleet_memory.stores import ABSENT, Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore

LIMIT = 1_000_000  # bytes of one file
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


async def main(path: str) -> None:
    store = SqliteStore(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
    errors: list[tuple[str, str]] = []
    stored = 0
    while len(errors) < 3:  # it keeps refusing, with the same message each time
        try:
            await store.commit(Write(Ref("entries", f"e{stored}"), {"text": "x" * 50_000}, ABSENT))
        except StoreError as error:
            errors.append((type(error).__name__, str(error)))
        else:
            stored += 1
    kept = await store.total(Query("entries"))
    resource.setrlimit(resource.RLIMIT_FSIZE, UNLIMITED)
    await store.commit(Write(Ref("entries", "after"), {"text": "x" * 50_000}, ABSENT))
    health = await store.check()
    await store.close()
    answer = {
        "errors": errors,
        "stored": stored,
        "kept": kept,
        "after": health.documents,
        "intact": health.intact,
    }
    sys.stdout.write(json.dumps(answer))


anyio.run(main, sys.argv[1])
