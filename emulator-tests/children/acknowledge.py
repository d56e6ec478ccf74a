"""Commit for ever and print each number after its commit returned, until killed. Arguments: PATH
NAME.

Each commit adds one document and one count, so a half applied commit would show.
"""

import itertools
import sys

import anyio

from fleet_memory.stores import ABSENT, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore


async def main(path: str, name: str) -> None:
    store, count = SqliteStore(path), Ref("counts", name)
    for n in itertools.count(1):
        await store.commit(
            Write(Ref("entries", f"{name}-{n}"), {"by": name, "text": "x" * 500}, ABSENT),
            Write(count, {"n": n}),
        )
        sys.stdout.write(f"{n}\n")
        sys.stdout.flush()


anyio.run(main, sys.argv[1], sys.argv[2])
