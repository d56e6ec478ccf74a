"""Open a memory file where only its own folder can be written; print its revisions. Exits with 77
where that is not possible. Runs itself again in a namespace of its own, in which the other folders
are read-only.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio

from fleet_memory.stores import Query
from fleet_memory.stores.sqlite import SqliteStore

CANNOT = 77
FOLDERS = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 - SQLite's own choices


def unshared(path: str, collection: str) -> int:
    folder = shlex.quote(str(Path(path).parent))
    mounts = [f"mount --bind {folder} {folder}"]
    for each in {str(Path(name).resolve()) for name in FOLDERS if Path(name).exists()}:
        mounts += [f"mount --rbind {each} {each}", f"mount -o remount,ro,bind {each}"]
    again = shlex.join([sys.executable, __file__, path, collection, "inside"])
    script = " && ".join(mounts) + f" || exit {CANNOT}; cd /proc; exec {again}"
    environment = {
        name: value for name, value in os.environ.items() if name not in {"SQLITE_TMPDIR", "TMPDIR"}
    }
    try:
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
        return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - ours
    except FileNotFoundError:
        return CANNOT


async def convert(path: str, collection: str) -> None:
    store = SqliteStore(path)
    sys.stdout.write(
        json.dumps([document.revision for document in await store.find(Query(collection))])
    )
    await store.close()


if __name__ == "__main__":
    if sys.argv[3:] != ["inside"]:
        sys.exit(unshared(*sys.argv[1:]))
    for name in FOLDERS:
        try:
            tempfile.TemporaryFile(dir=name).close()
        except OSError:
            continue
        sys.exit(CANNOT)
    anyio.run(convert, sys.argv[1], sys.argv[2])
