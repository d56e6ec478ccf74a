"""Read and write a memory file as a user whom file modes bind, and print the outcome as JSON.
Arguments: PATH.
"""

import ctypes
import json
import os
import sys

import anyio

from fleet_memory.errors import StoreError
from fleet_memory.stores import Query, Ref, Write
from fleet_memory.stores.sqlite import SqliteStore


def give_up_privileges() -> None:
    """Root ignores file modes by its capabilities, so drop them: from now on even root is an
    ordinary owner.
    """
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this thread
    none = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


async def main(path: str) -> None:
    if os.geteuid() == 0:
        give_up_privileges()
    store, answer = SqliteStore(path), {}
    for verb, call in (
        ("read", lambda: store.total(Query("entries"))),
        ("write", lambda: store.commit(Write(Ref("entries", "new"), {"n": 1}))),
    ):
        try:
            await call()
        except StoreError as error:
            answer[verb] = [type(error).__name__, str(error)]
        else:
            answer[verb] = ["ok", ""]
    await store.close()
    sys.stdout.write(json.dumps(answer))


anyio.run(main, sys.argv[1])
