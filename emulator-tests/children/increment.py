"""Add 1 to a shared counter TIMES times, each by read, decide, commit; then exit 0. Arguments: PATH
TIMES.
"""

import random
import sys

import anyio

from fleet_memory.errors import ConflictError
from fleet_memory.stores import ABSENT, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore

COUNTER = Ref("fleets/f1/programs", "counter")


async def increment(store: SqliteStore) -> None:
    while True:
        (document,) = await store.get(COUNTER)
        count = int(str(document.fields["n"])) if document else 0
        try:
            await store.commit(
                Write(COUNTER, {"n": count + 1}, document.revision if document else ABSENT)
            )
        except ConflictError:
            await anyio.sleep(random.uniform(0, 0.005))  # noqa: S311 - spreads the attempts of 20 processes
        else:
            return


async def main(path: str, times: str) -> None:
    store = SqliteStore(path)
    for _ in range(int(times)):
        await increment(store)
    await store.close()


anyio.run(main, sys.argv[1], sys.argv[2])
