"""Hold the write lock of a memory file until stdin ends. Arguments: PATH."""

import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin immediate")
sys.stdout.write("locked\n")
sys.stdout.flush()
sys.stdin.read()
