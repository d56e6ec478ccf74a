"""Open a memory file and kill this process before its statement number N, or print all statements
as JSON.

Arguments: PATH N.
"""

import json
import os
import signal
import sqlite3
import sys
from pathlib import Path

from fleet_memory.stores.sqlite.schema import prepare, rebuild

statements: list[str] = []


def count(statement: str) -> None:
    statements.append(statement)
    if len(statements) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)


db = sqlite3.connect(Path(sys.argv[1]), isolation_level=None)
db.execute(
    "pragma cache_size = 10"
)  # pages: most are in the log before the commit, as those of a large file are
db.set_trace_callback(count)
prepare(db)
rebuild(db)
sys.stdout.write(json.dumps(statements))
